// Arrays that repeat and rearrange others.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_VIEWS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_VIEWS_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// How far IsEqualAlong reads: hops to operands.
inline constexpr int kEqualAlongReach = 8;

// What an array reads of another one: its broadcast, transposed, with dimensions of size one.
struct View {
  explicit View(const Instruction* array);

  const Instruction* source;
  std::vector<int64_t> dimensions;  // of the array, by dimension of the source; -1 of size one
};

// Goes on to the operand of a broadcast, of a transpose, or of a reshape that adds and drops
// dimensions of size one. Returns false if the source is none of these.
bool StepToOperand(View& view);

// Returns true if all elements along a dimension are equal, for they are computed alike from
// broadcasts.
bool IsEqualAlong(const Instruction* array, int64_t dimension);

// Returns true if all elements are this integer: a constant that is broadcast and converted. Reads
// four hops to operands.
bool HasOnly(const Instruction* array, int64_t value);

// Builds the first elements along a dimension, without the dimension.
Instruction* FirstAlong(const Builder& build, Instruction* array, int64_t dimension);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_VIEWS_H_
