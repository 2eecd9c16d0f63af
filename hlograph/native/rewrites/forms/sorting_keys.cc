// Sorts by integers that are ordered as the elements are, which XLA:CPU compares without a call.
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
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

class SortByIntegerKeys : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* sort) const override {
    if (!FindOrder(sort).has_value() || sort->operand_count() != 1) return false;
    const xla::PrimitiveType type = sort->shape().element_type();
    return xla::primitive_util::IsFloatingPointType(type) && HasKeys(type, 64);
  }

  Instruction* Build(Instruction* sort) const override {
    const SortOrder order = *FindOrder(sort);
    const Builder builder(sort);
    Instruction* const keys = AddKeysOfSigns(builder, sort->mutable_operand(0), order);
    Instruction* const sorted = AddIntegerSort(builder, keys, sort->dimensions(0));
    return AddElements(builder, sorted, sort->shape().element_type(), order);
  }
};

// The place of a sort of several arrays is the sort itself: its replacement is a tuple.
class SortByPackedKeys : public FormRule {
 public:
  using FormRule::FormRule;

  // Operands, which may be broadcasts of an iota.
  Reach reach() const override { return {.operands = 2, .users = 0}; }

 protected:
  bool Matches(const Instruction* sort) const override {
    const std::optional<SortOrder> order = FindOrder(sort);
    if (!order.has_value() || sort->operand_count() < 2 || !IsStable(sort)) return false;
    const xla::Shape& shape = sort->operand(order->key)->shape();
    const int64_t dimension = sort->dimensions(0);
    return HasKeys(shape.element_type(), 32) && dimension == RankOf(sort->operand(0)) - 1 &&
           shape.dimensions(dimension) > 1 && shape.dimensions(dimension) <= kMaxRow;
  }

  Instruction* Build(Instruction* sort) const override {
    const SortOrder order = *FindOrder(sort);
    const Builder builder(sort);
    const int64_t dimension = sort->dimensions(0);
    Instruction* const key = sort->mutable_operand(order.key);
    Instruction* const keys = AddKeys(builder, key, order);
    Instruction* const sorted = AddPackedSort(builder, keys, dimension);
    Instruction* const positions = AddPositions(builder, sorted);
    std::vector<Instruction*> results;
    for (int64_t i = 0; i < sort->operand_count(); ++i) {
      Instruction* const operand = sort->mutable_operand(i);
      const xla::PrimitiveType type = operand->shape().element_type();
      if (IsPosition(operand, dimension)) {
        results.push_back(builder.Convert(positions, type));
      } else if (operand == key && !order.canonical) {
        Instruction* const own = AddPackedKeys(builder, sorted, keys->shape().element_type());
        results.push_back(AddElements(builder, own, type, order));
      } else {
        results.push_back(AddTaken(builder, operand, positions));
      }
    }
    return builder.place()->AddInstruction(Instruction::CreateTuple(results));
  }

 private:
  static Instruction* AddTaken(const Builder& builder, Instruction* array, Instruction* positions) {
    const absl::Span<const int64_t> sizes = array->shape().dimensions();
    const int64_t elements =
        std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    const std::vector<int64_t> matrix = {elements / sizes.back(), sizes.back()};
    Instruction* const taken =
        AddTakeAlong(builder, builder.Reshape(array, matrix), builder.Reshape(positions, matrix));
    return builder.Reshape(taken, sizes);
  }
};

class SortAlongMinor : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* sort) const override {
    return FindOrder(sort).has_value() && sort->dimensions(0) != RankOf(sort->operand(0)) - 1;
  }

  Instruction* Build(Instruction* sort) const override {
    const Builder builder(sort);
    const int64_t dimension = sort->dimensions(0), last = RankOf(sort->operand(0)) - 1;
    std::vector<Instruction*> operands;
    std::vector<xla::Shape> shapes;
    for (Instruction* operand : sort->operands()) {
      const bool is_position = IsPosition(operand, dimension);
      operand = AddMoveToEnd(builder, operand, dimension);
      // An iota that later rules recognize.
      if (is_position) operand = builder.Iota(operand->shape(), last);
      operands.push_back(operand);
      shapes.push_back(operand->shape());
    }
    const bool is_array = operands.size() == 1;
    const xla::Shape shape = is_array ? shapes.front() : xla::ShapeUtil::MakeTupleShape(shapes);
    Instruction* const sorted = builder.place()->AddInstruction(
        Instruction::CreateSort(shape, last, operands, sort->to_apply(), IsStable(sort)));
    if (is_array) return AddMoveFromEnd(builder, sorted, dimension);
    std::vector<Instruction*> results;
    for (int64_t i = 0; i < sort->operand_count(); ++i) {
      results.push_back(AddMoveFromEnd(builder, builder.Element(sorted, i), dimension));
    }
    return builder.place()->AddInstruction(Instruction::CreateTuple(results));
  }
};

}  // namespace

const RuleTopic kSortingKeyForms(306, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SortAlongMinor>(
      Identity{"sort-along-minor", "sort(x) = t(sort(t(x)))",
               "Sorts along the last dimension, where the elements of a row are neighbours.",
               Numerics::kExact}));
  rules.push_back(std::make_unique<SortByIntegerKeys>(Identity{
      "sort-by-integer-keys", "sort(x) = x of sort(keys of x)",
      "Sorts floats as integers of the same order. Zeros are sorted by sign, and NaNs are made "
      "equal; the values are the same.",
      Numerics::kClose}));
  rules.push_back(std::make_unique<SortByPackedKeys>(Identity{
      "sort-by-packed-keys", "sort(x, y) = [x y] at low halves of sort(keys of x, positions)",
      "Sorts 64-bit integers of key and position instead of several arrays, and takes the arrays' "
      "elements by position.",
      Numerics::kExact}));
});

}  // namespace hlograph
