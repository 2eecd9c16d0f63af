// Integers that are ordered as the elements of an array are.
//
// XLA:CPU sorts integers by a plain comparison with inlined code, but calls a function for each
// comparison of jax.lax.sort's floats: that makes -0 and 0 equal, and puts NaNs last.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_INTEGER_KEYS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_INTEGER_KEYS_H_

#include <cstdint>

#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

// Longest row whose positions fit into the lower half of a packed key, with room to spare.
constexpr int64_t kMaxRow = int64_t{1} << 30;

// Returns true if arrays of this type have integer keys of at most that many bits.
bool HasKeys(xla::PrimitiveType type, int bits);

// Adds signed integers of the elements' width. They are ordered as `order` says, ascending, and are
// equal where the elements are.
Instruction* AddKeys(const Builder& builder, Instruction* elements, const SortOrder& order);
// Adds such keys, but that of -0 comes before that of 0 also if the order has both as equal, so
// that the elements keep their signs.
Instruction* AddKeysOfSigns(const Builder& builder, Instruction* elements, const SortOrder& order);
// Adds the elements that have these keys; each NaN is the usual one if the order has all as equal,
// and so is each zero unless the keys are of signs.
Instruction* AddElements(const Builder& builder, Instruction* keys, xla::PrimitiveType type,
                         const SortOrder& order);

// Adds an integer array of one value.
Instruction* AddUniform(const Builder& builder, const xla::Shape& shape, int64_t value);

// Adds a sort of one array of signed integers, the least first.
Instruction* AddIntegerSort(const Builder& builder, Instruction* keys, int64_t dimension);

// Adds a sort of 64-bit integers: a key of at most 32 bits in the upper half, and the position
// along the dimension in the lower one, so that equal keys stay in their order.
Instruction* AddPackedSort(const Builder& builder, Instruction* keys, int64_t dimension);
// Adds what packed integers hold: positions as s32, and keys of that type.
Instruction* AddPositions(const Builder& builder, Instruction* packed);
Instruction* AddPackedKeys(const Builder& builder, Instruction* packed, xla::PrimitiveType type);

// Adds the elements of the rows of a matrix at positions of the same rows.
Instruction* AddTakeAlong(const Builder& builder, Instruction* matrix, Instruction* positions);

// Adds the array with one dimension moved to the end, and the inverse.
Instruction* AddMoveToEnd(const Builder& builder, Instruction* array, int64_t dimension);
Instruction* AddMoveFromEnd(const Builder& builder, Instruction* array, int64_t dimension);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_INTEGER_KEYS_H_
