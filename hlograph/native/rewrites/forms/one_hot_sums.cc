// Sums that one-hot arrays mask as gathers.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/one_hots.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;

// A product with a one-hot array, or a selection by one, that is summed over the classes.
struct OneHotSum {
  OneHot one_hot;
  const Instruction* value = nullptr;
};

std::optional<OneHotSum> FindOneHotSum(const Instruction* reduce) {
  if (!IsReductionBy(reduce, Opcode::kAdd) || reduce->dimensions().size() != 1 ||
      !IsFloat(reduce) || !HasFewRows(reduce->operand(0)) ||
      xla::ShapeUtil::IsZeroElementArray(reduce->operand(0)->shape())) {
    return std::nullopt;
  }
  const Instruction* const whole = reduce->operand(0);
  const auto fits = [&](const std::optional<OneHot>& one_hot) {
    return one_hot.has_value() && one_hot->classes == reduce->dimensions(0);
  };
  if (!IsPointwise(whole)) return std::nullopt;
  if (whole->opcode() == Opcode::kSelect && IsConstantOf(whole->operand(2), 0)) {
    const std::optional<OneHot> one_hot = FindOneHot(whole->operand(0));
    if (fits(one_hot)) return OneHotSum{*one_hot, whole->operand(1)};
  }
  if (whole->opcode() != Opcode::kMultiply) return std::nullopt;
  for (int side : {0, 1}) {
    const std::optional<OneHot> one_hot = FindOneHot(whole->operand(side));
    if (fits(one_hot)) return OneHotSum{*one_hot, whole->operand(1 - side)};
  }
  return std::nullopt;
}

class OneHotSumAsGather : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kOneHotReach}; }

 protected:
  bool Matches(const Instruction* reduce) const override {
    return FindOneHotSum(reduce).has_value();
  }

  // The kept dimensions are batches of tables of numbers, of which each label takes one.
  Instruction* Build(Instruction* reduce) const override {
    const OneHotSum found = *FindOneHotSum(reduce);
    const Builder build(reduce);
    const int64_t classes = found.value->shape().dimensions(found.one_hot.classes);
    const int64_t rank = found.value->shape().dimensions().size();
    Numbers kept, order;
    for (int64_t i = 0; i < rank; ++i) {
      if (i == found.one_hot.classes) continue;
      kept.push_back(i);
      order.push_back(
          std::find(found.one_hot.dimensions.begin(), found.one_hot.dimensions.end(), i) -
          found.one_hot.dimensions.begin());
    }
    const RowIndices rows =
        BuildRowIndices(build, found.one_hot, classes, order, /*batch=*/kept.size());
    Numbers order_of_table = kept;
    order_of_table.push_back(found.one_hot.classes);
    Instruction* const value = const_cast<Instruction*>(found.value);
    Instruction* const table = build.Reshape(build.Transpose(value, order_of_table),
                                             {xla::ShapeUtil::ElementsIn(value->shape()), 1});
    Instruction* const gathered = GatherRows(build, table, rows.indices);
    Instruction* const flat = build.Reshape(gathered, rows.valid->shape().dimensions());
    Instruction* const result = build.Select(rows.valid, flat, build.Uniform(flat->shape(), 0));
    return build.Reshape(result, reduce->shape().dimensions());
  }
};

}  // namespace

const RuleTopic kOneHotSumForms(314, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<OneHotSumAsGather>(
      Identity{"one-hot-sum-as-gather", "Σ onehot(i)×x = x[i]",
               "Takes the element of a label instead of a sum that a one-hot row masks."}));
});

}  // namespace hlograph
