// Sorts by a permutation, as those of ranks by sorting twice.
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/integer_keys.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// Returns true for the positions that a sort or a complete top-k gives: a permutation along the
// dimension.
bool IsPermutation(const Instruction* value, int64_t dimension) {
  if (value->opcode() != Opcode::kGetTupleElement || !value->shape().IsArray() ||
      value->shape().element_type() != xla::S32) {
    return false;
  }
  const Instruction* const source = value->operand(0);
  if (source->opcode() == Opcode::kTopK) {
    const xla::Shape& shape = source->operand(0)->shape();
    return value->tuple_index() == 1 && shape.IsArray() && shape.is_static() &&
           dimension == static_cast<int64_t>(shape.dimensions().size()) - 1 &&
           xla::ShapeUtil::SameDimensions(shape, value->shape());
  }
  return FindOrder(source).has_value() && source->operand_count() > 1 &&
         source->dimensions(0) == dimension && value->tuple_index() >= 0 &&
         value->tuple_index() < source->operand_count() &&
         SameArray(value, source->operand(value->tuple_index())) &&
         IsPosition(source->operand(value->tuple_index()), dimension);
}

class SortByPermutation : public CalleeRule {
 public:
  using CalleeRule::CalleeRule;

  // Element, inner sort, iota and its operand.
  Reach reach() const override { return {.operands = 4, .users = 0}; }

 protected:
  bool Matches(const Instruction* sort) const override {
    const std::optional<SortOrder> order = FindOrder(sort);
    if (!order.has_value() || order->descending || sort->operand_count() != 2) return false;
    const xla::Shape& shape = sort->operand(0)->shape();
    return xla::ShapeUtil::ElementsIn(shape) < (int64_t{1} << 31) &&
           IsPermutation(sort->operand(order->key), sort->dimensions(0));
  }

  Instruction* Build(Instruction* sort) const override {
    const SortOrder order = *FindOrder(sort);
    const Builder builder(sort);
    const int64_t dimension = sort->dimensions(0);
    Instruction* const permutation = sort->mutable_operand(order.key);
    std::vector<Instruction*> results(2);
    results[order.key] = builder.Iota(permutation->shape(), dimension);
    results[1 - order.key] = AddScatter(builder, sort->mutable_operand(1 - order.key),
                                        AddTargets(builder, permutation, dimension));
    return builder.place()->AddInstruction(Instruction::CreateTuple(results));
  }

 private:
  // Adds the number of the element, in row-major order, to which each element goes.
  static Instruction* AddTargets(const Builder& builder, Instruction* permutation,
                                 int64_t dimension) {
    const xla::Shape& shape = permutation->shape();
    Instruction* targets = nullptr;
    int64_t stride = 1;
    for (int64_t i = shape.dimensions().size() - 1; i >= 0; --i) {
      if (shape.dimensions(i) == 1) continue;
      Instruction* term = i == dimension ? permutation : builder.Iota(shape, i);
      if (stride != 1) {
        term = builder.Binary(Opcode::kMultiply, term, AddUniform(builder, shape, stride));
      }
      targets = targets == nullptr ? term : builder.Binary(Opcode::kAdd, targets, term);
      stride *= shape.dimensions(i);
    }
    return targets == nullptr ? permutation : targets;
  }

  static Instruction* AddScatter(const Builder& builder, Instruction* values,
                                 Instruction* targets) {
    const xla::PrimitiveType type = values->shape().element_type();
    const int64_t count = xla::ShapeUtil::ElementsIn(values->shape());
    const xla::Shape scalar = xla::ShapeUtil::MakeShape(type, {});
    xla::HloComputation::Builder update("replace");
    update.AddInstruction(Instruction::CreateParameter(0, scalar, "old"));
    Instruction* const latest =
        update.AddInstruction(Instruction::CreateParameter(1, scalar, "new"));
    xla::HloComputation* const replace =
        builder.place()->GetModule()->AddEmbeddedComputation(update.Build(latest));
    xla::ScatterDimensionNumbers numbers;
    numbers.add_inserted_window_dims(0);
    numbers.add_scatter_dims_to_operand_dims(0);
    numbers.set_index_vector_dim(1);
    const xla::Shape flat = xla::ShapeUtil::MakeShape(type, {count});
    Instruction* const scattered = builder.place()->AddInstruction(Instruction::CreateScatter(
        flat, builder.Uniform(flat, 0), builder.Reshape(targets, {count, 1}),
        builder.Reshape(values, {count}), replace, numbers, /*indices_are_sorted=*/false,
        /*unique_indices=*/true));
    return builder.Reshape(scattered, values->shape().dimensions());
  }
};

}  // namespace

const RuleTopic kPermutationForms(309, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SortByPermutation>(Identity{
      "sort-by-permutation-as-scatter", "sort(positions of sort(x), y) = y scattered to positions",
      "Scatters what is sorted by the positions that another sort gives, such as ranks by sorting "
      "twice.",
      Numerics::kExact}));
});

}  // namespace hlograph
