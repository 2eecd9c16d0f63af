// One-hot products as gathers and scatters of rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/one_hots.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;

int64_t PositionIn(const Numbers& numbers, int64_t number) {
  return std::find(numbers.begin(), numbers.end(), number) - numbers.begin();
}

Numbers Appended(const Numbers& one, const Numbers& two) {
  Numbers joined = one;
  joined.insert(joined.end(), two.begin(), two.end());
  return joined;
}

Numbers SizesAlong(const Instruction* array, const Numbers& dimensions) {
  Numbers sizes;
  for (int64_t dimension : dimensions) sizes.push_back(array->shape().dimensions(dimension));
  return sizes;
}

// A dot of a one-hot array with another one.
struct OneHotDot {
  OneHot one_hot;
  int side = 0;
  DotOperand own, other;

  // The labels' dimensions of these dimensions of the one-hot array.
  Numbers LabelsOf(const Numbers& dimensions) const {
    Numbers labels;
    for (int64_t dimension : dimensions)
      labels.push_back(PositionIn(one_hot.dimensions, dimension));
    return labels;
  }
};

// Expects to be told whether the classes are what the dot contracts, or what it keeps.
std::optional<OneHotDot> FindOneHotDot(const Instruction* dot, bool contracts_classes) {
  if (!IsProduct(dot, Opcode::kDot) || !HasOneType(dot) || !IsSummedType(dot)) return std::nullopt;
  for (int side : {0, 1}) {
    std::optional<OneHot> one_hot = FindOneHot(dot->operand(side));
    if (!one_hot.has_value() || !HasFewRows(dot->operand(side))) continue;
    OneHotDot found{*std::move(one_hot), side, DotOperandOf(dot, side),
                    DotOperandOf(dot, 1 - side)};
    const int64_t classes = found.one_hot.classes;
    if (contracts_classes ? found.own.contracting == Numbers{classes}
                          : found.own.free == Numbers{classes}) {
      return found;
    }
  }
  return std::nullopt;
}

// Moves the batch, `left` dimensions and `right` dimensions of a result into the order of a dot
// whose sides are swapped.
Instruction* Swapped(const Builder& build, Instruction* result, int64_t batch, int64_t left) {
  Numbers permutation;
  const int64_t rank = result->shape().dimensions().size();
  for (int64_t i = 0; i < batch; ++i) permutation.push_back(i);
  for (int64_t i = batch + left; i < rank; ++i) permutation.push_back(i);
  for (int64_t i = batch; i < batch + left; ++i) permutation.push_back(i);
  return build.Transpose(result, permutation);
}

// The other operand as a matrix: these dimensions are its rows, the others its columns.
Instruction* AsMatrix(const Builder& build, Instruction* operand, const Numbers& rows,
                      const Numbers& columns) {
  Instruction* const ordered = build.Transpose(operand, Appended(rows, columns));
  return build.Reshape(
      ordered, {ProductOf(SizesAlong(operand, rows)), ProductOf(SizesAlong(operand, columns))});
}

class OneHotAsGather : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kOneHotReach}; }

 protected:
  bool Matches(const Instruction* dot) const override {
    const std::optional<OneHotDot> found = FindOneHotDot(dot, /*contracts_classes=*/true);
    return found.has_value() && !xla::ShapeUtil::IsZeroElementArray(dot->shape()) &&
           dot->operand(found->side)->shape().dimensions(found->one_hot.classes) > 0;
  }

  Instruction* Build(Instruction* dot) const override {
    const OneHotDot found = *FindOneHotDot(dot, /*contracts_classes=*/true);
    const Builder build(dot);
    Instruction* const one_hot = dot->mutable_operand(found.side);
    Instruction* const table = dot->mutable_operand(1 - found.side);
    const int64_t classes = one_hot->shape().dimensions(found.one_hot.classes);
    const DotOperand& own = found.own;
    const RowIndices rows =
        BuildRowIndices(build, found.one_hot, classes,
                        found.LabelsOf(Appended(own.batch, own.free)), own.batch.size());
    Instruction* const matrix = AsMatrix(
        build, table, Appended(found.other.batch, found.other.contracting), found.other.free);
    Instruction* const gathered = GatherRows(build, matrix, rows.indices);
    Instruction* const valid = build.Broadcast(rows.valid, gathered->shape().dimensions(), {0});
    Instruction* const kept = build.Select(valid, gathered, build.Uniform(gathered->shape(), 0));
    const Numbers sizes = Appended(SizesAlong(one_hot, Appended(own.batch, own.free)),
                                   SizesAlong(table, found.other.free));
    Instruction* const result = build.Reshape(kept, sizes);
    return found.side == 0 ? result : Swapped(build, result, own.batch.size(), own.free.size());
  }
};

class OneHotAsScatter : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kOneHotReach}; }

 protected:
  bool Matches(const Instruction* dot) const override {
    const std::optional<OneHotDot> found = FindOneHotDot(dot, /*contracts_classes=*/false);
    return found.has_value() && !xla::ShapeUtil::IsZeroElementArray(dot->shape()) &&
           !xla::ShapeUtil::IsZeroElementArray(dot->operand(0)->shape()) &&
           !found->own.contracting.empty();
  }

  Instruction* Build(Instruction* dot) const override {
    const OneHotDot found = *FindOneHotDot(dot, /*contracts_classes=*/false);
    const Builder build(dot);
    Instruction* const one_hot = dot->mutable_operand(found.side);
    Instruction* const other = dot->mutable_operand(1 - found.side);
    const int64_t classes = one_hot->shape().dimensions(found.one_hot.classes);
    const DotOperand& own = found.own;
    const int64_t count = classes * ProductOf(SizesAlong(one_hot, own.batch));
    const RowIndices rows =
        BuildRowIndices(build, found.one_hot, classes,
                        found.LabelsOf(Appended(own.batch, own.contracting)), own.batch.size());
    Instruction* const indices = build.Select(
        rows.valid, rows.indices, build.Uniform(rows.indices->shape(), static_cast<double>(count)));
    Instruction* const matrix = AsMatrix(
        build, other, Appended(found.other.batch, found.other.contracting), found.other.free);
    Instruction* const sums = SumRows(build, matrix, indices, count);
    const Numbers sizes = Appended(SizesAlong(one_hot, Appended(own.batch, own.free)),
                                   SizesAlong(other, found.other.free));
    Instruction* const result = build.Reshape(sums, sizes);
    return found.side == 0 ? result : Swapped(build, result, own.batch.size(), 1);
  }
};

}  // namespace

const RuleTopic kOneHotForms(313, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<OneHotAsGather>(
      Identity{"one-hot-as-gather", "onehot(i)·w = w[i]",
               "Gathers rows instead of multiplying one-hot rows by a matrix."}));
  rules.push_back(std::make_unique<OneHotAsScatter>(
      Identity{"one-hot-as-scatter", "onehot(i)ᵀ·x = sums of the rows of x by i",
               "Adds rows to those of their labels instead of multiplying by a one-hot matrix."}));
});

}  // namespace hlograph
