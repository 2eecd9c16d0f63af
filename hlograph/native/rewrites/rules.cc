#include "hlograph/native/rewrites/rules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hlograph/native/module/names.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

bool IsPartOf(const xla::HloModule& module, const xla::HloComputation* computation) {
  const auto computations = module.computations();
  return std::find(computations.begin(), computations.end(), computation) != computations.end();
}

// Computations that lose their last caller with an instruction are removed with it, unless XLA
// removed them.
absl::Status RemoveUncalled(xla::HloModule* module,
                            const std::vector<xla::HloComputation*>& called) {
  for (xla::HloComputation* computation : called) {
    if (!IsPartOf(*module, computation) || !computation->IsDeadComputation()) continue;
    std::vector<xla::HloComputation*> inner;
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      for (xla::HloComputation* callee : instruction->called_computations()) {
        if (std::find(inner.begin(), inner.end(), callee) == inner.end()) inner.push_back(callee);
      }
    }
    absl::Status status = module->RemoveEmbeddedComputation(computation);
    if (status.ok()) status = RemoveUncalled(module, inner);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Returns the computations that may have no caller left after a rewrite at a place: those that its
// instructions call and, if the instruction has no users, those that its operands call, since these
// are removed with it.
std::vector<xla::HloComputation*> FindCalled(Place place) {
  absl::flat_hash_set<const xla::HloInstruction*> seen;
  std::vector<const xla::HloInstruction*> next = {place.instruction};
  if (place.other != nullptr) next.push_back(place.other);
  const bool dead = place.instruction->IsDead();
  std::vector<xla::HloComputation*> called;
  while (!next.empty()) {
    const xla::HloInstruction* const instruction = next.back();
    next.pop_back();
    if (!seen.insert(instruction).second) continue;
    const auto& callees = instruction->called_computations();
    called.insert(called.end(), callees.begin(), callees.end());
    if (dead)
      next.insert(next.end(), instruction->operands().begin(), instruction->operands().end());
  }
  return called;
}

// Removes what a rule built and left without users, from the end, where new instructions are.
absl::Status RemoveLeftovers(xla::HloComputation* computation, int64_t count) {
  if (computation->instruction_count() <= count) return absl::OkStatus();
  std::vector<xla::HloInstruction*> all(computation->instructions().begin(),
                                        computation->instructions().end());
  for (; computation->instruction_count() > count; all.pop_back()) {
    if (!all.back()->IsDead() || !computation->IsSafelyRemovable(all.back())) break;
    absl::Status status = computation->RemoveInstruction(all.back());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

using Topic = std::pair<int, void (*)(std::vector<RulePtr>&)>;

// The files of rules, by position once Rules() is made.
std::vector<Topic>& Topics() {
  static auto* const topics = new std::vector<Topic>();
  return *topics;
}

}  // namespace

absl::StatusOr<bool> ApplyAt(Applier& applier, Place place) {
  xla::HloComputation* const computation = place.instruction->parent();
  const std::vector<xla::HloComputation*> called = FindCalled(place);
  const int64_t count = computation->instruction_count();
  absl::StatusOr<bool> applied = applier.At(place);
  if (!applied.ok()) return applied;
  absl::Status status = *applied ? RemoveUncalled(computation->parent(), called)
                                 : RemoveLeftovers(computation, count);
  if (!status.ok()) return status;
  return applied;
}

void ProposeWhere(xla::HloComputation* computation,
                  absl::FunctionRef<bool(xla::HloInstruction*)> may_apply,
                  std::vector<Place>& places) {
  absl::flat_hash_set<const xla::HloInstruction*> found;
  for (xla::HloInstruction* instruction : computation->instructions()) {
    if (may_apply(instruction)) found.insert(instruction);
  }
  if (found.empty()) return;
  for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
    if (found.contains(instruction)) places.push_back({instruction});
  }
}

bool IsShared(const xla::HloInstruction* instruction) {
  return instruction->opcode() == xla::HloOpcode::kConstant ||
         instruction->opcode() == xla::HloOpcode::kParameter;
}

RuleTopic::RuleTopic(int position, void (*add)(std::vector<RulePtr>& rules)) {
  Topics().emplace_back(position, add);
}

const std::vector<RulePtr>& Rules() {
  static const auto* const rules = [] {
    auto* made = new std::vector<RulePtr>();
    std::sort(Topics().begin(), Topics().end());
    for (const Topic& topic : Topics()) topic.second(*made);
    return made;
  }();
  return *rules;
}

absl::Status CheckRules() {
  std::vector<NamedEntry> rules, topics;
  for (const RulePtr& rule : Rules()) rules.push_back({rule->name(), {}});
  for (const Topic& topic : Topics()) topics.push_back({absl::StrCat(topic.first), {}});
  absl::Status status = CheckNames("rule", rules);
  status.Update(CheckNames("position of rules", topics));
  return status;
}

const Rule* FindRule(const std::string& name) {
  for (const RulePtr& rule : Rules()) {
    if (rule->name() == name) return rule.get();
  }
  return nullptr;
}

}  // namespace hlograph
