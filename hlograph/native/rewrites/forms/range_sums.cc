// Loops whose iterations sum up, of the same numbers, those in a range of their own, as the rows of
// a sparse matrix or the bins of a histogram: each number is added to the sum of its range.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/choices.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/one_hots.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "hlograph/native/rewrites/forms/updates.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
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

constexpr int kMaxDepth = 16;          // of what an iteration computes from its sums
constexpr int64_t kMaxOtherSize = 16;  // elements of values beside what is summed
constexpr int64_t kLeastSummed = 64;

// Which numbers an iteration sums: those that are at least `low` and less than `high`.
struct Range {
  const Instruction* numbers = nullptr;  // the same in all iterations
  const Instruction* low = nullptr;
  const Instruction* high = nullptr;
};

bool IsSameArray(const Instruction* one, const Instruction* other) {
  return one == other || (one->opcode() == Opcode::kIota && one->Identical(*other));
}

bool operator==(const Range& one, const Range& other) {
  return IsSameArray(one.numbers, other.numbers) && one.low == other.low && one.high == other.high;
}

// A sum over the numbers in a range.
struct RangeSum {
  const Instruction* sum = nullptr;  // a reduction, or a dot of two vectors
  Range range;
};

// A loop that writes one element in each iteration, and what it needs for it.
struct RangeSums {
  std::vector<RangeSum> sums;
  const Instruction* value = nullptr;  // of one element
  int64_t first = 0;                   // position of the first iteration's element
};

class RangeSumFinder {
 public:
  explicit RangeSumFinder(const CountedLoop& loop)
      : loop_(loop), dependences_(loop), parameter_(loop.body()->parameter_instruction(0)) {}

  std::optional<RangeSums> Find(int64_t element) const {
    RangeSums found;
    const Instruction* const result = loop_.results[element];
    const Instruction* const index = IndexOf(result);
    if (index == nullptr || ElementOf(Forwarded(result->operand(0)), parameter_) != element) {
      return std::nullopt;
    }
    const auto place = FindAffine(loop_, index);
    if (!place.has_value() || place->slope != 1 || place->base < 0 ||
        place->base + loop_.trips > SizeOf(result)) {
      return std::nullopt;
    }
    found.first = place->base;
    if (!Collect(found.value = ValueOf(result), 0, found.sums) || found.sums.empty()) {
      return std::nullopt;
    }
    return found;
  }

  // Whether a predicate is true for the numbers in a range.
  std::optional<Range> FindRange(const Instruction* predicate) const {
    predicate = Forwarded(predicate);
    if (predicate->opcode() != Opcode::kAnd || !IsPointwise(predicate) || RankOf(predicate) != 1 ||
        predicate->shape().element_type() != xla::PRED) {
      return std::nullopt;
    }
    Range range;
    for (const Instruction* operand : predicate->operands()) {
      if (!AddBound(Forwarded(operand), range)) return std::nullopt;
    }
    if (range.low == nullptr || range.high == nullptr) return std::nullopt;
    return range;
  }

 private:
  // The index of the only element that is written, as a scalar; null if there is none.
  const Instruction* IndexOf(const Instruction* update) const {
    if (IsSliceUpdate(update) && RankOf(update) == 1) {
      return SizeOf(update->operand(1)) == 1 ? update->operand(2) : nullptr;
    }
    if (!IsScatter(update) || RankOf(update) != 1 || SizeOf(update->operand(1)) != 1 ||
        SizeOf(update->operand(2)) != 1 || CombinerOf(update) != Opcode::kParameter) {
      return nullptr;
    }
    const Instruction* const index = Forwarded(update->operand(1));
    return index->opcode() == Opcode::kReshape && RankOf(index->operand(0)) == 0 ? index->operand(0)
                                                                                 : nullptr;
  }

  static const Instruction* ValueOf(const Instruction* update) {
    return update->operand(IsScatter(update) ? 2 : 1);
  }

  // Finds the sums that a value takes; false if it takes anything else that is large, or comes from
  // earlier iterations.
  bool Collect(const Instruction* value, int depth, std::vector<RangeSum>& sums) const {
    value = Forwarded(value);
    if (depth > kMaxDepth || !value->shape().IsArray()) return false;
    for (const RangeSum& one : sums) {
      if (one.sum == value) return true;
    }
    if (const auto sum = FindSum(value); sum.has_value()) {
      sums.push_back(*sum);
      return true;
    }
    const Dependence dependence = dependences_.OfArray(value);
    if (dependence == Dependence::kOnce) return true;
    if (SizeOf(value) > kMaxOtherSize) return false;
    if (dependence == Dependence::kNumber &&
        (value->opcode() == Opcode::kGetTupleElement || FindRows(loop_, value).has_value())) {
      return true;
    }
    if (value->operand_count() == 0 || value->operand_count() > 4) return false;
    const bool all[] = {true, true, true, true};
    return (IsPointwise(value) || value->opcode() == Opcode::kCompare || IsRearrangement(value)) &&
           IsBatchable(value, absl::MakeConstSpan(all, value->operand_count())) &&
           absl::c_all_of(value->operands(), [&](const Instruction* operand) {
             return Collect(operand, depth + 1, sums);
           });
  }

