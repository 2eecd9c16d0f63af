#include "hlograph/native/rewrites/forms/binary_search.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/choices.h"
#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

constexpr int kMaxForwards = 6;

// What reshapes are of.
const Instruction* Unreshaped(const Instruction* array) {
  array = Forwarded(array);
  for (int i = 0; i < kMaxForwards && array->opcode() == Opcode::kReshape; ++i) {
    if (!IsRearrangement(array)) break;
    array = Forwarded(array->operand(0));
  }
  return array;
}

// What reshapes and converts of places are of, which have at most 31 bits.
const Instruction* PlacesOf(const Instruction* array) {
  for (int i = 0; i < kMaxForwards; ++i) {
    array = Unreshaped(array);
    const bool is_convert =
        array->opcode() == Opcode::kConvert && IsPointwise(array) &&
        xla::primitive_util::IsIntegralType(array->shape().element_type()) &&
        xla::primitive_util::IsIntegralType(array->operand(0)->shape().element_type()) &&
        xla::primitive_util::BitWidth(array->shape().element_type()) >= 32;
    if (!is_convert) break;
    array = array->operand(0);
  }
  return array;
}

// Returns true for single elements of a vector, one for each index; or of one vector for each index
// of leading dimensions, which the indices have, too.
bool TakesElements(const Instruction* gather) {
  if (gather->opcode() != Opcode::kGather || !IsPlain(gather)) return false;
  const xla::Shape& vectors = gather->operand(0)->shape();
  const xla::Shape& indices = gather->operand(1)->shape();
  if (!vectors.IsArray() || !indices.IsArray() || !SameType(gather, gather->operand(0)) ||
      SizeOf(gather) != SizeOf(gather->operand(1)) || RankOf(gather->operand(0)) == 0) {
    return false;
  }
  const auto& numbers = gather->gather_dimension_numbers();
  const int64_t leading = RankOf(gather->operand(0)) - 1;
  const auto are_leading = [&](const auto& dimensions, const xla::Shape& shape) {
    if (dimensions.size() != leading || shape.dimensions().size() < leading) return false;
    for (int64_t i = 0; i < leading; ++i) {
      if (dimensions[i] != i || shape.dimensions(i) != vectors.dimensions(i)) return false;
    }
    return true;
  };
  return absl::c_all_of(gather->gather_slice_sizes(), [](int64_t size) { return size == 1; }) &&
         numbers.start_index_map_size() == 1 && numbers.start_index_map(0) == leading &&
         are_leading(numbers.operand_batching_dims(), vectors) &&
         are_leading(numbers.start_indices_batching_dims(), indices) &&
         numbers.index_vector_dim() >= leading;
}

// The body of a loop, whose elements are found by the values of the others.
class SearchBody {
 public:
  explicit SearchBody(const CountedLoop& loop)
      : loop_(loop), parameter_(loop.body()->parameter_instruction(0)) {}

  // `high` is the element that ends as the place of each value.
  std::optional<BinarySearch> Find(int64_t high) const {
    const Instruction* const result = loop_.results[high];
    if (result->opcode() != Opcode::kSelect || !IsPointwise(result) ||
        Element(result->operand(2)) != high) {
      return std::nullopt;
    }
    const Instruction* const goes_left = Forwarded(result->operand(0));
    const Instruction* const middle = Forwarded(result->operand(1));
    const std::optional<int64_t> low = LowOf(middle, high);
    if (!low.has_value() || !IsOtherHalf(loop_.results[*low], goes_left, *low, middle)) {
      return std::nullopt;
    }
    BinarySearch search;
    search.high = high;
    search.low = *low;
    search.steps = loop_.trips;
    const bool is_search =
        FindEdgesAndValues(goes_left, middle, search) && HasSearchedTypes(search) && Begins(search);
    return is_search ? std::optional(search) : std::nullopt;
  }

 private:
  int64_t Element(const Instruction* value) const {
    return ElementOf(Forwarded(value), parameter_);
  }

