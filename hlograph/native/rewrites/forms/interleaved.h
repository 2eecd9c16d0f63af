// Arrays that are interleaved of two others, as JAX joins the levels of an associative scan.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_INTERLEAVED_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_INTERLEAVED_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// An array whose elements at even and odd indices of a dimension are those of two others.
struct Interleaved {
  int64_t dimension = 0;
  const Instruction* even = nullptr;
  const Instruction* odd = nullptr;
};

// None unless an array is the sum or disjunction of two, each spread with zeros between.
std::optional<Interleaved> FindInterleaved(const Instruction* joined);

// The array whose first element, along the dimension, an interleaved array begins with; and what
// follows at even indices, if anything does. Null if several arrays follow.
std::pair<const Instruction*, const Instruction*> SplitEven(const Interleaved& parts);

// The size of a dimension.
int64_t SizeAlong(const Instruction* array, int64_t dimension);

// Returns true for a slice of elements along one dimension, and of all along the others.
bool IsAlong(const Instruction* slice, int64_t dimension);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_INTERLEAVED_H_
