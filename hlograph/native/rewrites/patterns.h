// What the patterns of our own rules are made of.
//
// Text may be parsed that is not valid HLO: what is said here of an instruction holds for its
// shapes, too.
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

// Whether the elements, and those of a few such arrays, can be counted.
bool IsCountable(absl::Span<const int64_t> dimensions);

// Whether a rule may take an instruction away and build the like of it: its value is an array of
// a fixed size, and nothing is attached to it that would have to go somewhere.
bool IsPlain(const Instruction* instruction);

// Whether sums and products of a type are those of a ring, up to rounding.
bool IsRing(xla::PrimitiveType type);

// The same element type and dimensions.
bool SameArray(const Instruction* one, const Instruction* two);
bool SameType(const Instruction* one, const Instruction* two);

// The same dimensions but for one.
bool SameElsewhere(const xla::Shape& one, const xla::Shape& two, int64_t dimension);

// These are plain as well.
bool IsConcatenate(const Instruction* instruction);  // of two or more
bool IsBroadcast(const Instruction* instruction);
bool IsRearrangement(const Instruction* instruction);  // transpose or reshape
// Of arrays of one shape, element by element; without attributes.
bool IsPointwise(const Instruction* instruction);
// Whether all elements are one scalar: such an operand can have any shape.
bool IsUniform(const Instruction* instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_PATTERNS_H_
