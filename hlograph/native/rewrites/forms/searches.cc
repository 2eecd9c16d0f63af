// Binary searches among many values, by arithmetic.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/choices.h"
#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

constexpr int64_t kLeastEdges = 4;
constexpr int64_t kMostEdges = int64_t{1} << 18;  // their number is exact in single precision
constexpr int kMaxForwards = 6;

// A loop that halves, for each value, the range of edges among which its place is.
struct BinarySearch {
  int64_t low = 0, high = 0;      // elements: the ends of the ranges
  int64_t edges = 0, values = 0;  // elements that do not change
  bool includes_equal = false;    // whether equal edges come before a value
};

// A number that is compared. It is canonical if there is one zero and one NaN, the greatest number.
struct ComparedNumber {
  const Instruction* number = nullptr;
  bool has_one_zero = false, has_one_nan = false;
};

// Takes select(x != x, NaN, x) and select(x == 0, 0, x) for x, in any order. Others are as they
// are.
ComparedNumber FindComparedNumber(const Instruction* number) {
  ComparedNumber result{Forwarded(number)};
  std::vector<const Instruction*> tested;
  for (int i = 0; i < 2; ++i) {
    const Instruction* const select = result.number;
    if (select->opcode() != Opcode::kSelect || !IsPointwise(select)) break;
    const Instruction* const which = Forwarded(select->operand(0));
    const Instruction* const value = Forwarded(select->operand(1));
    if (ComparesNumbers(which, Direction::kNe) && IsPositiveNan(value) &&
        Forwarded(which->operand(0)) == Forwarded(which->operand(1))) {
      result.has_one_nan = true;
    } else if (ComparesNumbers(which, Direction::kEq) && HasOnly(which->operand(1), 0) &&
               HasOnly(value, 0)) {
      result.has_one_zero = true;
    } else {
      break;
    }
    tested.push_back(Forwarded(which->operand(0)));
    result.number = Forwarded(select->operand(2));
  }
  const bool all_test_it =
      absl::c_all_of(tested, [&](const Instruction* other) { return other == result.number; });
  return all_test_it ? result : ComparedNumber{Forwarded(number)};
}

// What reshapes and converts of integers are of.
const Instruction* Source(const Instruction* array) {
  for (int i = 0; i < kMaxForwards; ++i) {
    array = Forwarded(array);
    const bool is_convert =
        array->opcode() == Opcode::kConvert && IsPointwise(array) &&
        xla::primitive_util::IsIntegralType(array->shape().element_type()) &&
        xla::primitive_util::IsIntegralType(array->operand(0)->shape().element_type()) &&
        xla::primitive_util::BitWidth(array->shape().element_type()) >= 32;
    const bool is_reshape = array->opcode() == Opcode::kReshape && IsRearrangement(array);
    if (!is_convert && !is_reshape) break;
    array = array->operand(0);
  }
  return array;
}

// Returns true for single elements of a vector, one for each index.
bool TakesElements(const Instruction* gather) {
  if (gather->opcode() != Opcode::kGather || !IsPlain(gather)) return false;
  const Instruction* const vector = gather->operand(0);
  const Instruction* const indices = gather->operand(1);
  return vector->shape().IsArray() && indices->shape().IsArray() && RankOf(vector) == 1 &&
         gather->gather_slice_sizes().size() == 1 && gather->gather_slice_sizes()[0] == 1 &&
         gather->gather_dimension_numbers().start_index_map_size() == 1 &&
         SameType(gather, vector) && SizeOf(gather) == SizeOf(indices);
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
    const bool are_canonical =
        value.has_one_zero && value.has_one_nan && edge.has_one_zero && edge.has_one_nan;
    if (!ComparesNumbers(compare, compare->comparison_direction()) && !are_canonical) return false;
    const Instruction* const gather = Source(edge.number);
    if (!TakesElements(gather) || Source(gather->operand(1)) != middle) return false;
    search.edges = Element(gather->operand(0));
    search.values = Element(value.number);
    return search.edges >= 0 && search.values >= 0 && IsInvariant(loop_, search.edges) &&
           IsInvariant(loop_, search.values);
  }

  // Returns true for floats, with a place for each value, and neither few nor too many edges.
  bool HasSearchedTypes(const BinarySearch& search) const {
    const xla::Shape& values = loop_.loop->shape().tuple_shapes(search.values);
    const xla::Shape& edges = loop_.loop->shape().tuple_shapes(search.edges);
    const xla::Shape& ends = loop_.loop->shape().tuple_shapes(search.high);
    return values.element_type() == edges.element_type() &&
           (values.element_type() == xla::F32 || values.element_type() == xla::F64) &&
           xla::ShapeUtil::SameDimensions(values, ends) && edges.dimensions(0) >= kLeastEdges &&
           edges.dimensions(0) <= kMostEdges;
  }

  // Returns true if the loop begins with all edges, and ends with one place.
  bool Begins(const BinarySearch& search) const {
    const Instruction* const initial = loop_.loop->operand(0);
    const int64_t count = loop_.loop->shape().tuple_shapes(search.edges).dimensions(0);
    return initial->opcode() == Opcode::kTuple && HasOnly(initial->operand(search.low), 0) &&
           HasOnly(initial->operand(search.high), count) && loop_.trips < 63 &&
           int64_t{1} << loop_.trips > count;
  }

  const CountedLoop& loop_;
  const Instruction* parameter_;
};

