#include "hlograph/native/rewrites.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/cost.h"
#include "hlograph/native/rewrite_outcomes.h"
#include "hlograph/native/rewrite_rules.h"
#include "hlograph/native/rewrite_trials.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

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

// Tries what no outcome is known of, and adds what comes of it.
void TryAll(const xla::HloModule& module, const std::vector<Candidate>& candidates, bool alone,
            Outcomes& outcomes) {
  InstructionCosts costs;
  std::vector<Candidate> waiting;
  for (const Candidate& candidate : candidates) {
    if (outcomes.Find(candidate.rule, candidate.place) == nullptr) waiting.push_back(candidate);
  }
  while (!waiting.empty()) {
    Scratch scratch(module, costs);
    bool usable = true;
    std::vector<Candidate> later;
    for (const Candidate& candidate : waiting) {
      if (!usable || !scratch.IsFresh(*candidate.rule, candidate.place)) {
        later.push_back(candidate);
        continue;
      }
      Outcome outcome;
      absl::StatusOr<Trial> trial = scratch.Try(*candidate.rule, candidate.place, outcome);
      // After an error the copy may be anything; the rewrite is none, and the others go on.
      usable = trial.ok() && !(alone && *trial == Trial::kFound);
      if (trial.ok() && *trial == Trial::kMet) {
        later.push_back(candidate);
      } else {
        outcomes.Add(candidate.rule, candidate.place, std::move(outcome));
      }
    }
    waiting = std::move(later);
  }
}

Rewrite Name(const Candidate& candidate) {
  Rewrite rewrite;
  rewrite.rule = candidate.rule;
  rewrite.instruction = candidate.place.instruction->name();
  if (candidate.place.other != nullptr) rewrite.other = candidate.place.other->name();
  return rewrite;
}

Rewrite Describe(const Candidate& candidate, const Outcome& outcome) {
  Rewrite rewrite = Name(candidate);
  rewrite.added = outcome.added;
  rewrite.removed = outcome.gone.size();
  rewrite.flops = outcome.flops;
  rewrite.bytes = outcome.bytes;
  rewrite.gone.reserve(outcome.gone.size());
  for (const xla::HloInstruction* gone : outcome.gone) rewrite.gone.emplace_back(gone->name());
  std::sort(rewrite.gone.begin(), rewrite.gone.end());
  return rewrite;
}

}  // namespace

std::vector<Rewrite> ProposeRewrites(const xla::HloModule& module,
                                     const std::vector<const Rule*>& rules) {
  std::vector<Rewrite> rewrites;
  for (const Candidate& candidate : Propose(module, rules)) rewrites.push_back(Name(candidate));
  return rewrites;
}

std::vector<Rewrite> FindRewrites(const xla::HloModule& module,
                                  const std::vector<const Rule*>& rules, bool alone,
                                  Outcomes& outcomes) {
  const std::vector<Candidate> candidates = Propose(module, rules);
  TryAll(module, candidates, alone, outcomes);
  std::vector<Rewrite> rewrites;
  for (const Candidate& candidate : candidates) {
    const Outcome& outcome = *outcomes.Find(candidate.rule, candidate.place);
    if (outcome.applies) rewrites.push_back(Describe(candidate, outcome));
  }
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
