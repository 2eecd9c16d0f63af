#include "hlograph/native/rewrites/outcomes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlograph/native/rewrites/instruction_order.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

using Removed = absl::flat_hash_set<const xla::HloInstruction*>;

// What instructions became; nothing if one is gone or was touched.
std::optional<std::vector<const xla::HloInstruction*>> Untouched(
    const std::vector<const xla::HloInstruction*>& before, const InstructionOrder& order) {
  std::vector<const xla::HloInstruction*> after;
  after.reserve(before.size());
  for (const xla::HloInstruction* one : before) {
    after.push_back(order.Find(one));
    if (after.back() == nullptr || order.IsTouched(after.back())) return std::nullopt;
  }
  return after;
}

// Whether removing the rest would leave a constant without users.
bool IsLeft(const xla::HloInstruction* constant, const Removed& gone,
            const std::vector<const xla::HloInstruction*>& used) {
  return std::find(used.begin(), used.end(), constant) == used.end() &&
         std::all_of(constant->users().begin(), constant->users().end(),
                     [&](const xla::HloInstruction* user) { return gone.contains(user); });
}

// The outcome in what the module became, if all that it would remove, and what that uses, is as it
// was: removal goes on from operand to operand, further than a rule reads.
std::optional<Outcome> Translated(const Outcome& before, const InstructionOrder& order) {
  Outcome outcome = before;
  if (!before.applies) return outcome;
  auto gone = Untouched(before.gone, order);
  auto used = Untouched(before.used, order);
  if (!gone.has_value() || !used.has_value()) return std::nullopt;
  outcome.gone = *std::move(gone);
  outcome.used = *std::move(used);
  const Removed removed(outcome.gone.begin(), outcome.gone.end());
  for (const xla::HloInstruction* one : outcome.gone) {
    if (order.CallsChanged(one)) return std::nullopt;  // its cost may be another
    for (const xla::HloInstruction* operand : one->operands()) {
      if (order.IsTouched(operand)) return std::nullopt;
      if (operand->opcode() == xla::HloOpcode::kConstant &&
          IsLeft(operand, removed, outcome.used) != removed.contains(operand)) {
        return std::nullopt;
      }
    }
  }
  return outcome;
}

bool IsFresh(const Rule& rule, Place after, const InstructionOrder& order) {
  const std::vector<Place> extent = rule.Extent(after);
  return std::all_of(extent.begin(), extent.end(),
                     [&](Place place) { return order.IsFresh(rule.reach(), place); });
}

}  // namespace

const Outcome* Outcomes::Find(const Rule* rule, Place place) const {
  auto it = known_.find({rule, place.instruction, place.other});
  return it == known_.end() ? nullptr : &it->second;
}

void Outcomes::Add(const Rule* rule, Place place, Outcome outcome) {
  known_.insert_or_assign({rule, place.instruction, place.other}, std::move(outcome));
}

Outcomes Outcomes::After(const InstructionOrder& order) const {
  Outcomes outcomes;
  outcomes.known_.reserve(known_.size());
  for (const auto& [key, outcome] : known_) {
    const auto& [rule, instruction, other] = key;
    const Place before = {instruction, other};
    const Place after = order.Find(before);
    if (after.instruction == nullptr || (other != nullptr && after.other == nullptr)) continue;
    if (!IsFresh(*rule, after, order) || !rule->IsClear(before, after)) continue;
    std::optional<Outcome> translated = Translated(outcome, order);
    if (translated.has_value()) outcomes.Add(rule, after, *std::move(translated));
  }
  return outcomes;
}

}  // namespace hlograph
