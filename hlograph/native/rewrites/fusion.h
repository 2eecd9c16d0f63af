// Fusion of two instructions, by XLA:CPU's own passes: whether it is legal, and doing it.
//
// Of what XLA's passes ask, only legality is asked here: that the result is the same, and that
// XLA:CPU's code generator takes the fusion. Whether it pays is for whoever chooses.
#ifndef HLOGRAPH_NATIVE_REWRITES_FUSION_H_
#define HLOGRAPH_NATIVE_REWRITES_FUSION_H_

#include "absl/status/status.h"

namespace xla {
class HloComputation;
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Whether a computation's instructions run one after the other, as kernels: not what a reduction,
// a sort or a fusion applies to single elements.
bool HasSteps(const xla::HloComputation& computation);

// Whether a producer can be computed inside a consumer that uses it, and so again for each
// consumer where there are several.
bool CanFuse(xla::HloInstruction* producer, xla::HloInstruction* consumer);

// Whether one kernel can compute two instructions, each once, and have both as results: both can
// be results of a kernel, they have the same shape, and nothing has to run between them.
bool CanBeOutput(xla::HloInstruction* instruction);
bool HaveSameShape(xla::HloInstruction* first, xla::HloInstruction* second);
// The second may use the first, but nothing in between may; walks the computation.
bool AreApart(const xla::HloInstruction* first, const xla::HloInstruction* second);

// Fuses, where the above say that it can be done. The fusion is a new instruction, with the name
// of the consumer or of the second one, which it stands for.
absl::Status Fuse(xla::HloInstruction* producer, xla::HloInstruction* consumer);
absl::Status FuseOutputs(xla::HloInstruction* first, xla::HloInstruction* second);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FUSION_H_
