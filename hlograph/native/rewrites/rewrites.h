// The rewrites that apply to a module now, and applying one of them.
#ifndef HLOGRAPH_NATIVE_REWRITES_REWRITES_H_
#define HLOGRAPH_NATIVE_REWRITES_REWRITES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/module/work.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// A rule, the place where it applies, and the effect of applying it there.
struct Rewrite {
  const Rule* rule = nullptr;
  std::string instruction;
  std::string other;  // of a pair, or empty
  int64_t added = 0;  // instructions
  int64_t removed = 0;
  double flops = 0;  // of the added instructions, minus those of the removed ones
  double bytes = 0;
  std::vector<Amount> work;       // likewise, for one run of the module
  std::vector<std::string> gone;  // names of the instructions that it removes
};

// Returns all rewrites by these rules, in the order of the rules and then of the instructions.
//
// A rewrite whose outcome is not known is tried on a copy of the module. With `shared_copies` many
// rewrites are tried on one copy, and a rewrite waits for the next copy if an earlier one changed
// what its rule reads. Without, each rewrite is tried on a copy of its own. That takes as many
// clones as there are rewrites, and tests compare the two.
std::vector<Rewrite> FindRewrites(const xla::HloModule& module,
                                  const std::vector<const Rule*>& rules, bool shared_copies,
                                  Outcomes& outcomes);

// Returns the candidates of FindRewrites without trying them: only their rules and places are set.
// If a rule proposes only places where it applies, as the rules of fusion do, these are its
// rewrites.
std::vector<Rewrite> ProposeRewrites(const xla::HloModule& module,
                                     const std::vector<const Rule*>& rules);

// Applies a rule at the instructions of these names. Returns false if it does not apply there, or
// there is no such instruction. Then only instructions without users may have been added.
absl::StatusOr<bool> ApplyRewrite(xla::HloModule* module, const Rule& rule,
                                  const std::string& instruction, const std::string& other);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_REWRITES_H_