  std::optional<RangeSum> FindSum(const Instruction* value) const {
    if (RankOf(value) != 0 || !IsSummedType(value)) return std::nullopt;
    const bool is_dot = IsProduct(value, Opcode::kDot) && HasOneType(value);
    if (!is_dot && !IsReductionBy(value, Opcode::kAdd)) return std::nullopt;
    std::optional<Range> range;
    for (int64_t i = 0; i < (is_dot ? 2 : 1); ++i) {
      const Instruction* const factor = value->operand(i);
      if (RankOf(factor) != 1 || SizeOf(factor) < kLeastSummed) return std::nullopt;
      if (!range.has_value()) range = RangeOfFactor(factor, 0);
    }
    if (!range.has_value()) return std::nullopt;
    for (int64_t i = 0; i < (is_dot ? 2 : 1); ++i) {
      if (!IsOnceInside(value->operand(i), *range, 0)) return std::nullopt;
    }
    return RangeSum{value, *range};
  }

  // The range outside of which a factor is zero.
  std::optional<Range> RangeOfFactor(const Instruction* factor, int depth) const {
    factor = Forwarded(factor);
    if (depth > kMaxDepth || !IsPointwise(factor)) return std::nullopt;
    switch (factor->opcode()) {
      case Opcode::kSelect:
        if (!HasOnly(Forwarded(factor->operand(2)), 0)) return std::nullopt;
        if (auto range = FindRange(factor->operand(0)); range.has_value()) return range;
        return RangeOfFactor(factor->operand(1), depth + 1);
      case Opcode::kConvert:
        if (auto range = FindRange(factor->operand(0)); range.has_value()) return range;
        return RangeOfFactor(factor->operand(0), depth + 1);
      case Opcode::kMultiply:
        if (auto range = RangeOfFactor(factor->operand(0), depth + 1)) return range;
        return RangeOfFactor(factor->operand(1), depth + 1);
      default:
        return std::nullopt;
    }
  }

  // Returns true if each element of a value, in the order of the numbers, does not depend on the
  // iteration where the predicate of the range is true for its number.
  bool IsOnceInside(const Instruction* value, const Range& range, int depth) const {
    value = Forwarded(value);
    if (depth > kMaxDepth || !IsPlain(value)) return false;
    if (IsOnce(value)) return true;
    if (const auto own = FindRange(value); own.has_value() && *own == range) return true;
    if (SizeOf(value) != SizeOf(range.numbers)) return false;
    const auto is_once = [&](const Instruction* operand) {
      return operand->shape().IsArray() && IsOnceInside(operand, range, depth + 1);
    };
    switch (value->opcode()) {
      case Opcode::kGather:
        return IsOnce(value->operand(0)) && ProductOf(value->gather_slice_sizes()) == 1 &&
               value->gather_dimension_numbers().operand_batching_dims_size() == 0 &&
               is_once(value->operand(1));
      case Opcode::kReduce:  // over dimensions of size one
        return value->operand_count() == 2 && IsOnce(value->operand(1)) &&
               is_once(value->operand(0));
      case Opcode::kReshape:
        return IsRearrangement(value) && is_once(value->operand(0));
      case Opcode::kBroadcast:
        return IsBroadcast(value) && absl::c_is_sorted(value->dimensions()) &&
               is_once(value->operand(0));
      case Opcode::kCompare:
      case Opcode::kClamp:
        return absl::c_all_of(value->operands(), is_once);
      default:
        return IsPointwise(value) && absl::c_all_of(value->operands(), is_once);
    }
  }

  bool IsOnce(const Instruction* value) const {
    return value->shape().IsArray() && dependences_.OfArray(value) == Dependence::kOnce;
  }

