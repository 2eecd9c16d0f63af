// Fusion of two instructions, by XLA:CPU's own passes: whether it is legal, and doing it.
//
// XLA's passes check legality and profit. Only legality is checked here: the result is the same,
// and XLA:CPU's code generator accepts the fusion.
#ifndef HLOGRAPH_NATIVE_REWRITES_FUSION_H_
#define HLOGRAPH_NATIVE_REWRITES_FUSION_H_

#include "absl/status/status.h"

namespace xla {
class HloComputation;
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Returns true if a computation's instructions run one after the other, as kernels. Those that a
// reduction, a sort or a fusion applies to single elements do not.
bool HasSteps(const xla::HloComputation& computation);

// Returns true if a producer can be computed inside a consumer that uses it. With several consumers
// it is computed once in each.
bool CanFuse(xla::HloInstruction* producer, xla::HloInstruction* consumer);

// One kernel can compute two instructions, and return both, if these three are true: both can be
// results of a kernel, they have the same shape, and nothing has to run between them.
bool CanBeOutput(xla::HloInstruction* instruction);
bool HaveSameShape(xla::HloInstruction* first, xla::HloInstruction* second);
// The second may use the first, but no instruction between them may. Visits the whole computation.
bool AreApart(const xla::HloInstruction* first, const xla::HloInstruction* second);

// Fuses two instructions; expects the functions above to return true for them. The fusion is a new
// instruction with the name of the consumer or of the second instruction, which it replaces.
absl::Status Fuse(xla::HloInstruction* producer, xla::HloInstruction* consumer);
absl::Status FuseOutputs(xla::HloInstruction* first, xla::HloInstruction* second);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FUSION_H_
