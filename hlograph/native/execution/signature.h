// The parameters and results of a module, and their arrays as bytes in row-major order.
#ifndef HLOGRAPH_NATIVE_EXECUTION_SIGNATURE_H_
#define HLOGRAPH_NATIVE_EXECUTION_SIGNATURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// An array among the leaves of the parameters or of the result. `index` leads to
// it: for a parameter its number first, then positions in nested tuples.
struct ArraySpec {
  std::string element_type;   // XLA's name, such as "f32"
  std::vector<int64_t> dims;  // from major to minor, as the elements lie in memory
  std::vector<int64_t> index;
  int64_t byte_size = 0;  // types of less than a byte take one byte an element
};

// The leaves of all parameters, in order, and of the result.
struct Signature {
  std::vector<ArraySpec> parameters;
  std::vector<ArraySpec> results;
};

// Returns the signature of a module. Returns an error that names shapes without a
// fixed number of elements: dynamic dimensions, tokens, opaque values.
absl::StatusOr<Signature> SignatureOf(const xla::HloModule& module);

// Returns the shapes of the parameters, every array row-major.
std::vector<xla::Shape> ParameterShapes(const xla::HloModule& module);

// Returns one literal for each parameter, filled from the byte strings of its leaves.
absl::StatusOr<std::vector<xla::Literal>> MakeLiterals(absl::Span<const xla::Shape> shapes,
                                                       const Signature& signature,
                                                       absl::Span<const absl::string_view> inputs);

// Returns the bytes of the arrays in a literal, row-major.
std::vector<std::string> LeafBytes(const xla::Literal& result);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_SIGNATURE_H_
