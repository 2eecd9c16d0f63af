// Top-k of integers and of many elements, which XLA:CPU sorts or selects by a heap.
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/integer_keys.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kMostOfGroups = 128;  // selected by groups: each is compared with each

int64_t CountOf(const Instruction* topk) {
  return static_cast<const xla::HloTopKInstruction*>(topk)->k();
}

class TopKByFloatKeys : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* topk) const override {
    return IsTopK(topk) && IsInteger(topk->operand(0)->shape().element_type()) &&
           CountOf(topk) < topk->operand(0)->shape().dimensions().back();
  }

  Instruction* Build(Instruction* topk) const override {
    const Builder builder(topk);
    const SortOrder order;
    const xla::Shape& result = topk->shape().tuple_shapes(0);
    const absl::Span<const int64_t> sizes = topk->operand(0)->shape().dimensions();
    const int64_t rows = ProductOf(sizes) / sizes.back();
    Instruction* const matrix = builder.Reshape(topk->mutable_operand(0), {rows, sizes.back()});
    Instruction* const narrow = AddKeys(builder, matrix, order);
    Instruction* const best = AddTopK(builder, builder.Convert(narrow, xla::S32), CountOf(topk));
    Instruction* values = AddKeys(builder, builder.Element(best, 0), order);
    values = builder.Convert(values, narrow->shape().element_type());
    values = AddElements(builder, values, result.element_type(), order);
    return builder.place()->AddInstruction(
        Instruction::CreateTuple({builder.Reshape(values, result.dimensions()),
                                  builder.Reshape(builder.Element(best, 1), result.dimensions())}));
  }
};

class TopKByPackedKeys : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* topk) const override {
    return IsTopK(topk) && 8 * CountOf(topk) >= topk->operand(0)->shape().dimensions().back();
  }

  Instruction* Build(Instruction* topk) const override {
    const Builder builder(topk);
    const SortOrder order{.descending = true};
    Instruction* const array = topk->mutable_operand(0);
    const int64_t last = array->shape().dimensions().size() - 1;
    Instruction* const keys = AddKeys(builder, array, order);
    Instruction* const sorted = AddPackedSort(builder, keys, last);
    Instruction* const best = builder.SliceOf(sorted, last, 0, CountOf(topk));
    Instruction* const own = AddPackedKeys(builder, best, keys->shape().element_type());
    return builder.place()->AddInstruction(
        Instruction::CreateTuple({AddElements(builder, own, array->shape().element_type(), order),
                                  AddPositions(builder, best)}));
  }
};

// How the rows of a top-k are cut: `count` groups of `width` neighbours.
struct Groups {
  int64_t width = 0, count = 0;
};

// Returns the groups that leave the fewest elements to select from, maxima and members of the
// groups selected; none if those are more than half of a row.
std::optional<Groups> FindGroups(int64_t length, int64_t selected) {
  std::optional<Groups> best;
  int64_t least = length / 2;
  for (int64_t width : {16, 8, 32}) {
    const int64_t count = (length + width - 1) / width;
    const int64_t left = count + selected * width;
    if (count < selected || left > least) continue;
    best = Groups{width, count};
    least = left - 1;
  }
  return best;
}

