// Dots with operands in the other order: XLA:CPU computes a product of few rows and a matrix along
// the columns of the matrix, and the product of the matrix and few columns along its rows.
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

constexpr int64_t kMostRows = 16;
constexpr int64_t kLeastColumnsByRow = 4;  // for each row
constexpr int64_t kLeastWeights = 4096;    // elements of the matrix

int64_t FreeSize(const Instruction* dot, int side) {
  int64_t size = 1;
  for (const ResultDimension& free : FreeDimensions(dot, side)) {
    size *= dot->operand(side)->shape().dimensions(free.operand);
  }
  return size;
}

class SwappedDot : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* dot) const override {
    if (!IsProduct(dot, xla::HloOpcode::kDot) || !HasOneType(dot) || !IsFloat(dot) ||
        dot->dot_dimension_numbers().lhs_batch_dimensions_size() > 0) {
      return false;
    }
    const int64_t rows = FreeSize(dot, 0), columns = FreeSize(dot, 1);
    return rows >= 1 && rows <= kMostRows && columns >= kLeastColumnsByRow * rows &&
           SizeOf(dot->operand(1)) >= kLeastWeights;
  }

  Instruction* Build(Instruction* dot) const override {
    const Builder builder(dot);
    xla::DotDimensionNumbers numbers = dot->dot_dimension_numbers();
    numbers.mutable_lhs_contracting_dimensions()->Swap(
        numbers.mutable_rhs_contracting_dimensions());
    Instruction* const swapped = builder.Dot(dot->mutable_operand(1), dot->mutable_operand(0),
                                             numbers, dot->shape().element_type());
    if (xla::PrecisionConfig precision = dot->precision_config();
        precision.operand_precision_size() == 2) {
      precision.mutable_operand_precision()->SwapElements(0, 1);
      *swapped->mutable_precision_config() = precision;
    }
    // Without a barrier XLA swaps the operands again.
    const int64_t columns = FreeDimensions(dot, 1).size();
    std::vector<int64_t> order(RankOf(dot));
    std::iota(order.begin(), order.end(), columns);
    for (int64_t& dimension : order) dimension %= static_cast<int64_t>(order.size());
    return builder.Transpose(builder.Barrier(swapped), order);
  }
};

}  // namespace

const RuleTopic kSwappedDotForms(329, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SwappedDot>(Identity{
      "dot-of-few-rows-swapped", "x·w = (wᵀ·xᵀ)ᵀ",
      "Multiplies a matrix by few columns instead of few rows by the matrix.", Numerics::kClose}));
});

}  // namespace hlograph
