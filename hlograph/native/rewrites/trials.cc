#include "hlograph/native/rewrites/trials.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/module/clone.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/work.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/parts.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

// A place and what is next to it.
std::vector<xla::HloInstruction*> Near(Place place) {
  std::vector<xla::HloInstruction*> near;
  for (xla::HloInstruction* one : {place.instruction, place.other}) {
    if (one == nullptr) continue;
    near.push_back(one);
    near.insert(near.end(), one->users().begin(), one->users().end());
    near.insert(near.end(), one->operands().begin(), one->operands().end());
  }
  return near;
}

}  // namespace

Scratch::Scratch(const xla::HloModule& module, InstructionCosts& costs, WorkCounter& works)
    : costs_(costs), works_(works) {
  std::tie(module_, context_) = CloneWithMap(module);
  for (const auto& [original, copy] : context_->cloned_instructions()) {
    originals_.emplace(copy, original);
  }
}

Scratch::Scratch(Part part, InstructionCosts& costs, WorkCounter& works)
    : costs_(costs), works_(works), part_(std::move(part)) {
  std::tie(module_, context_) = ClonePart(*part_);
  for (const auto& [original, copy] : context_->cloned_instructions()) {
    originals_.emplace(copy, original);
  }
  FindMade();  // what is here in the place of the rest, and is no rewrite's
}

Scratch::~Scratch() = default;

Place Scratch::Find(Place original) const {
  return {context_->GetInstruction(original.instruction),
          original.other == nullptr ? nullptr : context_->GetInstruction(original.other)};
}

bool Scratch::IsFresh(const Rule& rule, Place original) const {
  if (touched_.empty()) return true;
  // First of all, for the instructions of a removed computation are no more.
  if (removed_.contains(original.instruction->parent())) return false;
  const std::vector<Place> extent = rule.Extent(original);
  return std::all_of(extent.begin(), extent.end(),
                     [&](Place one) { return IsFresh(Find(one), rule.reach()); }) &&
         AreCalleesFresh(original.instruction) && rule.IsClear(original, Find(original));
}

bool Scratch::IsFresh(Place place, Reach reach) const {
  const auto is_fresh = [&](xla::HloInstruction* one) {
    // Others may have removed the last users of a constant, and it with them, though nothing near.
    return originals_.contains(one) && IsFresh(one, reach);
  };
  return is_fresh(place.instruction) && (place.other == nullptr || is_fresh(place.other));
}

absl::StatusOr<Trial> Scratch::Try(const Rule& rule, Place original, Outcome& outcome) {
  const Place place = Find(original);
  // Where others have been, IsFresh has asked this.
  if (part_.has_value() && touched_.empty() && !rule.IsClear(original, place)) return Trial::kCut;
  xla::HloComputation* const computation = place.instruction->parent();
  const std::vector<xla::HloInstruction*> near = Near(place);
  absl::StatusOr<bool> applied = ApplyAt(ApplierOf(rule, computation), place);
  if (!applied.ok()) return applied.status();
  if (!*applied) {
    // Others may have laid a path between the two.
    return rule.reach().paths && !touched_.empty() ? Trial::kMet : Trial::kNone;
  }
  // Some keep what they made, as the simplifier its computation of a sum, for the next place.
  appliers_.erase({&rule, computation});
  const Change change = FindChange(place);
  const Trial trial = Judge(original, change, touched_.empty());
  for (const xla::HloInstruction* used : change.used) {
    if (auto it = originals_.find(used); it != originals_.end()) outcome.used.push_back(it->second);
  }
  for (const xla::HloInstruction* made : change.made) CountMade(made, outcome);
  for (const xla::HloInstruction* gone : change.gone) CountGone(gone, outcome);
  outcome.work = ChangeOfWork(original, computation, change).NotZero();
  outcome.applies = true;
  TouchAll(near);
  return trial;
}

bool Scratch::IsFresh(const xla::HloInstruction* instruction, Reach reach) const {
  Hops seen;
  return AreOperandsFresh(instruction, reach.operands, seen) &&
         AreUsersFresh(instruction, reach.users);
}

bool Scratch::AreOperandsFresh(const xla::HloInstruction* instruction, int hops, Hops& seen) const {
  if (touched_.contains(instruction)) return false;
  if (hops == 0) return true;
  auto [it, is_new] = seen.try_emplace(instruction, hops);
  if (!is_new && it->second >= hops) return true;
  it->second = hops;
  for (const xla::HloInstruction* operand : instruction->operands()) {
    if (!AreOperandsFresh(operand, hops - 1, seen)) return false;
  }
  return true;
}

bool Scratch::AreUsersFresh(const xla::HloInstruction* instruction, int hops) const {
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

bool Scratch::AreCalleesFresh(const xla::HloInstruction* original) const {
  for (const xla::HloComputation* callee : original->called_computations()) {
    if (changed_.contains(callee)) return false;
    for (const xla::HloInstruction* inner : callee->instructions()) {
      if (!AreCalleesFresh(inner)) return false;
    }
  }
  return true;
}

bool Scratch::WasTouched(const xla::HloInstruction* original) const {
  const auto touched = [&](const xla::HloInstruction* one) {
    return touched_.contains(context_->GetInstruction(one));
  };
  return touched(original) ||
         std::any_of(original->operands().begin(), original->operands().end(), touched);
}

Applier& Scratch::ApplierOf(const Rule& rule, xla::HloComputation* computation) {
  std::unique_ptr<Applier>& applier = appliers_[{&rule, computation}];
  if (applier == nullptr) applier = rule.For(computation);
  return *applier;
}

Scratch::Change Scratch::FindChange(Place place) {
  Change change;
  change.made = FindMade();
  for (const xla::HloInstruction* made : change.made) {
    change.used.insert(made->operands().begin(), made->operands().end());
  }
  change.gone = FindGone(place, change.used);
  return change;
}

std::vector<const xla::HloInstruction*> Scratch::FindMade() {
  std::vector<const xla::HloInstruction*> made;
  for (const xla::HloComputation* computation : module_->computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (originals_.contains(instruction) || !new_.insert(instruction).second) continue;
      made.push_back(instruction);
    }
  }
  return made;
}

