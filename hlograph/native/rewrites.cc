#include "hlograph/native/rewrites.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlograph/native/clone.h"
#include "hlograph/native/cost.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

struct Candidate {
  const Rule* rule = nullptr;
  Place place;  // in the module that is not changed
};

std::vector<Candidate> Propose(const xla::HloModule& module,
                               const std::vector<const Rule*>& rules) {
  std::vector<Candidate> candidates;
  std::vector<Place> places;
  for (const Rule* rule : rules) {
    for (xla::HloComputation* computation : module.MakeNonfusionComputations()) {
      places.clear();
      rule->Propose(computation, places);
      for (const Place& place : places) candidates.push_back({rule, place});
    }
  }
  return candidates;
}

// Computations that lose their last caller with an instruction are removed with it.
absl::Status RemoveUncalled(const std::vector<xla::HloComputation*>& called) {
  for (xla::HloComputation* computation : called) {
    if (!computation->IsDeadComputation()) continue;
    std::vector<xla::HloComputation*> inner;
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      for (xla::HloComputation* callee : instruction->called_computations()) {
        if (std::find(inner.begin(), inner.end(), callee) == inner.end()) inner.push_back(callee);
      }
    }
    absl::Status status = computation->parent()->RemoveEmbeddedComputation(computation);
    if (status.ok()) status = RemoveUncalled(inner);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Removes what a rule built and left without users, from the end, where new instructions are.
absl::Status RemoveLeftovers(xla::HloComputation* computation, int64_t count) {
  while (computation->instruction_count() > count) {
    std::vector<xla::HloInstruction*> dead;
    for (xla::HloInstruction* instruction : computation->instructions())
      dead.push_back(instruction);
    xla::HloInstruction* const last = dead.back();
    if (!last->IsDead() || !computation->IsSafelyRemovable(last)) break;
    absl::Status status = computation->RemoveInstruction(last);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Applies a rule at a place, with what belongs to it.
absl::StatusOr<bool> ApplyAt(Applier& applier, Place place) {
  xla::HloComputation* const computation = place.instruction->parent();
  const std::vector<xla::HloComputation*> called(place.instruction->called_computations().begin(),
                                                 place.instruction->called_computations().end());
  const int64_t count = computation->instruction_count();
  absl::StatusOr<bool> applied = applier.At(place);
  if (!applied.ok()) return applied;
  absl::Status status = *applied ? RemoveUncalled(called) : RemoveLeftovers(computation, count);
  if (!status.ok()) return status;
  return applied;
}

// What came of trying a rewrite: it does not apply; it does; or it went to where another one had
// been before, and what it changed says nothing of what it would change alone.
enum class Trial { kNone, kFound, kMet };

// A copy of the module that rewrites are tried on, as long as they do not meet.
class Scratch {
 public:
  Scratch(const xla::HloModule& module, InstructionCosts& costs) : costs_(costs) {
    std::tie(module_, context_) = CloneWithMap(module);
    for (const auto& [original, copy] : context_->cloned_instructions()) {
      originals_.emplace(copy, original);
    }
  }

  Place Find(Place place) const {
    return {context_->GetInstruction(place.instruction),
            place.other == nullptr ? nullptr : context_->GetInstruction(place.other)};
  }

  // Whether nothing that the rule reads has been touched here; the place is the whole module's.
  bool IsFresh(const Rule& rule, Place original) const {
    if (touched_.empty()) return true;
    // First of all, for the instructions of a removed computation are no more.
    if (removed_.contains(original.instruction->parent())) return false;
    const Place place = Find(original);
    const Reach reach = rule.reach();
    return IsFresh(place.instruction, reach) &&
           (place.other == nullptr || IsFresh(place.other, reach)) &&
           AreCalleesFresh(original.instruction);
  }

  absl::StatusOr<Trial> Try(const Rule& rule, Place place, Rewrite& rewrite) {
    xla::HloComputation* const computation = place.instruction->parent();
    std::vector<xla::HloInstruction*> near = place.instruction->users();
    near.push_back(place.instruction);
    if (place.other != nullptr) near.push_back(place.other);
    near.insert(near.end(), place.instruction->operands().begin(),
                place.instruction->operands().end());
    absl::StatusOr<bool> applied = ApplyAt(ApplierOf(rule, computation), place);
    if (!applied.ok()) return applied.status();
    if (!*applied) return Trial::kNone;
    // Some keep what they made, as the simplifier its computation of a sum, for the next place.
    appliers_.erase({&rule, computation});
    const bool met = Describe(place, rewrite);
    TouchAll(near);
    return met ? Trial::kMet : Trial::kFound;
  }

 private:
  using Instructions = absl::flat_hash_set<const xla::HloInstruction*>;
  using Computations = absl::flat_hash_set<const xla::HloComputation*>;

  bool IsFresh(const xla::HloInstruction* instruction, Reach reach) const {
    Instructions seen;
    return AreOperandsFresh(instruction, reach.operands, seen) &&
           AreUsersFresh(instruction, reach.users);
  }

  bool AreOperandsFresh(const xla::HloInstruction* instruction, int hops,
                        Instructions& seen) const {
    if (touched_.contains(instruction)) return false;
    if (hops == 0 || !seen.insert(instruction).second) return true;
    for (const xla::HloInstruction* operand : instruction->operands()) {
      if (!AreOperandsFresh(operand, hops - 1, seen)) return false;
    }
    return true;
  }

  bool AreUsersFresh(const xla::HloInstruction* instruction, int hops) const {
    if (hops == 0) return true;
    for (const xla::HloInstruction* user : instruction->users()) {
      if (touched_.contains(user)) return false;
      for (const xla::HloInstruction* operand : user->operands()) {
        if (touched_.contains(operand)) return false;
      }
      if (!AreUsersFresh(user, hops - 1)) return false;
    }
    return true;
  }

  bool AreCalleesFresh(const xla::HloInstruction* original) const {
    for (const xla::HloComputation* callee : original->called_computations()) {
      if (changed_.contains(callee)) return false;
      for (const xla::HloInstruction* inner : callee->instructions()) {
        if (!AreCalleesFresh(inner)) return false;
      }
    }
    return true;
  }

  // Notes what an instruction calls: whether it is the last that does so is seen by others.
  void TouchCallees(const xla::HloInstruction* original) {
    changed_.insert(original->called_computations().begin(), original->called_computations().end());
  }

  Applier& ApplierOf(const Rule& rule, xla::HloComputation* computation) {
    std::unique_ptr<Applier>& applier = appliers_[{&rule, computation}];
    if (applier == nullptr) applier = rule.For(computation);
    return *applier;
  }

  // Notes where a new instruction is, and what of the whole module it calls.
  void TouchNew(const xla::HloInstruction* instruction) {
    for (const auto& [original, copy] : context_->cloned_computations()) {
      if (copy == instruction->parent()) changed_.insert(original);
      for (const xla::HloComputation* callee : instruction->called_computations()) {
        if (copy == callee) changed_.insert(original);
      }
    }
  }

  // Rules ask whether a value has other users, but not of constants and parameters, which whole
  // computations share.
  static bool IsShared(const xla::HloInstruction* instruction) {
    return instruction->opcode() == xla::HloOpcode::kConstant ||
           instruction->opcode() == xla::HloOpcode::kParameter;
  }

  void Touch(const xla::HloInstruction* instruction) {
    if (!IsShared(instruction)) touched_.insert(instruction);
  }

  template <typename Instructions>
  void TouchAll(const Instructions& instructions) {
    for (const xla::HloInstruction* instruction : instructions) Touch(instruction);
  }

  // What the last rewrite, at this place, added and removed; both are touched, and so are their
  // neighbours. Returns whether any of them had been touched before.
  bool Describe(Place place, Rewrite& rewrite) {
    Instructions live, used;
    std::vector<const xla::HloInstruction*> made;
    Computations computations;
    for (const xla::HloComputation* computation : module_->computations()) {
      computations.insert(computation);
      for (const xla::HloInstruction* instruction : computation->instructions()) {
        live.insert(instruction);
        if (originals_.contains(instruction) || !new_.insert(instruction).second) continue;
        used.insert(instruction->operands().begin(), instruction->operands().end());
        made.push_back(instruction);
      }
    }
    Instructions gone, constants;
    for (auto it = originals_.begin(); it != originals_.end();) {
      const auto [copy, original] = *it;
      if (live.contains(copy)) {
        ++it;
        continue;
      }
      const bool counts = original->opcode() != xla::HloOpcode::kConstant ||
                          copy == place.instruction || copy == place.other;
      (counts ? gone : constants).insert(original);
      if (!computations.contains(context_->GetComputation(original->parent()))) {
        removed_.insert(original->parent());
      }
      originals_.erase(it++);
    }
    for (const xla::HloInstruction* original : gone) {
      for (const xla::HloInstruction* operand : original->operands()) {
        if (operand->opcode() == xla::HloOpcode::kConstant) constants.insert(operand);
      }
    }
    // Others may have left a constant to this rewrite, or have come to use one that it leaves: it
    // goes with its last user, as if no other rewrite had been here.
    for (const xla::HloInstruction* constant : constants) {
      const bool left =
          std::all_of(constant->users().begin(), constant->users().end(),
                      [&](const xla::HloInstruction* user) { return gone.contains(user); });
      if (left && !used.contains(context_->GetInstruction(constant))) gone.insert(constant);
    }
    const bool met =
        std::any_of(gone.begin(), gone.end(),
                    [&](const xla::HloInstruction* original) { return WasTouched(original); }) ||
        std::any_of(used.begin(), used.end(),
                    [&](const xla::HloInstruction* operand) { return touched_.contains(operand); });
    for (const xla::HloInstruction* instruction : made) DescribeNew(instruction, rewrite);
    for (const xla::HloInstruction* original : gone) DescribeGone(original, rewrite);
    std::sort(rewrite.gone.begin(), rewrite.gone.end());
    return met;
  }

  // Whether the copy of an instruction, or of one of its operands, was touched.
  bool WasTouched(const xla::HloInstruction* original) const {
    const auto touched = [&](const xla::HloInstruction* one) {
      return touched_.contains(context_->GetInstruction(one));
    };
    return touched(original) ||
           std::any_of(original->operands().begin(), original->operands().end(), touched);
  }

  void DescribeNew(const xla::HloInstruction* instruction, Rewrite& rewrite) {
    ++rewrite.added;
    const Cost cost = costs_.Of(instruction);
    rewrite.flops += cost.flops;
    rewrite.bytes += cost.bytes_accessed;
    touched_.insert(instruction);
    TouchAll(instruction->operands());
    TouchAll(instruction->users());
    TouchNew(instruction);
  }

  void DescribeGone(const xla::HloInstruction* original, Rewrite& rewrite) {
    ++rewrite.removed;
    const Cost& cost = costs_.OfLasting(original);
    rewrite.flops -= cost.flops;
    rewrite.bytes -= cost.bytes_accessed;
    rewrite.gone.emplace_back(original->name());
    for (const xla::HloInstruction* operand : original->operands()) {
      // The copy may be no more, where a whole computation was removed.
      if (!IsShared(operand)) touched_.insert(context_->GetInstruction(operand));
    }
    touched_.insert(context_->GetInstruction(original));
    TouchCallees(original);
    changed_.insert(original->parent());
  }

  InstructionCosts& costs_;
  std::unique_ptr<xla::HloModule> module_;
  std::unique_ptr<xla::HloCloneContext> context_;
  absl::flat_hash_map<const xla::HloInstruction*, const xla::HloInstruction*> originals_;
  Instructions new_;
  Instructions touched_;
  Computations changed_;  // of the whole module: where anything was added, removed or called anew
  Computations removed_;  // of the whole module
  absl::flat_hash_map<std::pair<const Rule*, xla::HloComputation*>, std::unique_ptr<Applier>>
      appliers_;
};

}  // namespace

absl::StatusOr<std::vector<Rewrite>> FindRewrites(const xla::HloModule& module,
                                                  const std::vector<const Rule*>& rules,
                                                  bool alone) {
  const std::vector<Candidate> candidates = Propose(module, rules);
  std::vector<std::pair<size_t, Rewrite>> found;
  InstructionCosts costs;
  std::vector<size_t> waiting(candidates.size());
  for (size_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
  while (!waiting.empty()) {
    Scratch scratch(module, costs);
    bool usable = true;
    std::vector<size_t> later;
    for (size_t number : waiting) {
      const Candidate& candidate = candidates[number];
      if (!usable || !scratch.IsFresh(*candidate.rule, candidate.place)) {
        later.push_back(number);
        continue;
      }
      Rewrite rewrite;
      rewrite.rule = candidate.rule;
      absl::StatusOr<Trial> trial =
          scratch.Try(*candidate.rule, scratch.Find(candidate.place), rewrite);
      // After an error the copy may be anything; the rewrite is none, and the others go on.
      usable = trial.ok() && !(alone && *trial == Trial::kFound);
      if (trial.ok() && *trial == Trial::kMet) later.push_back(number);
      if (!trial.ok() || *trial != Trial::kFound) continue;
      rewrite.instruction = candidate.place.instruction->name();
      if (candidate.place.other != nullptr) rewrite.other = candidate.place.other->name();
      found.emplace_back(number, std::move(rewrite));
    }
    waiting = std::move(later);
  }
  std::sort(found.begin(), found.end(),
            [](const auto& one, const auto& two) { return one.first < two.first; });
  std::vector<Rewrite> rewrites;
  rewrites.reserve(found.size());
  for (auto& [number, rewrite] : found) rewrites.push_back(std::move(rewrite));
  return rewrites;
}

absl::StatusOr<bool> ApplyRewrite(xla::HloModule* module, const Rule& rule,
                                  const std::string& instruction, const std::string& other) {
  std::vector<Place> places;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations()) {
    rule.Propose(computation, places);
  }
  // Whoever asks may name any two instructions; rules are safe only where they propose themselves.
  const auto found = std::find_if(places.begin(), places.end(), [&](const Place& place) {
    return place.instruction->name() == instruction &&
           (place.other == nullptr ? other.empty() : place.other->name() == other);
  });
  if (found == places.end()) return false;
  const Place place = *found;
  absl::StatusOr<bool> applied = ApplyAt(*rule.For(place.instruction->parent()), place);
  if (applied.ok()) module->Cleanup();
  return applied;
}

}  // namespace hlograph
