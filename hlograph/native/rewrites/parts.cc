#include "hlograph/native/rewrites/parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo_module_config.h"

namespace hlograph {
namespace {

using Front = std::vector<const xla::HloInstruction*>;
using Core = absl::flat_hash_set<const xla::HloInstruction*>;

// Adds to the core what is so many hops from the front by operands.
void AddOperands(Front front, int hops, int64_t limit, Core& core) {
  // Apart from the core, of which some was added with fewer hops left.
  Core seen(front.begin(), front.end());
  core.insert(front.begin(), front.end());
  for (; hops > 0 && !front.empty() && static_cast<int64_t>(core.size()) <= limit; --hops) {
    Front next;
    for (const xla::HloInstruction* one : front) {
      for (const xla::HloInstruction* operand : one->operands()) {
        if (seen.insert(operand).second) next.push_back(operand);
      }
    }
    core.insert(next.begin(), next.end());
    front = std::move(next);
  }
}

// The front, and what is so many hops from it by users.
Core FindUsers(Front front, int hops, int64_t limit) {
  Core found(front.begin(), front.end());
  for (; hops > 0 && !front.empty() && static_cast<int64_t>(found.size()) <= limit; --hops) {
    Front next;
    for (const xla::HloInstruction* one : front) {
      if (IsShared(one)) continue;
      for (const xla::HloInstruction* user : one->users()) {
        if (found.insert(user).second) next.push_back(user);
      }
    }
    front = std::move(next);
  }
  return found;
}

// Makes the copy of one part.
class PartCloner {
 public:
  explicit PartCloner(const Part& part)
      : part_(part),
        builder_(part.computation->name()),
        module_(std::make_unique<xla::HloModule>("part", ConfigOf(*part.computation->parent()))),
        context_(std::make_unique<xla::HloCloneContext>(module_.get())) {}

  std::pair<std::unique_ptr<xla::HloModule>, std::unique_ptr<xla::HloCloneContext>> Clone() {
    xla::HloInstruction* root = nullptr;
    for (const xla::HloInstruction* one : part_.copied) {
      xla::HloInstruction* const copy = Copy(one);
      if (one == part_.computation->root_instruction()) root = copy;
    }
    if (root == nullptr) root = AddEmptyTuple(builder_);
    std::unique_ptr<xla::HloComputation> computation = builder_.Build(root);
    xla::HloComputation* added = nullptr;
    if (part_.computation->IsEntryComputation()) {
      added = module_->AddEntryComputation(std::move(computation));
    } else {
      added = module_->AddEmbeddedComputation(std::move(computation));
      xla::HloComputation::Builder entry("entry");
      xla::HloInstruction* const nothing = AddEmptyTuple(entry);
      module_->AddEntryComputation(entry.Build(nothing));
    }
    KeepCallees();
    context_->MapComputation(part_.computation, added);
    return {std::move(module_), std::move(context_)};
  }

 private:
  static xla::HloModuleConfig ConfigOf(const xla::HloModule& whole) {
    xla::HloModuleConfig config = whole.config();
    config.clear_entry_computation_layout();  // it has other parameters
    return config;
  }

  static xla::HloInstruction* AddEmptyTuple(xla::HloComputation::Builder& builder) {
    return builder.AddInstruction(xla::HloInstruction::CreateTuple({}));
  }

  xla::HloInstruction* Copy(const xla::HloInstruction* one) {
    if (xla::HloInstruction* const copy = context_->FindInstruction(one)) return copy;
    if (one->opcode() == xla::HloOpcode::kParameter) return AddParameter(one);
    std::vector<xla::HloInstruction*> operands;
    for (const xla::HloInstruction* operand : one->operands()) {
      xla::HloInstruction* copy = context_->FindInstruction(operand);
      // What is copied comes in order, so this one is not of the part.
      if (copy == nullptr) copy = CopyMissing(operand);
      operands.push_back(copy);
    }
    return builder_.AddInstruction(
        one->CloneWithNewOperands(one->shape(), operands, /*suffix=*/"", context_.get()));
  }

  xla::HloInstruction* CopyMissing(const xla::HloInstruction* one) {
    return one->opcode() == xla::HloOpcode::kConstant ? Copy(one) : AddParameter(one);
  }

