// The orders that comparators of sorts stand for.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_COMPARATORS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_COMPARATORS_H_

#include <cstdint>
#include <optional>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

// Return true for the types that sorts compare.
bool IsFloat(xla::PrimitiveType type);
bool IsInteger(xla::PrimitiveType type);

// Returns true for a comparison of floats as numbers in a direction, by the partial order. By the
// total order, a NaN would be equal to itself, and -0 would not be equal to 0.
bool ComparesNumbers(const Instruction* compare, xla::ComparisonDirection direction);

// Returns true for a scalar constant or an array that is NaN, without the sign.
bool IsPositiveNan(const Instruction* array);

// A number that is compared. It is canonical if there is one zero and one NaN, the greatest number.
struct ComparedNumber {
  const Instruction* number = nullptr;
  bool has_one_zero = false, has_one_nan = false;

  bool is_canonical() const { return has_one_zero && has_one_nan; }
};

// Takes select(x != x, NaN, x) and select(x == 0, 0, x) for x, in any order, as jax.lax.sort and
// jax.numpy.searchsorted write them. Others are as they are.
ComparedNumber FindComparedNumber(const Instruction* number);

// How a sort orders: by one of its operands.
struct SortOrder {
  int64_t key = 0;  // number of the operand
  bool descending = false;
  bool canonical = false;  // -0 equals 0, and all NaNs are equal and greater than infinity
};

// The order of a plain and valid sort of arrays of fixed size; none if it compares in another way.
std::optional<SortOrder> FindOrder(const Instruction* sort);

// Returns true for a sort that keeps the order of elements that are equal to it.
bool IsStable(const Instruction* sort);

// Returns true for a value that is equal to its position along the dimension.
bool IsPosition(const Instruction* value, int64_t dimension);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_COMPARATORS_H_
