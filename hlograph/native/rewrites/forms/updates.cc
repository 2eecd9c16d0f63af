#include "hlograph/native/rewrites/forms/updates.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/service/shape_inference.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

}  // namespace

bool IsScatter(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kScatter || !IsPlain(instruction) ||
      instruction->operand_count() != 3) {
    return false;
  }
  for (const Instruction* operand : instruction->operands()) {
    if (!operand->shape().IsArray() || !operand->shape().is_static()) return false;
  }
  const absl::StatusOr<xla::Shape> shape = xla::ShapeInference::InferScatterShape(
      {&instruction->operand(0)->shape(), &instruction->operand(1)->shape(),
       &instruction->operand(2)->shape()},
      instruction->to_apply()->ComputeProgramShape(), instruction->scatter_dimension_numbers());
  return shape.ok() && xla::ShapeUtil::Compatible(*shape, instruction->shape());
}

std::optional<Opcode> CombinerOf(const Instruction* scatter) {
  const xla::HloComputation* const combiner = scatter->to_apply();
  const Instruction* const root = combiner->root_instruction();
  if (!SameType(root, scatter)) return std::nullopt;
  if (root->opcode() == Opcode::kParameter && root->parameter_number() == 1) return root->opcode();
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMultiply, Opcode::kMaximum, Opcode::kMinimum}) {
    if (IsScalarOperation(combiner, opcode)) return opcode;
  }
  return std::nullopt;
}

bool IsSliceUpdate(const Instruction* instruction) {
  const int64_t rank = RankOf(instruction);
  if (instruction->opcode() != Opcode::kDynamicUpdateSlice || !IsPlain(instruction) ||
      instruction->operand_count() != 2 + rank ||
      !SameArray(instruction, instruction->operand(0))) {
    return false;
  }
  const Instruction* const update = instruction->operand(1);
  if (!update->shape().IsArray() || !update->shape().is_static() || RankOf(update) != rank ||
      !SameType(update, instruction)) {
    return false;
  }
  for (int64_t i = 0; i < rank; ++i) {
    const xla::Shape& index = instruction->operand(2 + i)->shape();
    if (update->shape().dimensions(i) > instruction->shape().dimensions(i) ||
        !xla::ShapeUtil::IsScalar(index) ||
        !xla::primitive_util::IsIntegralType(index.element_type())) {
      return false;
    }
  }
  return true;
}

}  // namespace hlograph
