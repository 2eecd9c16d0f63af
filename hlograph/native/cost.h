// XLA's own cost model of a module.
#ifndef HLOGRAPH_NATIVE_COST_H_
#define HLOGRAPH_NATIVE_COST_H_

#include "absl/status/statusor.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

struct Cost {
  double flops = 0;
  double transcendentals = 0;
  double bytes_accessed = 0;
};

// xla::HloCostAnalysis of the entry computation; opaque values and tuples
// count as one pointer of 8 bytes.
absl::StatusOr<Cost> AnalyzeCost(const xla::HloModule& module);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_COST_H_
