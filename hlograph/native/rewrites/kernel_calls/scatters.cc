// Scatters that add many rows to few as calls of a native kernel.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/updates.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kLeastRows = 1024;
constexpr int64_t kRowsOfASum = 32;  // below, sums are copied for longer than rows are added

// Returns true if row i of the updates is added to the row of the result that index i says.
bool AddsRows(const Instruction* scatter) {
  const auto& numbers = scatter->scatter_dimension_numbers();
  const Instruction* const indices = scatter->operand(1);
  const int64_t rank = RankOf(scatter), windows = numbers.update_window_dims_size();
  if (rank < 1 || windows != rank - 1 || RankOf(scatter->operand(2)) != rank ||
      numbers.inserted_window_dims_size() != 1 || numbers.inserted_window_dims(0) != 0 ||
      numbers.scatter_dims_to_operand_dims_size() != 1 ||
      numbers.scatter_dims_to_operand_dims(0) != 0 || numbers.input_batching_dims_size() != 0 ||
      numbers.index_vector_dim() != 1 || RankOf(indices) > 2) {
    return false;
  }
  for (int64_t i = 0; i < windows; ++i) {  // whole rows, for the windows are no smaller
    if (numbers.update_window_dims(i) != i + 1 ||
        scatter->operand(2)->shape().dimensions(i + 1) != scatter->shape().dimensions(i + 1)) {
      return false;
    }
  }
  return IsScalarOperation(scatter->to_apply(), Opcode::kAdd);
}

bool HasLabels(const Instruction* scatter) {
  const xla::PrimitiveType type = scatter->operand(1)->shape().element_type();
  return type == xla::S32 || type == xla::U32 || type == xla::S64;
}

// Of floats, whose sums are rounded in another order, or of integers.
class KernelScatterAdd : public KernelRule {
 public:
  KernelScatterAdd(Identity identity, std::vector<xla::PrimitiveType> types)
      : KernelRule(std::move(identity), "scatter_add"), types_(std::move(types)) {}

 protected:
  bool Matches(const Instruction* scatter) const override {
    if (!IsScatter(scatter) || !AddsRows(scatter) || !HasLabels(scatter) ||
        !absl::c_linear_search(types_, scatter->shape().element_type())) {
      return false;
    }
    const int64_t rows = scatter->operand(2)->shape().dimensions(0);
    return SizeOf(scatter) > 0 && rows >= kLeastRows &&
           rows / kRowsOfASum >= scatter->shape().dimensions(0);
  }

  Instruction* Build(Instruction* scatter) const override {
    Instruction* values = scatter->mutable_operand(2);
    if (IsUniform(values)) values = values->mutable_operand(0);
    return AddCall(scatter, {scatter->mutable_operand(0), scatter->mutable_operand(1), values},
                   {scatter->shape()});
  }

 private:
  const std::vector<xla::PrimitiveType> types_;
};

}  // namespace

const RuleTopic kScatterKernels(405, [](std::vector<RulePtr>& rules) {
  constexpr char kDescription[] =
      "Adds many rows to few on all threads, each to copies of its own, which are added in the "
      "end.";
  rules.push_back(std::make_unique<KernelScatterAdd>(
      Identity{"kernel-scatter-add", "scatter(x, i, +y) = kernel(x, i, y)", kDescription,
               Numerics::kClose},
      std::vector<xla::PrimitiveType>{xla::F32, xla::F64}));
  rules.push_back(std::make_unique<KernelScatterAdd>(
      Identity{"kernel-scatter-add:integers", "scatter(x, i, +y) = kernel(x, i, y) of integers",
               kDescription, Numerics::kExact},
      std::vector<xla::PrimitiveType>{xla::S32, xla::U32}));
});

}  // namespace hlograph
