// One rule, applied at all places of a module where it applies now.
#ifndef HLOGRAPH_NATIVE_REWRITES_SWEEP_H_
#define HLOGRAPH_NATIVE_REWRITES_SWEEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/rewrites.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// Applies a rule at places of a module, in the order of the module, and returns at how many. A
// place where it does not apply any more, after those before it, is left out; what the rule makes
// is left alone. After an error the module must not be used again.
absl::StatusOr<int64_t> Sweep(xla::HloModule* module, const Rule& rule,
                              const std::vector<Rewrite>& places);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_SWEEP_H_
