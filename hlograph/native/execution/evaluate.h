// XLA's reference evaluator.
#ifndef HLOGRAPH_NATIVE_EXECUTION_EVALUATE_H_
#define HLOGRAPH_NATIVE_EXECUTION_EVALUATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// Runs xla::HloEvaluator, the reference interpreter, on one byte string for each
// leaf of the parameters, and returns one for each leaf of the result. Returns an
// error after `max_seconds`.
absl::StatusOr<std::vector<std::string>> Evaluate(const xla::HloModule& module,
                                                  absl::Span<const absl::string_view> inputs,
                                                  double max_seconds);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_EVALUATE_H_