// An element that is selected is in a group that is selected by its maximum: otherwise the maxima
// of these groups would all come before it, the first of equal ones as groups are of neighbours.
class TopKOfGroups : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* topk) const override {
    if (!IsTopK(topk)) return false;
    const xla::Shape& shape = topk->operand(0)->shape();
    return shape.element_type() == xla::F32 && CountOf(topk) <= kMostOfGroups &&
           xla::ShapeUtil::ElementsIn(shape) <= INT32_MAX &&
           FindGroups(shape.dimensions().back(), CountOf(topk)).has_value();
  }

  Instruction* Build(Instruction* topk) const override {
    const Builder builder(topk);
    const SortOrder order;
    const absl::Span<const int64_t> sizes = topk->operand(0)->shape().dimensions();
    const int64_t selected = CountOf(topk), length = sizes.back();
    const int64_t rows = ProductOf(sizes) / length;
    const Groups groups = *FindGroups(length, selected);
    Instruction* const matrix = builder.Reshape(topk->mutable_operand(0), {rows, length});
    Instruction* const members = builder.Reshape(
        Filled(builder, matrix, groups.count * groups.width), {rows * groups.count, groups.width});
    Instruction* const maxima =
        builder.Reduce(Opcode::kMaximum, AddKeys(builder, members, order), {1});
    Instruction* const by_maximum =
        AddTopK(builder, builder.Reshape(maxima, {rows, groups.count}), selected);
    Instruction* const chosen = InOrder(builder, builder.Element(by_maximum, 1));
    Instruction* const left =
        builder.Reshape(GatherRows(builder, members, AmongAll(builder, chosen, groups.count)),
                        {rows, selected * groups.width});
    Instruction* const best = AddTopK(builder, AddKeys(builder, left, order), selected);
    return Results(builder, topk, best, chosen, groups.width);
  }

 private:
  static Instruction* Filled(const Builder& builder, Instruction* matrix, int64_t length) {
    xla::PaddingConfig padding;
    padding.add_dimensions();
    padding.add_dimensions()->set_edge_padding_high(length - matrix->shape().dimensions(1));
    // What comes after everything else, even after -inf.
    Instruction* const last = AddElements(
        builder, AddUniform(builder, xla::ShapeUtil::MakeShape(xla::S32, {}), INT32_MIN), xla::F32,
        SortOrder());
    return builder.Pad(matrix, padding, last);
  }

  // The numbers of each row in ascending order, each at its rank: there are few, all different.
  static Instruction* InOrder(const Builder& builder, Instruction* numbers) {
    const int64_t rows = numbers->shape().dimensions(0), count = numbers->shape().dimensions(1);
    const std::vector<int64_t> cube = {rows, count, count};
    Instruction* const own = builder.Broadcast(numbers, cube, {0, 1});
    Instruction* const is_greater = builder.Compare(own, builder.Broadcast(numbers, cube, {0, 2}),
                                                    xla::ComparisonDirection::kGt);
    Instruction* const rank =
        builder.Reduce(Opcode::kAdd, builder.Convert(is_greater, xla::S32), {2});
    Instruction* const is_here =
        builder.Compare(builder.Broadcast(rank, cube, {0, 1}), builder.Iota(own->shape(), 2),
                        xla::ComparisonDirection::kEq);
    Instruction* const kept = builder.Select(is_here, own, builder.Uniform(own->shape(), 0));
    return builder.Reduce(Opcode::kAdd, kept, {1});
  }

  // Numbers of the groups of one row as a vector of numbers among those of all rows.
  static Instruction* AmongAll(const Builder& builder, Instruction* chosen, int64_t count) {
    const xla::Shape& shape = chosen->shape();
    Instruction* const before = builder.Binary(Opcode::kMultiply, builder.Iota(shape, 0),
                                               AddUniform(builder, shape, count));
    return builder.Reshape(builder.Binary(Opcode::kAdd, chosen, before),
                           {xla::ShapeUtil::ElementsIn(shape)});
  }

  static Instruction* Results(const Builder& builder, Instruction* topk, Instruction* best,
                              Instruction* chosen, int64_t width) {
    Instruction* const among = builder.Element(best, 1);
    Instruction* const sizes = AddUniform(builder, among->shape(), width);
    Instruction* const group =
        AddTakeAlong(builder, chosen, builder.Binary(Opcode::kDivide, among, sizes));
    Instruction* const position =
        builder.Binary(Opcode::kAdd, builder.Binary(Opcode::kMultiply, group, sizes),
                       builder.Binary(Opcode::kRemainder, among, sizes));
    const absl::Span<const int64_t> result = topk->shape().tuple_shapes(0).dimensions();
    return builder.place()->AddInstruction(Instruction::CreateTuple(
        {builder.Reshape(builder.Element(best, 0), result), builder.Reshape(position, result)}));
  }
};

}  // namespace

bool IsTopK(const Instruction* topk) {
  if (topk->opcode() != Opcode::kTopK || topk->has_sharding() || topk->HasControlDependencies() ||
      topk->has_backend_config() || !topk->frontend_attributes().map().empty() ||
      !static_cast<const xla::HloTopKInstruction*>(topk)->largest()) {
    return false;
  }
  const xla::Shape& shape = topk->operand(0)->shape();
  if (!shape.IsArray() || !shape.is_static() || shape.dimensions().empty() ||
      !IsCountable(shape.dimensions()) || xla::ShapeUtil::IsZeroElementArray(shape) ||
      !HasKeys(shape.element_type(), 32) || !topk->shape().IsTuple() ||
      topk->shape().tuple_shapes().size() != 2) {
    return false;
  }
  const int64_t length = shape.dimensions().back(), last = shape.dimensions().size() - 1;
  const xla::Shape& values = topk->shape().tuple_shapes(0);
  const xla::Shape& positions = topk->shape().tuple_shapes(1);
  return CountOf(topk) > 0 && CountOf(topk) <= length && length <= kMaxRow && values.IsArray() &&
         positions.IsArray() &&
         xla::ShapeUtil::Compatible(values, Resized(shape, last, CountOf(topk))) &&
         positions.element_type() == xla::S32 && xla::ShapeUtil::SameDimensions(values, positions);
}

Instruction* AddTopK(const Builder& builder, Instruction* keys, int64_t count) {
  const SortOrder by_bits;
  Instruction* const floats = AddElements(builder, keys, xla::F32, by_bits);
  const std::vector<int64_t> sizes = {keys->shape().dimensions(0), count};
  const xla::Shape shape = xla::ShapeUtil::MakeTupleShape(
      {xla::ShapeUtil::MakeShape(xla::F32, sizes), xla::ShapeUtil::MakeShape(xla::S32, sizes)});
  return builder.place()->AddInstruction(
      Instruction::CreateTopK(shape, floats, count, /*largest=*/true));
}

const RuleTopic kTopKForms(305, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<TopKByFloatKeys>(
      Identity{"top-k-by-float-keys", "top-k(n) = n of top-k(floats ordered as n)",
               "Computes top-k of integers as one of floats, which XLA:CPU does without sorting.",
               Numerics::kExact}));
  rules.push_back(std::make_unique<TopKByPackedKeys>(Identity{
      "top-k-by-packed-keys", "top-k(x) = first k of sort(keys of x, positions)",
      "Computes top-k of an eighth or more of the elements by sorting 64-bit integers of key and "
      "position.",
      Numerics::kExact}));
  rules.push_back(std::make_unique<TopKOfGroups>(Identity{
      "top-k-of-groups", "top-k(x) = top-k(groups of x with top-k(maxima of groups))",
      "Selects groups of neighbours by their maxima, and the greatest elements from these.",
      Numerics::kExact}));
});

}  // namespace hlograph
