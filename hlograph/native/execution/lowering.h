// XLA:CPU's compilation, stopped before fusion and continued after it.
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

// Returns a copy that compiles as the program of one device, without donated arguments, and with
// row-major parameters and results.
std::unique_ptr<xla::HloModule> ForOneDevice(const xla::HloModule& module);

// Returns a module as XLA:CPU's compiler has it before fusion, as the program of one device:
// expanded, simplified, with layouts. Leaves out what the compiler does after fusion and may do
// only once.
absl::StatusOr<std::unique_ptr<xla::HloModule>> LowerForFusion(const xla::HloModule& module);

// Replaces loop fusions by their instructions, so that XLA:CPU's compiler chooses the fusions. The
// compiler ends the process if it has to assign layouts to a fusion with several results.
absl::Status Unfuse(xla::HloModule* module);

// Returns an error unless a module comes from LowerForFusion, and XLA:CPU's code generator supports
// the instructions inside its fusions. The code generator ends the process on others.
absl::Status CheckLowered(const xla::HloModule& module);

// Makes XLA:CPU's compiler run only the passes that it needs after fusion, and none that changes
// fusions.
void KeepFusions(xla::DebugOptions& options);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_LOWERING_H_
