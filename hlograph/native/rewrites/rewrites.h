// The rewrites that apply to a module now, and applying one of them.
#ifndef HLOGRAPH_NATIVE_REWRITES_REWRITES_H_
#define HLOGRAPH_NATIVE_REWRITES_REWRITES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// A rule at a place, and what it would change.
struct Rewrite {
  const Rule* rule = nullptr;
  std::string instruction;
  std::string other;  // of a pair, or empty
  int64_t added = 0;  // instructions
  int64_t removed = 0;
  double flops = 0;  // of the new ones less of the old ones
  double bytes = 0;
  std::vector<std::string> gone;  // names of the instructions that it removes
};

// All rewrites by these rules, in the order of the rules and then of the instructions.
//
// Each whose outcome is not known was tried, on a copy of the module that many share: one whose
// surroundings another has touched waits for the next copy. With `alone` each has a copy for
// itself, which takes as many clones as there are rewrites and is there to check the other against.
std::vector<Rewrite> FindRewrites(const xla::HloModule& module,
                                  const std::vector<const Rule*>& rules, bool alone,
                                  Outcomes& outcomes);

// What FindRewrites tries, untried: rules and places alone. Where a rule proposes only what
// applies, as those of fusion do, these are the rewrites.
std::vector<Rewrite> ProposeRewrites(const xla::HloModule& module,
                                     const std::vector<const Rule*>& rules);

// Applies a rule at the instructions of these names. False: it does not apply there, or there is
// no such instruction; the module is then as it was, but for instructions without users.
absl::StatusOr<bool> ApplyRewrite(xla::HloModule* module, const Rule& rule,
                                  const std::string& instruction, const std::string& other);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_REWRITES_H_