std::optional<BinarySearch> FindSearch(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kWhile || IsSlowWay(instruction->operand(0))) {
    return std::nullopt;
  }
  const std::optional<CountedLoop> loop = FindCountedLoop(instruction);
  if (!loop.has_value()) return std::nullopt;
  const std::optional<int64_t> used = OnlyUsedElement(*loop);
  return used.has_value() ? SearchBody(*loop).Find(*used) : std::nullopt;
}

// Edges at equal distances: the place of a value follows from its distance to the first edge, but
// for an error of one place, which comparisons with the edges there correct.
class SearchByArithmetic : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = 7, .users = 1}; }

 protected:
  bool Matches(const Instruction* loop) const override { return FindSearch(loop).has_value(); }

  Instruction* Build(Instruction* loop) const override {
    const BinarySearch search = *FindSearch(loop);
    Instruction* const edges = TakeElement(loop->mutable_operand(0), search.edges);
    std::vector<Instruction*> given = {edges, TakeElement(loop->mutable_operand(0), search.values)};
    const std::vector<int64_t> others = OthersOf(loop, search);
    for (int64_t i : others) given.push_back(TakeElement(loop->mutable_operand(0), i));
    Instruction* const places = AddChoice(
        loop, AreEquallySpaced(Builder(loop), edges), given,
        [&](absl::Span<Instruction* const> values) {
          return Places(values[0], values[1], loop->shape().tuple_shapes(search.high),
                        search.includes_equal);
        },
        [&](absl::Span<Instruction* const> values) {
          return Searched(loop, search, others, values);
        });
    return WithElement(loop, search.high, places);
  }

 private:
  // Elements of the loop beside edges and values; the ends are made anew.
  static std::vector<int64_t> OthersOf(const Instruction* loop, const BinarySearch& search) {
    std::vector<int64_t> others;
    for (int64_t i = 0; i < loop->operand(0)->operand_count(); ++i) {
      if (i != search.edges && i != search.values && i != search.low && i != search.high) {
        others.push_back(i);
      }
    }
    return others;
  }

  // The loop as it was.
  static Instruction* Searched(const Instruction* loop, const BinarySearch& search,
                               const std::vector<int64_t>& others,
                               absl::Span<Instruction* const> values) {
    const Builder build(values[0]);
    std::vector<Instruction*> elements(loop->operand(0)->operand_count());
    elements[search.edges] = values[0];
    elements[search.values] = values[1];
    for (size_t i = 0; i < others.size(); ++i) elements[others[i]] = values[2 + i];
    elements[search.low] = build.Uniform(loop->shape().tuple_shapes(search.low), 0);
    elements[search.high] = build.Uniform(loop->shape().tuple_shapes(search.high),
                                          static_cast<double>(SizeOf(values[0])));
    Instruction* const initial = values[0]->AddInstruction(Instruction::CreateTuple(elements));
    Instruction* const copy = values[0]->AddInstruction(Instruction::CreateWhile(
        loop->shape(), loop->while_condition(), loop->while_body(), initial));
    return build.Element(copy, search.high);
  }

  static Instruction* First(const Builder& build, Instruction* edges) {
    return build.Reshape(build.SliceOf(edges, 0, 0, 1), {});
  }

  static Instruction* Last(const Builder& build, Instruction* edges) {
    const int64_t count = SizeOf(edges);
    return build.Reshape(build.SliceOf(edges, 0, count - 1, count), {});
  }

  // Number of distances for each unit.
  static Instruction* Scale(const Builder& build, Instruction* edges) {
    Instruction* const distances =
        build.Scalar(edges->shape().element_type(), static_cast<double>(SizeOf(edges) - 1));
    return build.Binary(Opcode::kDivide, distances,
                        build.Binary(Opcode::kSubtract, Last(build, edges), First(build, edges)));
  }

  // The scalar that is true if each edge is less than a quarter of the distance away from where it
  // would be at equal distances, and the distance is more than four times the spacing of numbers.
  static Instruction* AreEquallySpaced(const Builder& build, Instruction* edges) {
    const xla::Shape& shape = edges->shape();
    const auto count = static_cast<double>(SizeOf(edges) - 1);
    const double epsilon = shape.element_type() == xla::F32 ? 0x1p-23 : 0x1p-52;
    const auto spread = [&](Instruction* scalar) {
      return build.Broadcast(scalar, shape.dimensions(), {});
    };
    const auto scaled = [&](Instruction* array, double by) {
      return build.Binary(Opcode::kMultiply, array, build.Uniform(array->shape(), by));
    };
    Instruction* const first = First(build, edges);
    Instruction* const width = build.Binary(Opcode::kSubtract, Last(build, edges), first);
    Instruction* const distance =
        spread(build.Binary(Opcode::kDivide, width, build.Scalar(shape.element_type(), count)));
    Instruction* const equal =
        build.Binary(Opcode::kAdd, spread(first),
                     build.Binary(Opcode::kMultiply, build.Iota(shape, 0), distance));
    Instruction* const error =
        build.Unary(Opcode::kAbs, build.Binary(Opcode::kSubtract, edges, equal));
    Instruction* const is_near = build.Compare(error, scaled(distance, 0.25), Direction::kLt);
    Instruction* const is_wide = build.Compare(
        scaled(build.Unary(Opcode::kAbs, edges), 4 * epsilon), distance, Direction::kLt);
    // The scale does not overflow, and is not so small that it becomes zero.
    Instruction* const scale = spread(Scale(build, edges));
    Instruction* const is_usual =
        build.Binary(Opcode::kAnd, build.Compare(scale, build.Uniform(shape, 1e30), Direction::kLt),
                     build.Compare(scale, build.Uniform(shape, 1e-30), Direction::kGt));
    return build.All(
        build.Binary(Opcode::kAnd, build.Binary(Opcode::kAnd, is_near, is_wide), is_usual));
  }

  static Instruction* Places(Instruction* edges, Instruction* values, const xla::Shape& shape,
                             bool includes_equal) {
    const Builder build(edges);
    const int64_t count = SizeOf(edges);
    Instruction* const flat = build.Reshape(values, {SizeOf(values)});
    const auto spread = [&](Instruction* scalar) {
      return build.Broadcast(scalar, flat->shape().dimensions(), {});
    };
    Instruction* const most = build.Uniform(flat->shape(), static_cast<double>(count - 2));
    Instruction* const from_first =
        build.Binary(Opcode::kSubtract, flat, spread(First(build, edges)));
    Instruction* const scaled =
        build.Binary(Opcode::kMultiply, from_first, spread(Scale(build, edges)));
    // NaNs and what is not below the last edge are after all.
    Instruction* guess =
        build.Select(build.Compare(flat, spread(Last(build, edges)), Direction::kLt), scaled, most);
    guess = build.Binary(Opcode::kMaximum, guess, build.Uniform(flat->shape(), 0));
    guess = build.Convert(build.Binary(Opcode::kMinimum, guess, most), xla::S32);
    const auto plus = [&](int64_t number) {
      return build.Binary(Opcode::kAdd, guess,
                          build.Uniform(guess->shape(), static_cast<double>(number)));
    };
    const auto is_before = [&](Instruction* index) {
      Instruction* const column = build.Reshape(edges, {count, 1});
      Instruction* const edge =
          build.Reshape(GatherRows(build, column, index), flat->shape().dimensions());
      return build.Compare(flat, edge, includes_equal ? Direction::kLt : Direction::kLe);
    };
    Instruction* const next = plus(1);
    Instruction* const place =
        build.Select(is_before(guess), guess, build.Select(is_before(next), next, plus(2)));
    return build.Convert(build.Reshape(place, shape.dimensions()), shape.element_type());
  }
};

}  // namespace

const RuleTopic kSearchForms(336, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SearchByArithmetic>(
      Identity{"search-by-arithmetic", "search(x, e) = ⌊(x - e₀) / d⌋, corrected by e",
               "Computes the places of numbers among edges at equal distances, as of a histogram, "
               "by a division, where all edges have these distances.",
               Numerics::kExact}));
});

}  // namespace hlograph
