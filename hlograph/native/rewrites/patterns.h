// Building blocks of the patterns of our own rules.
//
// Modules need not be valid HLO, so these functions check shapes as well.
#ifndef HLOGRAPH_NATIVE_REWRITES_PATTERNS_H_
#define HLOGRAPH_NATIVE_REWRITES_PATTERNS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

using Instruction = xla::HloInstruction;

// Returns true if the number of elements of a few such arrays fits into an int64.
bool IsCountable(absl::Span<const int64_t> dimensions);

// Returns true if a rule may replace an instruction by one with the same attributes: its value is
// an array of fixed size, and it has no control dependencies, sharding or other annotations to
// move.
bool IsPlain(const Instruction* instruction);

// Returns true for element types whose sums and products form a ring, up to rounding.
bool IsRing(xla::PrimitiveType type);

// Return true if two values have the same element type and dimensions, or the same element type.
bool SameArray(const Instruction* one, const Instruction* two);
bool SameType(const Instruction* one, const Instruction* two);

// How far IsComputedAlike reads: hops to operands.
inline constexpr int kAlikeReach = 7;

// Returns true if two values are computed alike from the same ones, without side effects. JAX
// computes indices anew for each use.
bool IsComputedAlike(const Instruction* one, const Instruction* two, int hops = 0);

// Returns true if two shapes have the same dimensions, except for one.
bool SameElsewhere(const xla::Shape& one, const xla::Shape& two, int64_t dimension);

// Return true for plain instructions of these kinds.
bool IsConcatenate(const Instruction* instruction);  // of two or more
bool IsBroadcast(const Instruction* instruction);
bool IsRearrangement(const Instruction* instruction);  // transpose or reshape
bool IsSlice(const Instruction* instruction);
// Elementwise operation on arrays of one shape, without attributes.
bool IsPointwise(const Instruction* instruction);
// Broadcast of a scalar: all elements are equal, so it can be rebuilt in any shape.
bool IsUniform(const Instruction* instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_PATTERNS_H_
