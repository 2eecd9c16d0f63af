// Traits of an instruction that follow from its attributes alone.
#ifndef HLOGRAPH_NATIVE_GRAPH_OWN_TRAITS_H_
#define HLOGRAPH_NATIVE_GRAPH_OWN_TRAITS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/instruction_attributes.h"

namespace hlograph {

// As bits, see traits.h.
uint32_t TraitsOfInts(AttributeKey key, absl::Span<const int64_t> values);
uint32_t TraitsOfText(AttributeKey key, absl::string_view text);
// Of the permutation of a transpose to dimensions of the sizes `dims`.
uint32_t TraitsOfTranspose(absl::Span<const int64_t> permutation, absl::Span<const int64_t> dims);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_OWN_TRAITS_H_
