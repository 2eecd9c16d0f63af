// Evaluates custom calls whose code XLA does not have.
#ifndef HLOGRAPH_NATIVE_EXECUTION_ARBITRARY_FUNCTION_H_
#define HLOGRAPH_NATIVE_EXECUTION_ARBITRARY_FUNCTION_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/literal.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Returns a result of a custom call, for the reference evaluator.
//
// No pass knows the function of a custom call. So two modules are equivalent only
// if they are equal for any function, and one arbitrary function of the operands
// can stand for it, as uninterpreted functions do in translation validation. This
// one is smooth, so that rounding errors of the operands stay small. It depends on
// every element of every operand and its position, and on the call's target and
// configuration. Its values are in (0.1, 0.9), where logarithms and divisions are
// defined, and NaN if an operand has one. Integers and predicates are 0, which
// means success as a status code.
//
// A sharding annotation returns its operand. Returns an error for calls with side
// effects and for types that have no conversion to float64.
absl::StatusOr<xla::Literal> EvaluateCustomCall(const xla::HloInstruction* call,
                                                absl::Span<const xla::Literal*> operands);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_ARBITRARY_FUNCTION_H_