Scratch::Instructions Scratch::FindGone(Place place, const Instructions& used) {
  Instructions live;
  Computations computations;
  for (const xla::HloComputation* computation : module_->computations()) {
    computations.insert(computation);
    live.insert(computation->instructions().begin(), computation->instructions().end());
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
  return gone;
}

Trial Scratch::Judge(Place original, const Change& change, bool is_first) const {
  if (part_.has_value() && IsCut(change)) return Trial::kCut;
  // Which of two goes hangs on their order, and that on what is elsewhere.
  if (original.other != nullptr && !change.gone.contains(original.instruction)) {
    if (part_.has_value()) return Trial::kCut;
    if (!is_first) return Trial::kMet;
  }
  return Meets(change) ? Trial::kMet : Trial::kFound;
}

bool Scratch::IsCut(const Change& change) const {
  const auto is_outside = [&](const xla::HloInstruction* one) {
    return one->parent() == part_->computation && !IsShared(one) && !part_->core.contains(one);
  };
  // What is not of the core stays here, with fewer users than it has.
  const auto is_left = [&](const xla::HloInstruction* one) {
    return is_outside(one) && !change.used.contains(context_->GetInstruction(one)) &&
           std::all_of(one->users().begin(), one->users().end(),
                       [&](const auto* user) { return change.gone.contains(user); });
  };
  return std::any_of(change.gone.begin(), change.gone.end(), [&](const auto* gone) {
    return is_outside(gone) ||
           std::any_of(gone->operands().begin(), gone->operands().end(), is_left);
  });
}

bool Scratch::Meets(const Change& change) const {
  const auto touched = [&](const xla::HloInstruction* one) { return touched_.contains(one); };
  return std::any_of(change.gone.begin(), change.gone.end(),
                     [&](const xla::HloInstruction* original) {
                       return WasTouched(original) || !AreCalleesFresh(original);
                     }) ||
         std::any_of(change.made.begin(), change.made.end(), [&](const xla::HloInstruction* made) {
           return std::any_of(made->operands().begin(), made->operands().end(), touched);
         });
}

void Scratch::Touch(const xla::HloInstruction* instruction) {
  if (!IsShared(instruction)) touched_.insert(instruction);
}

template <typename Range>
void Scratch::TouchAll(const Range& instructions) {
  for (const xla::HloInstruction* instruction : instructions) Touch(instruction);
}

void Scratch::TouchNew(const xla::HloInstruction* instruction) {
  for (const auto& [original, copy] : context_->cloned_computations()) {
    if (copy == instruction->parent()) changed_.insert(original);
    for (const xla::HloComputation* callee : instruction->called_computations()) {
      if (copy == callee) changed_.insert(original);
    }
  }
}

void Scratch::TouchCallees(const xla::HloInstruction* original) {
  changed_.insert(original->called_computations().begin(), original->called_computations().end());
}

void Scratch::CountMade(const xla::HloInstruction* instruction, Outcome& outcome) {
  ++outcome.added;
  const Cost cost = costs_.Of(instruction);
  outcome.flops += cost.flops;
  outcome.bytes += cost.bytes_accessed;
  touched_.insert(instruction);
  TouchAll(instruction->operands());
  TouchAll(instruction->users());
  TouchNew(instruction);
}

void Scratch::CountGone(const xla::HloInstruction* original, Outcome& outcome) {
  const Cost& cost = costs_.OfLasting(original);
  outcome.flops -= cost.flops;
  outcome.bytes -= cost.bytes_accessed;
  outcome.gone.push_back(original);
  for (const xla::HloInstruction* operand : original->operands()) {
    // The copy may be no more, where a whole computation was removed.
    if (!IsShared(operand)) touched_.insert(context_->GetInstruction(operand));
  }
  touched_.insert(context_->GetInstruction(original));
  TouchCallees(original);
  changed_.insert(original->parent());
}

Work Scratch::ChangeOfWork(Place original, const xla::HloComputation* copy, const Change& change) {
  Work work;
  WorkCounter counter;  // of the copy as it is now
  for (const xla::HloInstruction* made : change.made) {
    double runs = made->parent() == copy;
    if (runs == 0) {
      for (const auto& [whole, mine] : context_->cloned_computations()) {
        if (mine == made->parent()) runs = RunsBeside(original, whole, change);
      }
    }
    if (runs != 0) work.Add(counter.Of(made), runs);
  }
  for (const xla::HloInstruction* gone : change.gone) {
    const bool here = gone->parent() == original.instruction->parent();
    const double runs = here ? 1 : RunsBeside(original, gone->parent(), change);
    if (runs != 0) work.Add(works_.Of(gone), -runs);
  }
  return work;
}

double Scratch::RunsBeside(Place original, const xla::HloComputation* computation,
                           const Change& change) {
  if (removed_.contains(computation)) return 0;
  const auto callers = context_->GetComputation(computation)->caller_instructions();
  const bool made = std::all_of(callers.begin(), callers.end(), [&](const auto* caller) {
    return std::find(change.made.begin(), change.made.end(), caller) != change.made.end();
  });
  if (made && !computation->IsEntryComputation()) return 0;
  const double runs = works_.Runs(original.instruction->parent());
  return runs == 0 ? 0 : works_.Runs(computation) / runs;
}

}  // namespace hlograph
