// Reads and updates of single elements of arrays, as JAX writes `x[i, j]` and `x.at[i, j].set(y)`.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_ELEMENT_UPDATES_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_ELEMENT_UPDATES_H_

#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// Returns true for a valid dynamic slice of one element.
bool IsElementRead(const Instruction* slice);

// Returns true for a valid update of one element: a slice of one element, or a scatter that sets it
// or adds to it, multiplies it, or takes a maximum or minimum.
bool IsElementUpdate(const Instruction* update);

// The operands that say where an update is.
std::vector<Instruction*> UpdateIndices(const Instruction* update);

// An index along each dimension, as 64-bit integers.
using ElementPlace = std::vector<Instruction*>;

// The place that an element is read from, inside of the array.
ElementPlace PlaceOfRead(const Builder& build, const Instruction* slice);

// The place of an update with these indices. Where that of a scatter is outside of the array, it
// changes nothing; other updates are inside.
ElementPlace PlaceOfUpdate(const Builder& build, const Instruction* update,
                           absl::Span<Instruction* const> indices);

// The scalar that is true if two places are the same.
Instruction* IsSamePlace(const Builder& build, const ElementPlace& one, const ElementPlace& other);

// Returns true if an update is where another one with these indices is, for they are computed
// alike.
bool IsUpdatedAt(const Instruction* update, const Instruction* other,
                 absl::Span<Instruction* const> indices);

// What an update makes of an old element, which has the shape that a read gives it.
Instruction* UpdatedElement(const Builder& build, const Instruction* update, Instruction* old);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_ELEMENT_UPDATES_H_
