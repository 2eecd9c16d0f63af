// The elements of a literal as an attribute.
#ifndef HLOGRAPH_NATIVE_GRAPH_LITERALS_H_
#define HLOGRAPH_NATIVE_GRAPH_LITERALS_H_

#include <cstdint>

#include "hlograph/native/graph/instruction_attributes.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Literals of more elements are reported only if all elements are equal.
inline constexpr int64_t kMaxLiteralElements = 16;

// Reports the literal of a constant, if it is a small or uniform array of numbers.
void VisitLiteral(const xla::HloInstruction& instruction, AttributeSink& sink);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_LITERALS_H_