  bool AddBound(const Instruction* compare, Range& range) const {
    if (compare->opcode() != Opcode::kCompare || !IsPlain(compare) ||
        xla::Cast<xla::HloCompareInstruction>(compare)->order() !=
            DefaultOrder(compare->operand(0))) {
      return false;
    }
    for (int side : {0, 1}) {
      const Instruction* const bound = Forwarded(compare->operand(1 - side));
      const Instruction* const numbers = Forwarded(compare->operand(side));
      if (!IsUniform(bound) || !SameArray(bound, numbers) ||
          !xla::ShapeUtil::SameDimensions(bound->shape(), compare->shape()) ||
          dependences_.OfArray(numbers) != Dependence::kOnce ||
          dependences_.OfArray(bound->operand(0)) == Dependence::kCarried) {
        continue;
      }
      const Direction direction = compare->comparison_direction();
      const bool is_low = direction == (side == 0 ? Direction::kGe : Direction::kLe);
      const bool is_high = direction == (side == 0 ? Direction::kLt : Direction::kGt);
      const Instruction*& own = is_low ? range.low : range.high;
      if ((!is_low && !is_high) || own != nullptr) continue;
      if (range.numbers != nullptr && !IsSameArray(range.numbers, numbers)) continue;
      range.numbers = numbers;
      own = Forwarded(bound->operand(0));
      return true;
    }
    return false;
  }

  static xla::Comparison::Order DefaultOrder(const Instruction* number) {
    return xla::primitive_util::IsFloatingPointType(number->shape().element_type())
               ? xla::Comparison::Order::kPartial
               : xla::Comparison::Order::kTotal;
  }

  const CountedLoop& loop_;
  const Dependences dependences_;
  const Instruction* parameter_;
};

std::optional<RangeSums> FindRangeSums(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kWhile || IsSlowWay(instruction->operand(0))) {
    return std::nullopt;
  }
  const auto loop = FindCountedLoop(instruction);
  if (!loop.has_value() || loop->trips < 2) return std::nullopt;
  const std::optional<int64_t> used = OnlyUsedElement(*loop);
  return used.has_value() ? RangeSumFinder(*loop).Find(*used) : std::nullopt;
}

// Builds sums over ranges in ascending order by adding each number to the sum of its range: the
// last range that begins at it or before, if it does not end there.
class SegmentSums {
 public:
  // `batcher` makes what the iterations compute, such as the ends of the ranges.
  SegmentSums(Instruction* place, const CountedLoop& loop, Batcher& batcher)
      : place_(place), build_(place), loop_(loop), finder_(loop), batcher_(batcher) {}

  // The sums of all iterations: terms[k] is added to the sum of the range that has numbers[k].
  Instruction* Sum(const RangeSum& range_sum) {
    Batcher inside(loop_, place_, /*reversed=*/false);
    TakeForTrue(range_sum.range, inside);
    const Instruction* const sum = range_sum.sum;
    Instruction* terms = inside.Of(sum->operand(0)).array;
    if (sum->opcode() == Opcode::kDot) {
      terms = build_.Binary(Opcode::kMultiply, terms, inside.Of(sum->operand(1)).array);
    }
    Instruction* const sums = SumRows(build_, build_.Reshape(terms, {SizeOf(terms), 1}),
                                      RangeOfEach(range_sum.range, inside), loop_.trips);
    return build_.Reshape(sums, {loop_.trips});
  }

  // The scalar that is true if all ranges are in ascending order, for which alone the sums hold.
  Instruction* in_order() const { return in_order_; }

 private:
  // Has the batcher take the range's predicates for true. Terms do not depend on the iteration
  // where they are true, and are zero elsewhere: they are made once, as if in all iterations.
  void TakeForTrue(const Range& range, Batcher& inside) const {
    for (const Instruction* predicate : loop_.body()->instructions()) {
      const auto own = finder_.FindRange(predicate);
      if (own.has_value() && *own == range) {
        inside.Set(predicate, {build_.Uniform(predicate->shape(), 1), false});
      }
    }
  }

  // For each number the iteration in whose range it is: trips, which is none, if it is in no range.
  Instruction* RangeOfEach(const Range& range, Batcher& inside) {
    for (const auto& [other, iterations] : ranges_) {
      if (other == range) return iterations;
    }
    Instruction* const low = batcher_.Stacked(batcher_.Of(range.low));
    Instruction* const high = batcher_.Stacked(batcher_.Of(range.high));
    Demand(build_.Compare(low, high, Direction::kLe));
    Demand(build_.Compare(build_.SliceOf(high, 0, 0, loop_.trips - 1),
                          build_.SliceOf(low, 0, 1, loop_.trips), Direction::kLe));
    Instruction* const numbers = inside.Of(range.numbers).array;
    Instruction* const begun = CountAtMost(low, numbers);
    const xla::Shape& shape = begun->shape();
    Instruction* const last = build_.Binary(Opcode::kSubtract, begun, build_.Uniform(shape, 1));
    Instruction* const is_inside =
        build_.Binary(Opcode::kAnd, build_.Compare(begun, build_.Uniform(shape, 0), Direction::kGt),
                      build_.Compare(numbers, Taken(high, last), Direction::kLt));
    Instruction* const iterations =
        build_.Select(is_inside, last, build_.Uniform(shape, loop_.trips));
    ranges_.emplace_back(range, iterations);
    return iterations;
  }

