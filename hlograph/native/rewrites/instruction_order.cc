#include "hlograph/native/rewrites/instruction_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

Reach FarthestReach() {
  Reach farthest;
  for (const RulePtr& rule : Rules()) {
    const Reach reach = rule->reach();
    farthest.operands = std::max(farthest.operands, reach.operands);
    farthest.users = std::max(farthest.users, reach.users);
  }
  return farthest;
}

// Whether two are the same but for what they are connected with.
bool HaveSameAttributes(const xla::HloInstruction* one, const xla::HloInstruction* two) {
  if (one->opcode() != two->opcode()) return false;
  // Copies share their literals, some of which are large.
  if (one->opcode() == xla::HloOpcode::kConstant && &one->literal() == &two->literal()) {
    return true;
  }
  const auto any = [](const auto*, const auto*) { return true; };
  return one->Identical(*two, any, any, /*layout_sensitive=*/true, /*sharding_sensitive=*/true) &&
         one->has_frontend_attributes() == two->has_frontend_attributes();
}

// Whether it runs what it calls as a whole.
bool HasBodies(const xla::HloInstruction* instruction) {
  return instruction->opcode() == xla::HloOpcode::kWhile ||
         instruction->opcode() == xla::HloOpcode::kConditional ||
         instruction->opcode() == xla::HloOpcode::kCall;
}

bool IsRoot(const xla::HloInstruction* instruction) {
  return instruction->parent()->root_instruction() == instruction;
}

// Gives a distance to what is one hop from the front, as long as it is no more than the limit.
template <typename Neighbours>
void Spread(std::vector<const xla::HloInstruction*> front, int first, int limit,
            absl::flat_hash_map<const xla::HloInstruction*, int>& distances,
            Neighbours neighbours) {
  for (int distance = first; distance <= limit && !front.empty(); ++distance) {
    std::vector<const xla::HloInstruction*> next;
    for (const xla::HloInstruction* one : front) {
      for (const xla::HloInstruction* neighbour : neighbours(one)) {
        if (distances.emplace(neighbour, distance).second) next.push_back(neighbour);
      }
    }
    front = std::move(next);
  }
}

}  // namespace

InstructionOrder::InstructionOrder(const xla::HloModule& copy,
                                   const xla::HloCloneContext& context) {
  absl::flat_hash_map<const xla::HloInstruction*, const xla::HloInstruction*> originals;
  for (const auto& [before, after] : context.cloned_instructions()) {
    originals.emplace(after, before);
  }
  absl::flat_hash_map<const xla::HloComputation*, const xla::HloComputation*> called;
  for (const auto& [before, after] : context.cloned_computations()) called.emplace(after, before);
  const std::vector<xla::HloComputation*> computations = copy.MakeComputationPostOrder();
  for (xla::HloComputation* computation : computations) {
    if (auto it = called.find(computation); it != called.end()) {
      computations_.emplace(it->second, computation);
    }
    for (xla::HloInstruction* instruction : computation->instructions()) {
      auto it = originals.find(instruction);
      if (it == originals.end()) continue;
      before_.emplace(instruction, it->second);
      after_.emplace(it->second, instruction);
    }
  }
  // Callees first: what calls a changed computation is touched.
  for (const xla::HloComputation* computation : computations) {
    auto it = called.find(computation);
    Compare(computation, it == called.end() ? nullptr : it->second);
  }
  MeasureOperands();
  MeasureUsers();
}

xla::HloInstruction* InstructionOrder::Find(const xla::HloInstruction* before) const {
  auto it = after_.find(before);
  return it == after_.end() ? nullptr : it->second;
}

Place InstructionOrder::Find(Place before) const {
  return {Find(before.instruction), before.other == nullptr ? nullptr : Find(before.other)};
}

bool InstructionOrder::IsFresh(Reach reach, Place after) const {
  return IsFresh(reach, after.instruction) &&
         (after.other == nullptr || IsFresh(reach, after.other));
}

bool InstructionOrder::IsFresh(Reach reach, Instruction after) const {
  const auto near = [after](const Distances& distances, int hops) {
    auto it = distances.find(after);
    return it != distances.end() && it->second <= hops;
  };
  return !near(by_operands_, reach.operands) && !near(by_users_, reach.users) &&
         !CallsChanged(after);
}

bool InstructionOrder::IsSame(Instruction before, Instruction after) const {
  const auto same = [&](const auto& old, const auto& now) {
    return old.size() == now.size() &&
           std::equal(old.begin(), old.end(), now.begin(),
                      [&](Instruction one, Instruction two) { return Find(one) == two; });
  };
  if (!HaveSameAttributes(before, after) || IsRoot(before) != IsRoot(after) ||
      !same(before->operands(), after->operands()) ||
      !same(before->control_predecessors(), after->control_predecessors()) ||
      !same(before->control_successors(), after->control_successors())) {
    return false;
  }
  return (IsShared(after) || same(before->users(), after->users())) &&
         HasSameCallees(before, after) && (HasBodies(after) || !CallsChanged(after));
}

bool InstructionOrder::HasSameCallees(Instruction before, Instruction after) const {
  const auto& callees = after->called_computations();
  return callees.size() == before->called_computations().size() &&
         std::equal(callees.begin(), callees.end(), before->called_computations().begin(),
                    [&](const auto* now, const auto* old) {
                      auto it = computations_.find(old);
                      return it != computations_.end() && it->second == now;
                    });
}

bool InstructionOrder::CallsChanged(Instruction after) const {
  return std::any_of(after->called_computations().begin(), after->called_computations().end(),
                     [&](const auto* callee) { return changed_.contains(callee); });
}

bool InstructionOrder::HasSameCallers(const xla::HloComputation* before,
                                      const xla::HloComputation* after) const {
  const auto old = before->caller_instructions();
  const auto now = after->caller_instructions();
  return old.size() == now.size() && std::all_of(old.begin(), old.end(), [&](Instruction caller) {
           return std::find(now.begin(), now.end(), Find(caller)) != now.end();
         });
}

void InstructionOrder::Compare(const xla::HloComputation* after,
                               const xla::HloComputation* before) {
  bool changed = before == nullptr || !HasSameCallers(before, after) ||
                 before->instruction_count() != after->instruction_count();
  for (Instruction instruction : after->instructions()) {
    auto it = before_.find(instruction);
    const bool same = it != before_.end() && IsSame(it->second, instruction);
    if (!same) touched_.insert(instruction);
    changed |= !same || CallsChanged(instruction);
  }
  if (changed) changed_.insert(after);
}

void InstructionOrder::MeasureOperands() {
  for (Instruction instruction : touched_) by_operands_.emplace(instruction, 0);
  Spread({touched_.begin(), touched_.end()}, 1, FarthestReach().operands, by_operands_,
         [](Instruction one) -> const auto& { return one->users(); });
}

void InstructionOrder::MeasureUsers() {
  absl::flat_hash_set<Instruction> front;
  for (Instruction instruction : touched_) {
    front.insert(instruction);
    front.insert(instruction->users().begin(), instruction->users().end());
  }
  Spread({front.begin(), front.end()}, 1, FarthestReach().users, by_users_,
         [](Instruction one) -> const auto& { return one->operands(); });
}

}  // namespace hlograph
