#include "hlograph/native/rewrites.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/cost.h"
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

Rewrite Name(const Candidate& candidate) {
  Rewrite rewrite;
  rewrite.rule = candidate.rule;
  rewrite.instruction = candidate.place.instruction->name();
  if (candidate.place.other != nullptr) rewrite.other = candidate.place.other->name();
  return rewrite;
}

}  // namespace

std::vector<Rewrite> ProposeRewrites(const xla::HloModule& module,
                                     const std::vector<const Rule*>& rules) {
  std::vector<Rewrite> rewrites;
  for (const Candidate& candidate : Propose(module, rules)) rewrites.push_back(Name(candidate));
  return rewrites;
}

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
      Rewrite rewrite = Name(candidate);
      absl::StatusOr<Trial> trial = scratch.Try(*candidate.rule, candidate.place, rewrite);
      // After an error the copy may be anything; the rewrite is none, and the others go on.
      usable = trial.ok() && !(alone && *trial == Trial::kFound);
      if (trial.ok() && *trial == Trial::kMet) later.push_back(number);
      if (!trial.ok() || *trial != Trial::kFound) continue;
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