  xla::HloInstruction* AddParameter(const xla::HloInstruction* one) {
    std::unique_ptr<xla::HloInstruction> parameter =
        xla::HloInstruction::CreateParameter(parameters_++, one->shape(), one->name());
    parameter->copy_sharding(one);
    if (one->opcode() == xla::HloOpcode::kParameter &&
        one->parameter_replicated_at_leaf_buffers().has_value()) {
      parameter->set_parameter_replicated_at_leaf_buffers(
          *one->parameter_replicated_at_leaf_buffers());
    }
    xla::HloInstruction* const added = builder_.AddInstruction(std::move(parameter));
    context_->MapInstruction(one, added);
    return added;
  }

  // A computation that loses its last caller is removed: those that have callers elsewhere get one.
  void KeepCallees() {
    std::vector<xla::HloComputation*> kept;
    for (const auto& [original, copy] : context_->cloned_computations()) {
      const auto callers = original->caller_instructions();
      if (std::any_of(callers.begin(), callers.end(), [&](const xla::HloInstruction* caller) {
            const xla::HloInstruction* const copy = context_->FindInstruction(caller);
            return copy == nullptr || copy->opcode() == xla::HloOpcode::kParameter;
          })) {
        kept.push_back(copy);
      }
    }
    for (xla::HloComputation* callee : kept) {
      xla::HloComputation::Builder caller("caller");
      std::vector<xla::HloInstruction*> arguments;
      for (const xla::HloInstruction* parameter : callee->parameter_instructions()) {
        arguments.push_back(caller.AddInstruction(xla::HloInstruction::CreateParameter(
            parameter->parameter_number(), parameter->shape(), parameter->name())));
      }
      xla::HloInstruction* const root = caller.AddInstruction(
          xla::HloInstruction::CreateCall(callee->root_instruction()->shape(), arguments, callee));
      module_->AddEmbeddedComputation(caller.Build(root));
    }
  }

  const Part& part_;
  xla::HloComputation::Builder builder_;
  std::unique_ptr<xla::HloModule> module_;
  std::unique_ptr<xla::HloCloneContext> context_;
  int64_t parameters_ = 0;
};

}  // namespace

std::optional<Part> PartFinder::Find(const std::vector<std::pair<Place, Reach>>& places,
                                     int64_t limit) {
  Part part;
  part.computation = places.front().first.instruction->parent();
  std::map<std::pair<int, int>, Front> fronts;
  for (const auto& [place, reach] : places) {
    Front& front = fronts[{reach.operands, reach.users}];
    front.push_back(place.instruction);
    if (place.other != nullptr) front.push_back(place.other);
  }
  for (const auto& [hops, front] : fronts) {
    AddOperands(front, hops.first, limit, part.core);
    const Core users = FindUsers(front, hops.second, limit);
    AddOperands({users.begin(), users.end()}, hops.second > 0 ? 1 : 0, limit, part.core);
    if (static_cast<int64_t>(part.core.size()) > limit) return std::nullopt;
  }
  Core copied = part.core;
  for (const xla::HloInstruction* one : part.core) {
    if (!IsShared(one)) copied.insert(one->users().begin(), one->users().end());
  }
  part.copied.assign(copied.begin(), copied.end());
  int64_t size = part.copied.size();
  for (const xla::HloInstruction* one : part.copied) {
    if (one->HasControlDependencies()) return std::nullopt;
    for (const xla::HloComputation* callee : one->called_computations()) {
      size += callee->instruction_count();
    }
  }
  if (size > limit) return std::nullopt;
  const Positions& positions = PositionsIn(*part.computation);
  std::sort(part.copied.begin(), part.copied.end(), [&](const auto* one, const auto* two) {
    return positions.at(one) < positions.at(two);
  });
  return part;
}

const PartFinder::Positions& PartFinder::PositionsIn(const xla::HloComputation& computation) {
  auto [it, is_new] = positions_.try_emplace(&computation);
  Positions& positions = it->second;
  if (!is_new) return positions;
  // Some code goes by the order of the list: for constants that is kept.
  for (const xla::HloInstruction* instruction : computation.instructions()) {
    if (instruction->opcode() == xla::HloOpcode::kConstant) {
      positions.emplace(instruction, positions.size());
    }
  }
  for (const xla::HloInstruction* instruction : computation.MakeInstructionPostOrder()) {
    positions.emplace(instruction, positions.size());
  }
  return positions;
}

std::pair<std::unique_ptr<xla::HloModule>, std::unique_ptr<xla::HloCloneContext>> ClonePart(
    const Part& part) {
  return PartCloner(part).Clone();
}

}  // namespace hlograph
