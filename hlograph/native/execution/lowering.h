// XLA:CPU's compilation, stopped before fusion and taken up again after it.
#ifndef HLOGRAPH_NATIVE_EXECUTION_LOWERING_H_
#define HLOGRAPH_NATIVE_EXECUTION_LOWERING_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace xla {
class DebugOptions;
class HloModule;
}  // namespace xla

namespace hlograph {

// A copy that compiles as the program of one device, with nothing donated and all arrays row-major
// at the boundary.
std::unique_ptr<xla::HloModule> ForOneDevice(const xla::HloModule& module);

// What XLA:CPU's compiler makes of a module up to fusion, as the program of one device: expanded,
// simplified, laid out. What it does after fusion, and may do once only, is left out.
absl::StatusOr<std::unique_ptr<xla::HloModule>> LowerForFusion(const xla::HloModule& module);

// Puts what loop fusions compute in their place, for XLA:CPU's compiler to fuse. It ends the
// process where it is to lay out one that has several results.
absl::Status Unfuse(xla::HloModule* module);

// Whether a module is one of LowerForFusion's, and XLA:CPU's code generator has code for what is
// inside of its fusions: it ends the process where it has none.
absl::Status CheckLowered(const xla::HloModule& module);

// Has XLA:CPU's compiler run on such a module what it strictly needs after fusion, and nothing that
// changes fusions.
void KeepFusions(xla::DebugOptions& options);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_LOWERING_H_
