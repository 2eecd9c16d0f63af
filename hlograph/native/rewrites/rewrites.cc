#include "hlograph/native/rewrites/rewrites.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlograph/native/module/catching.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/work.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/parts.h"
#include "hlograph/native/rewrites/rules.h"
#include "hlograph/native/rewrites/trials.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hlograph {
namespace {

struct Candidate {
  const Rule* rule = nullptr;
  Place place;   // in the module that is not changed
  int cuts = 0;  // how often a part of the module was not enough to try it on
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

// Candidates that share a copy: of a part of the module, or of all of it.
struct Batch {
  std::optional<Part> part;
  std::vector<Candidate> candidates;
};

// How far a part has to go for a candidate: a hop further than the rule reads, for what a rewrite
// removes may go on from operand to operand, and further each time that this was not enough.
Reach ReachOf(const Candidate& candidate) {
  Reach reach = candidate.rule->reach();
  reach.operands += 1 + 4 * candidate.cuts;
  return reach;
}

// Splits candidates into batches that parts of the module are enough for, unless together they take
// so much of it that one copy of all is cheaper.
std::vector<Batch> Split(const xla::HloModule& module, PartFinder& parts,
                         std::vector<Candidate> candidates) {
  constexpr int kMaxCuts = 2;
  std::vector<Batch> batches;
  absl::flat_hash_map<const xla::HloComputation*, size_t> batch_of;
  bool whole = false;
  for (const Candidate& candidate : candidates) {
    // What is fused elsewhere may matter to a fusion.
    whole |= candidate.cuts > kMaxCuts || candidate.rule->purpose() == Purpose::kTarget;
    auto [it, is_new] = batch_of.try_emplace(candidate.place.instruction->parent(), batches.size());
    if (is_new) batches.emplace_back();
    batches[it->second].candidates.push_back(candidate);
  }
  int64_t room = module.instruction_count() / 2;
  for (auto batch = batches.begin(); batch != batches.end() && !whole; ++batch) {
    std::vector<std::pair<Place, Reach>> places;
    for (const Candidate& candidate : batch->candidates) {
      for (Place place : candidate.rule->Extent(candidate.place)) {
        places.emplace_back(place, ReachOf(candidate));
      }
    }
    batch->part = parts.Find(places, room);
    whole = !batch->part.has_value();
    if (!whole) room -= batch->part->copied.size();
  }
  if (!whole) return batches;
  batches.clear();
  batches.push_back({std::nullopt, std::move(candidates)});
  return batches;
}

// Tries a batch on one copy, and adds the outcomes. Returns the candidates that need another copy.
std::vector<Candidate> TryBatch(Scratch& scratch, const std::vector<Candidate>& batch,
                                bool shared_copies, Outcomes& outcomes) {
  bool usable = true;
  std::vector<Candidate> later;
  for (const Candidate& candidate : batch) {
    if (!usable || !scratch.IsFresh(*candidate.rule, candidate.place)) {
      later.push_back(candidate);
      continue;
    }
    Outcome outcome;
    absl::StatusOr<Trial> trial = Catching("XLA's code for " + candidate.rule->name(), [&] {
      return scratch.Try(*candidate.rule, candidate.place, outcome);
    });
    // After an error the copy is not used again; the rewrite does not apply, and the others go on.
    usable = trial.ok() && (shared_copies || *trial != Trial::kFound);
    if (trial.ok() && (*trial == Trial::kMet || *trial == Trial::kCut)) {
      later.push_back(candidate);
      if (*trial == Trial::kCut) ++later.back().cuts;
    } else {
      outcomes.Add(candidate.rule, candidate.place, std::move(outcome));
    }
  }
  return later;
}

// Tries the candidates without a known outcome, and adds their outcomes.
void TryAll(const xla::HloModule& module, const std::vector<Candidate>& candidates,
            bool shared_copies, WorkCounter& works, Outcomes& outcomes) {
  InstructionCosts costs;
  PartFinder parts;
  std::vector<Candidate> waiting;
  for (const Candidate& candidate : candidates) {
    if (outcomes.Find(candidate.rule, candidate.place) == nullptr) waiting.push_back(candidate);
  }
  while (!waiting.empty()) {
    std::vector<Batch> batches;
    if (shared_copies) {
      batches = Split(module, parts, std::move(waiting));
    } else {
      batches.push_back({std::nullopt, std::move(waiting)});
    }
    waiting.clear();
    for (Batch& batch : batches) {
      Scratch scratch = batch.part.has_value() ? Scratch(*std::move(batch.part), costs, works)
                                               : Scratch(module, costs, works);
      const std::vector<Candidate> later =
          TryBatch(scratch, batch.candidates, shared_copies, outcomes);
      waiting.insert(waiting.end(), later.begin(), later.end());
    }
  }
}

Rewrite Name(const Candidate& candidate) {
  Rewrite rewrite;
  rewrite.rule = candidate.rule;
  rewrite.instruction = candidate.place.instruction->name();
  if (candidate.place.other != nullptr) rewrite.other = candidate.place.other->name();
  return rewrite;
}

Rewrite Describe(const Candidate& candidate, const Outcome& outcome, WorkCounter& works) {
  Rewrite rewrite = Name(candidate);
  rewrite.added = outcome.added;
  rewrite.removed = outcome.gone.size();
  rewrite.flops = outcome.flops;
  rewrite.bytes = outcome.bytes;
  const double runs = works.Runs(candidate.place.instruction->parent());
  for (auto [feature, amount] : outcome.work) {
    if (runs != 0) rewrite.work.emplace_back(feature, runs * amount);
  }
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
                                  const std::vector<const Rule*>& rules, bool shared_copies,
                                  Outcomes& outcomes) {
  const std::vector<Candidate> candidates = Propose(module, rules);
  WorkCounter works;
  TryAll(module, candidates, shared_copies, works, outcomes);
  std::vector<Rewrite> rewrites;
  for (const Candidate& candidate : candidates) {
    const Outcome& outcome = *outcomes.Find(candidate.rule, candidate.place);
    if (outcome.applies) rewrites.push_back(Describe(candidate, outcome, works));
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
