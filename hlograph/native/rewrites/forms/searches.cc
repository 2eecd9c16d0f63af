// Binary searches among many values, by arithmetic.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/binary_search.h"
#include "hlograph/native/rewrites/forms/choices.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

constexpr int64_t kLeastEdges = 4;
constexpr int64_t kMostEdges = int64_t{1} << 18;  // their number is exact in single precision

// Returns a search among enough edges of one vector, of single or double precision.
std::optional<BinarySearch> FindSearch(const Instruction* loop) {
  const std::optional<BinarySearch> search = FindBinarySearch(loop);
  if (!search.has_value() || IsSlowWay(loop->operand(0))) return std::nullopt;
  const xla::Shape& edges = loop->shape().tuple_shapes(search->edges);
  const bool is_float = edges.element_type() == xla::F32 || edges.element_type() == xla::F64;
  const bool has_count = edges.dimensions().size() == 1 && edges.dimensions(0) >= kLeastEdges &&
                         edges.dimensions(0) <= kMostEdges;
  return is_float && has_count ? search : std::nullopt;
}

// Edges at equal distances: the place of a value follows from its distance to the first edge, but
// for an error of one place, which comparisons with the edges there correct.
class SearchByArithmetic : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kBinarySearchReach, .users = 1}; }

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
