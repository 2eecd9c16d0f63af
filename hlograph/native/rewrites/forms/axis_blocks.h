// Which part of its operands an instruction reads for a block of one dimension of its result.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_AXIS_BLOCKS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_AXIS_BLOCKS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hlograph {

// Dimension of which a block is computed; kWholeArray if all of the array is.
inline constexpr int64_t kWholeArray = -1;

// Returns, for each operand, the dimension along which an instruction reads the block alone that it
// computes along `dimension`; none if it reads other elements, or is of another kind than pointwise
// operations, rearrangements, slices, updates, sums and products of batches. With kWholeArray, the
// instruction reads all of its operands, and none says that it cannot be copied.
std::optional<std::vector<int64_t>> OperandDimensions(const Instruction* instruction,
                                                      int64_t dimension);

// Returns the instruction for a block of `size` elements along `dimension`, or for the whole array,
// with operands for which OperandDimensions holds. The caller adds it to a computation.
std::unique_ptr<Instruction> CloneForBlock(const Instruction* instruction, int64_t dimension,
                                           int64_t size, absl::Span<Instruction* const> operands);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_AXIS_BLOCKS_H_
