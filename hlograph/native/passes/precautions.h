// Instructions of valid modules on which some of XLA's passes abort.
#ifndef HLOGRAPH_NATIVE_PASSES_PRECAUTIONS_H_
#define HLOGRAPH_NATIVE_PASSES_PRECAUTIONS_H_

#include <cstdint>

namespace xla {
class HloInstruction;
class HloModule;
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

// True for a reduce-window of single elements whose padding crops the operand and pads nowhere.
// AlgebraicSimplifier replaces it by an array of the operand's shape, which is a failed check.
bool IsCroppingWindow(const xla::HloInstruction& instruction);

// True for a reduce-window or convolution that pads a side on which a pad crops its operand.
// AlgebraicSimplifier adds the two, and so reads what was cropped.
bool PadsWhatIsCropped(const xla::HloInstruction& instruction);

// True if an index is a constant, one of a table of constants, or clamped to constants, and lies
// from 0 to the largest one.
bool IsInRange(const xla::HloInstruction* index, int64_t largest);

// True for a dynamic slice of a dynamic slice, or a dynamic update of one, some of whose indices
// may be out of range. AlgebraicSimplifier joins the two without clamping them.
bool SlicesSliceUnclamped(const xla::HloInstruction& instruction);

// True for a loop that runs once and XLA counts no iteration of, or the other way round, as where
// the step passes the bound. WhileLoopSimplifier replaces it by the wrong values.
bool IsMiscountedLoop(const xla::HloInstruction& instruction);

// The number of instructions of the largest computation of a module, with all computations that it
// calls, once for each call by an instruction that `copies_callees` holds for. Calls double it at
// each level where a computation calls another one twice, so it may be as large as a double can be.
double InstructionsWithCopies(const xla::HloModule& module,
                              bool (*copies_callees)(const xla::HloInstruction& instruction));

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PASSES_PRECAUTIONS_H_