  void Demand(Instruction* predicates) {
    Instruction* const all = build_.All(predicates);
    in_order_ = in_order_ == nullptr ? all : build_.Binary(Opcode::kAnd, in_order_, all);
  }

  // Elements of a vector at positions, which are clamped.
  Instruction* Taken(Instruction* vector, Instruction* positions) const {
    Instruction* const column = build_.Reshape(vector, {SizeOf(vector), 1});
    return build_.Reshape(GatherRows(build_, column, positions), SizesOf(positions));
  }

  // How many of the ascending bounds are at most each number, by a binary search: the count grows
  // by each power of two, the greatest first, by which it still holds.
  Instruction* CountAtMost(Instruction* bounds, Instruction* numbers) const {
    const xla::Shape shape = xla::ShapeUtil::MakeShape(xla::S32, numbers->shape().dimensions());
    const int64_t count = SizeOf(bounds);
    Instruction* at_most = build_.Uniform(shape, 0);
    int64_t step = 1;
    while (2 * step <= count) step *= 2;
    for (; step >= 1; step /= 2) {
      Instruction* const next =
          build_.Binary(Opcode::kAdd, at_most, build_.Uniform(shape, static_cast<double>(step)));
      Instruction* const last = build_.Binary(Opcode::kSubtract, next, build_.Uniform(shape, 1));
      Instruction* const is_at_most = build_.Binary(
          Opcode::kAnd,
          build_.Compare(next, build_.Uniform(shape, static_cast<double>(count)), Direction::kLe),
          build_.Compare(Taken(bounds, last), numbers, Direction::kLe));
      at_most = build_.Select(is_at_most, next, at_most);
    }
    return at_most;
  }

  Instruction* place_;
  const Builder build_;
  const CountedLoop& loop_;
  const RangeSumFinder finder_;
  Batcher& batcher_;
  std::vector<std::pair<Range, Instruction*>> ranges_;  // and what RangeOfEach returns for them
  Instruction* in_order_ = nullptr;
};

// Sums of ranges that are in ascending order and have no number in common.
class RangeSumsBySegment : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = 3, .users = 1}; }

 protected:
  bool Matches(const Instruction* loop) const override { return FindRangeSums(loop).has_value(); }

  Instruction* Build(Instruction* instruction) const override {
    const RangeSums found = *FindRangeSums(instruction);
    const CountedLoop loop = *FindCountedLoop(instruction);
    const int64_t written = *OnlyUsedElement(loop);
    Batcher batcher(loop, instruction, /*reversed=*/false);
    SegmentSums segments(instruction, loop, batcher);
    for (const RangeSum& sum : found.sums) batcher.Set(sum.sum, {segments.Sum(sum), true});
    const Builder build(instruction);
    Instruction* const values =
        build.Reshape(batcher.Stacked(batcher.Of(found.value)), {loop.trips});
    Instruction* const initial = instruction->mutable_operand(0);
    std::vector<Instruction*> given = {
        Written(build, TakeElement(initial, written), values, found.first)};
    for (int64_t i = 0; i < loop.size(); ++i) given.push_back(TakeElement(initial, i));
    Instruction* const result = AddChoice(
        instruction, segments.in_order(), given,
        [](absl::Span<Instruction* const> values) { return values[0]; },
        [&](absl::Span<Instruction* const> values) {
          Instruction* const start =
              values[1]->AddInstruction(Instruction::CreateTuple(values.subspan(1)));
          Instruction* const copy = values[1]->AddInstruction(
              Instruction::CreateWhile(instruction->shape(), instruction->while_condition(),
                                       instruction->while_body(), start));
          return Builder(copy).Element(copy, written);
        });
    return WithElement(instruction, written, result);
  }

 private:
  // The array with other elements from `first` on.
  static Instruction* Written(const Builder& build, Instruction* array, Instruction* values,
                              int64_t first) {
    const int64_t end = first + SizeOf(values);
    std::vector<Instruction*> parts;
    if (first > 0) parts.push_back(build.SliceOf(array, 0, 0, first));
    parts.push_back(values);
    if (end < SizeOf(array)) parts.push_back(build.SliceOf(array, 0, end, SizeOf(array)));
    return build.Concatenate(parts, 0);
  }
};

}  // namespace

const RuleTopic kRangeSumForms(337, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<RangeSumsBySegment>(
      Identity{"range-sums-by-segment", "for i: Σ x[aᵢ ≤ t < bᵢ] = sums of x by range of t",
               "Adds each number to the sum of the range that it is in, as of a sparse matrix's "
               "row, instead of masking all numbers for each range."}));
});

}  // namespace hlograph
