#include "hlograph/native/rewrites/excerpt.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

xla::HloModuleConfig ConfigOf(const xla::HloModule& whole) {
  xla::HloModuleConfig config;
  config.set_debug_options(whole.config().debug_options());
  config.set_replica_count(whole.config().replica_count());
  config.set_num_partitions(whole.config().num_partitions());
  config.set_use_spmd_partitioning(whole.config().use_spmd_partitioning());
  return config;
}

}  // namespace

Excerpt::Excerpt(const std::vector<xla::HloInstruction*>& instructions,
                 std::vector<xla::HloInstruction*> results, CopiedOperands copied)
    : builder_("excerpt"),
      module_(std::make_unique<xla::HloModule>("excerpt",
                                               ConfigOf(*instructions.front()->GetModule()))),
      context_(module_.get()),
      first_(instructions.front()),
      results_(std::move(results)),
      copied_(std::move(copied)) {
  for (xla::HloInstruction* instruction : instructions) AddCopy(instruction, /*hops=*/0);
  std::vector<xla::HloInstruction*> copies;
  for (xla::HloInstruction* result : results_) copies.push_back(Add(result, /*hops=*/0));
  xla::HloInstruction* const root =
      copies.size() == 1 ? copies.front()
                         : builder_.AddInstruction(xla::HloInstruction::CreateTuple(copies));
  module_->AddEntryComputation(builder_.Build(root));
}

absl::StatusOr<bool> Excerpt::Apply(const Pass& pass) {
  absl::StatusOr<bool> changed = RunPass(pass, module_.get());
  if (!changed.ok() || !*changed) return changed;
  absl::StatusOr<bool> cleared = xla::HloDCE().Run(module_.get());
  if (!cleared.ok()) return cleared;
  absl::Status status = ReplaceResults();
  if (!status.ok()) return status;
  return true;
}

absl::Status Excerpt::ReplaceResults() {
  const Instructions made = AddToWhole();
  const xla::HloInstruction* const root = module_->entry_computation()->root_instruction();
  xla::HloComputation* const computation = first_->parent();
  for (size_t i = 0; i < results_.size(); ++i) {
    xla::HloInstruction* replacement = nullptr;
    if (results_.size() == 1) {
      replacement = made.at(root);
    } else if (root->opcode() == xla::HloOpcode::kTuple) {
      replacement = made.at(root->operand(i));
    } else {
      replacement = computation->AddInstruction(
          xla::HloInstruction::CreateGetTupleElement(results_[i]->shape(), made.at(root), i));
    }
    if (replacement == results_[i]) continue;
    if (!xla::ShapeUtil::Compatible(replacement->shape(), results_[i]->shape())) {
      return absl::InternalError(
          absl::StrCat("the pass gave ", results_[i]->name(), " another shape"));
    }
    absl::Status status = computation->ReplaceInstruction(results_[i], replacement);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

xla::HloInstruction* Excerpt::Add(xla::HloInstruction* whole, int hops) {
  if (auto it = copies_.find(whole); it != copies_.end()) return it->second;
  const bool shown = hops <= copied_.hops &&
                     std::find(copied_.opcodes.begin(), copied_.opcodes.end(), whole->opcode()) !=
                         copied_.opcodes.end();
  return shown ? AddCopy(whole, hops) : AddParameter(whole);
}

xla::HloInstruction* Excerpt::AddCopy(xla::HloInstruction* whole, int hops) {
  std::vector<xla::HloInstruction*> operands;
  for (xla::HloInstruction* operand : whole->operands()) operands.push_back(Add(operand, hops + 1));
  xla::HloInstruction* const copy = builder_.AddInstruction(
      whole->CloneWithNewOperands(whole->shape(), operands, /*suffix=*/"", &context_));
  if (whole != first_) kept_[copy] = whole;
  copies_[whole] = copy;
  return copy;
}

xla::HloInstruction* Excerpt::AddParameter(xla::HloInstruction* whole) {
  xla::HloInstruction* const copy = builder_.AddInstruction(xla::HloInstruction::CreateParameter(
      parameters_, whole->shape(), absl::StrCat("operand.", parameters_)));
  outside_[parameters_++] = whole;
  copies_[whole] = copy;
  return copy;
}

void Excerpt::MapUnchanged(xla::HloCloneContext& context) const {
  absl::flat_hash_map<const xla::HloComputation*, xla::HloComputation*> originals;
  for (xla::HloComputation* original : context.module()->computations()) {
    const xla::HloComputation* const copy = context_.FindComputation(original);
    if (copy != nullptr) originals.emplace(copy, original);
  }
  // Callees come first: a computation has changed with one that it calls.
  for (const xla::HloComputation* mine : module_->MakeComputationPostOrder()) {
    auto it = originals.find(mine);
    if (it == originals.end()) continue;
    const auto changed = [&](const xla::HloInstruction* instruction) {
      const auto& callees = instruction->called_computations();
      return std::any_of(callees.begin(), callees.end(), [&](const xla::HloComputation* callee) {
        return context.FindComputation(callee) == nullptr;
      });
    };
    const auto instructions = mine->instructions();
    if (mine->instruction_count() == it->second->instruction_count() && *mine == *it->second &&
        std::none_of(instructions.begin(), instructions.end(), changed)) {
      context.MapComputation(mine, it->second);
    }
  }
}

Excerpt::Instructions Excerpt::AddToWhole() {
  xla::HloComputation* const computation = first_->parent();
  const xla::HloComputation* const entry = module_->entry_computation();
  xla::HloCloneContext context(computation->parent());
  MapUnchanged(context);
  Instructions made;
  for (const xla::HloInstruction* mine : entry->MakeInstructionPostOrder()) {
    const bool joins_results = results_.size() != 1 && mine == entry->root_instruction() &&
                               mine->opcode() == xla::HloOpcode::kTuple && mine->user_count() == 0;
    if (joins_results) continue;
    made[mine] = Original(mine, made);
    if (made[mine] != nullptr) continue;
    std::vector<xla::HloInstruction*> operands;
    for (const xla::HloInstruction* operand : mine->operands()) {
      operands.push_back(made.at(operand));
    }
    made[mine] = computation->AddInstruction(
        mine->CloneWithNewOperands(mine->shape(), operands, /*suffix=*/"", &context));
  }
  return made;
}

xla::HloInstruction* Excerpt::Original(const xla::HloInstruction* mine,
                                       const Instructions& made) const {
  if (mine->opcode() == xla::HloOpcode::kParameter) return outside_.at(mine->parameter_number());
  auto it = kept_.find(mine);
  if (it == kept_.end()) return nullptr;
  const auto same = [&](const xla::HloInstruction* a, const xla::HloInstruction* b) {
    return made.at(a) == b;
  };
  return mine->Identical(*it->second, same) ? it->second : nullptr;
}

}  // namespace hlograph
