// Top-k of integers and of many elements, which XLA:CPU sorts or selects by a heap.
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/integer_keys.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

int64_t CountOf(const Instruction* topk) {
  return static_cast<const xla::HloTopKInstruction*>(topk)->k();
}

// Returns true for a plain and valid selection of the greatest elements, of at most 32 bits.
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

}  // namespace

Instruction* AddTopK(const Builder& builder, Instruction* keys, int64_t count) {
  const SortOrder by_bits;
  Instruction* const floats = AddElements(builder, keys, xla::F32, by_bits);
  const std::vector<int64_t> sizes = {keys->shape().dimensions(0), count};
  const xla::Shape shape = xla::ShapeUtil::MakeTupleShape(
      {xla::ShapeUtil::MakeShape(xla::F32, sizes), xla::ShapeUtil::MakeShape(xla::S32, sizes)});
  return builder.place()->AddInstruction(
      Instruction::CreateTopK(shape, floats, count, /*largest=*/true));
}

void AddTopKForms(std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<TopKByFloatKeys>(
      Identity{"top-k-by-float-keys", "top-k(n) = n of top-k(floats ordered as n)",
               "Computes top-k of integers as one of floats, which XLA:CPU does without sorting.",
               Numerics::kExact}));
  rules.push_back(std::make_unique<TopKByPackedKeys>(Identity{
      "top-k-by-packed-keys", "top-k(x) = first k of sort(keys of x, positions)",
      "Computes top-k of an eighth or more of the elements by sorting 64-bit integers of key and "
      "position.",
      Numerics::kExact}));
}

}  // namespace hlograph
