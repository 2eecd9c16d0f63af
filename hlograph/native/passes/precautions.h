// Instructions of valid modules on which some of XLA's passes abort.
#ifndef HLOGRAPH_NATIVE_PASSES_PRECAUTIONS_H_
#define HLOGRAPH_NATIVE_PASSES_PRECAUTIONS_H_

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// True for a slice or dynamic slice without elements. AlgebraicSimplifier turns a slice of one
// element into a reshape without asking whether the slice has that element, and a reshape of one
// element to none is a failed check.
bool IsEmptySlice(const xla::HloInstruction& instruction);

// True for a dynamic slice, or its update, of a scalar, which has no indices. HloEvaluator
// reads the first one.
bool IsScalarSlice(const xla::HloInstruction& instruction);

// True for a constant whose shape has a bounded dynamic dimension. AlgebraicSimplifier cuts an
// element out of it, and reads sizes that the cut does not have.
bool IsDynamicConstant(const xla::HloInstruction& instruction);

// True for an instruction of constants alone whose shape has a bounded dynamic dimension.
// HloConstantFolding makes a constant of it whose size is not set, which cannot be printed.
bool FoldsToDynamicConstant(const xla::HloInstruction& instruction);

// True for an instruction with a dimension of any size, which DynamicPadder has no bound for.
bool HasUnboundedDimension(const xla::HloInstruction& instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PASSES_PRECAUTIONS_H_