  // The lower end, if `middle` is in the middle of both ends.
  std::optional<int64_t> LowOf(const Instruction* middle, int64_t high) const {
    if (middle->opcode() != Opcode::kAdd || !IsPointwise(middle)) return std::nullopt;
    const int64_t low = Element(middle->operand(0));
    const Instruction* const half = Forwarded(middle->operand(1));
    if (low < 0 || low == high || half->opcode() != Opcode::kDivide || !IsPointwise(half) ||
        !HasOnly(half->operand(1), 2)) {
      return std::nullopt;
    }
    const Instruction* const width = Forwarded(half->operand(0));
    const bool is_width = width->opcode() == Opcode::kSubtract && IsPointwise(width) &&
                          Element(width->operand(0)) == high && Element(width->operand(1)) == low;
    return is_width ? std::optional(low) : std::nullopt;
  }

  bool IsOtherHalf(const Instruction* result, const Instruction* goes_left, int64_t low,
                   const Instruction* middle) const {
    return result->opcode() == Opcode::kSelect && IsPointwise(result) &&
           Forwarded(result->operand(0)) == goes_left && Element(result->operand(1)) == low &&
           Forwarded(result->operand(2)) == middle;
  }

  // Finds what is compared in values < edges[middle], or <=, and does not change in the loop.
  bool FindEdgesAndValues(const Instruction* compare, const Instruction* middle,
                          BinarySearch& search) const {
    if (compare->opcode() != Opcode::kCompare || !IsPlain(compare)) return false;
    search.includes_equal = compare->comparison_direction() == Direction::kLt;
    if (!search.includes_equal && compare->comparison_direction() != Direction::kLe) return false;
    const ComparedNumber value = FindComparedNumber(compare->operand(0));
    const ComparedNumber edge = FindComparedNumber(compare->operand(1));
    const bool are_canonical = value.is_canonical() && edge.is_canonical();
    const bool are_numbers = IsInteger(edge.number->shape().element_type()) ||
                             ComparesNumbers(compare, compare->comparison_direction());
    if (!are_numbers && !are_canonical) return false;
    search.orders_nans = !are_numbers;
    const Instruction* const gather = Unreshaped(edge.number);
    if (!TakesElements(gather) || PlacesOf(gather->operand(1)) != middle) return false;
    search.edges = Element(gather->operand(0));
    search.values = Element(value.number);
    return search.edges >= 0 && search.values >= 0 && IsInvariant(loop_, search.edges) &&
           IsInvariant(loop_, search.values);
  }

  // Returns true for numbers of the same type, with a place for each value, and vectors of edges
  // for the same leading dimensions.
  bool HasSearchedTypes(const BinarySearch& search) const {
    const xla::Shape& values = loop_.loop->shape().tuple_shapes(search.values);
    const xla::Shape& edges = loop_.loop->shape().tuple_shapes(search.edges);
    const xla::Shape& ends = loop_.loop->shape().tuple_shapes(search.high);
    const xla::PrimitiveType type = values.element_type();
    const size_t leading = edges.dimensions().size() - 1;
    if (values.dimensions().size() < leading ||
        values.dimensions().subspan(0, leading) != edges.dimensions().subspan(0, leading)) {
      return false;
    }
    return type == edges.element_type() && (IsFloat(type) || IsInteger(type)) &&
           xla::primitive_util::BitWidth(type) >= 16 && IsInteger(ends.element_type()) &&
           xla::ShapeUtil::SameDimensions(values, ends);
  }

  // Returns true if the loop begins with all edges, and ends with one place.
  bool Begins(const BinarySearch& search) const {
    const Instruction* const initial = loop_.loop->operand(0);
    const int64_t count = loop_.loop->shape().tuple_shapes(search.edges).dimensions().back();
    return initial->opcode() == Opcode::kTuple && HasOnly(initial->operand(search.low), 0) &&
           HasOnly(initial->operand(search.high), count) && loop_.trips < 63 &&
           int64_t{1} << loop_.trips > count;
  }

  const CountedLoop& loop_;
  const Instruction* parameter_;
};

}  // namespace

std::optional<BinarySearch> FindBinarySearch(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kWhile) return std::nullopt;
  const std::optional<CountedLoop> loop = FindCountedLoop(instruction);
  if (!loop.has_value()) return std::nullopt;
  const std::optional<int64_t> used = OnlyUsedElement(*loop);
  return used.has_value() ? SearchBody(*loop).Find(*used) : std::nullopt;
}

}  // namespace hlograph
