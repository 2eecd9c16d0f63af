#include "hlograph/native/rewrites/sweep.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/rewrites.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hlograph {
namespace {

using Names = std::pair<std::string, std::string>;
using Waiting = absl::flat_hash_set<Names>;

Names NamesOf(const Place& place) {
  return {std::string(place.instruction->name()),
          place.other == nullptr ? "" : std::string(place.other->name())};
}

// The places that wait, by the computation that has them. A place whose instruction is in another
// computation after a change has another name there.
absl::flat_hash_map<std::string, Waiting> ByComputation(const xla::HloModule& module,
                                                        const std::vector<Rewrite>& places) {
  absl::flat_hash_set<Names> all;
  for (const Rewrite& place : places) all.emplace(place.instruction, place.other);
  absl::flat_hash_map<std::string, std::vector<Names>> of_instruction;
  for (const Names& names : all) of_instruction[names.first].push_back(names);
  absl::flat_hash_map<std::string, Waiting> waiting;
  for (const xla::HloComputation* computation : module.MakeNonfusionComputations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      auto it = of_instruction.find(instruction->name());
      if (it == of_instruction.end()) continue;
      waiting[computation->name()].insert(it->second.begin(), it->second.end());
    }
  }
  return waiting;
}

// Applies a rule at the first place of a computation that waits, and where it applies still. Places
// that were tried wait no more. Returns false if there is none.
absl::StatusOr<bool> ApplyNext(const Rule& rule, xla::HloComputation* computation,
                               Waiting& waiting) {
  // Proposed again after each change: rules are safe only where they propose themselves, and
  // instructions may be no more.
  std::vector<Place> places;
  rule.Propose(computation, places);
  for (const Place& place : places) {
    if (waiting.erase(NamesOf(place)) == 0) continue;
    absl::StatusOr<bool> applied = ApplyAt(*rule.For(computation), place);
    if (!applied.ok() || *applied) return applied;
  }
  waiting.clear();
  return false;
}

}  // namespace

absl::StatusOr<int64_t> Sweep(xla::HloModule* module, const Rule& rule,
                              const std::vector<Rewrite>& places) {
  absl::flat_hash_map<std::string, Waiting> waiting = ByComputation(*module, places);
  int64_t count = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (xla::HloComputation* computation : module->MakeNonfusionComputations()) {
      auto it = waiting.find(computation->name());
      if (it == waiting.end() || it->second.empty()) continue;
      absl::StatusOr<bool> applied = ApplyNext(rule, computation, it->second);
      if (!applied.ok()) return applied.status();
      if (!*applied) continue;
      ++count;
      changed = true;
      module->Cleanup();
      break;  // the change may have removed other computations
    }
  }
  return count;
}

}  // namespace hlograph
