// Functions that stand for custom calls whose code XLA does not have.
#ifndef HLOGRAPH_NATIVE_EXECUTION_ARBITRARY_FUNCTION_H_
#define HLOGRAPH_NATIVE_EXECUTION_ARBITRARY_FUNCTION_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/literal.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// The result of a custom call, for the reference evaluator.
//
// No pass knows what a custom call computes, so two modules are equal only if
// they are equal whatever it computes: any function of the operands will do, as
// an uninterpreted function does in translation validation. This one is smooth,
// so that rounding errors of the operands stay small; depends on every element
// of every operand, on its place and on the call's target and configuration; has
// values in (0.1, 0.9), which logarithms and divisions take; and gives NaN if an
// operand has one. Integers and predicates are 0: status codes and pivots that
// say that all went well.
//
// A sharding annotation is no function: it gives its operand. An error for calls
// with side effects and for types that have no conversion to float64.
absl::StatusOr<xla::Literal> EvaluateCustomCall(const xla::HloInstruction* call,
                                                absl::Span<const xla::Literal*> operands);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_ARBITRARY_FUNCTION_H_
