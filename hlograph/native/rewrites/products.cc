#include "hlograph/native/rewrites/products.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/protobuf_util.h"
#include "xla/service/shape_inference.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using xla::protobuf_util::HaveSameSerialization;

absl::StatusOr<xla::Shape> InferProduct(const Instruction* product) {
  const xla::Shape& lhs = product->operand(0)->shape();
  const xla::Shape& rhs = product->operand(1)->shape();
  const xla::PrimitiveType type = product->shape().element_type();
  if (product->opcode() == xla::HloOpcode::kDot) {
    return xla::ShapeInference::InferDotOpShape(lhs, rhs, product->dot_dimension_numbers(), type);
  }
  return xla::ShapeInference::InferConvolveShape(lhs, rhs, product->feature_group_count(),
                                                 product->batch_group_count(), product->window(),
                                                 product->convolution_dimension_numbers(), type);
}

int64_t RankOf(const Instruction* instruction) { return instruction->shape().dimensions().size(); }

// The result of a dot has the batch, then what is left of the first operand, then of the second.
std::vector<ResultDimension> FreeOfDot(const Instruction* dot, int side) {
  const DotOperand own = DotOperandOf(dot, side);
  int64_t result =
      side == 0 ? own.batch.size() : RankOf(dot) - static_cast<int64_t>(own.free.size());
  std::vector<ResultDimension> free;
  for (int64_t dimension : own.free) free.push_back({dimension, result++});
  return free;
}

ResultDimension OfConvolution(const Instruction* convolution, int side) {
  const xla::ConvolutionDimensionNumbers& numbers = convolution->convolution_dimension_numbers();
  if (side == 0) return {numbers.input_batch_dimension(), numbers.output_batch_dimension()};
  return {numbers.kernel_output_feature_dimension(), numbers.output_feature_dimension()};
}

}  // namespace

DotOperand DotOperandOf(const Instruction* dot, int side) {
  const xla::DotDimensionNumbers& numbers = dot->dot_dimension_numbers();
  const auto& batch = side == 0 ? numbers.lhs_batch_dimensions() : numbers.rhs_batch_dimensions();
  const auto& contracting =
      side == 0 ? numbers.lhs_contracting_dimensions() : numbers.rhs_contracting_dimensions();
  DotOperand found{{batch.begin(), batch.end()}, {}, {contracting.begin(), contracting.end()}};
  for (int64_t i = 0; i < RankOf(dot->operand(side)); ++i) {
    if (!absl::c_linear_search(batch, i) && !absl::c_linear_search(contracting, i)) {
      found.free.push_back(i);
    }
  }
  return found;
}

bool IsProduct(const Instruction* instruction, xla::HloOpcode opcode) {
  if (instruction->opcode() != opcode || !IsPlain(instruction)) return false;
  if (opcode != xla::HloOpcode::kDot && opcode != xla::HloOpcode::kConvolution) return false;
  if (instruction->operand_count() != 2) return false;
  for (const Instruction* operand : instruction->operands()) {
    if (!operand->shape().IsArray() || !operand->shape().is_static()) return false;
  }
  const absl::StatusOr<xla::Shape> shape = InferProduct(instruction);
  return shape.ok() && xla::ShapeUtil::SameDimensions(*shape, instruction->shape());
}

bool SameProduct(const Instruction* one, const Instruction* two) {
  if (one->opcode() != two->opcode() || !SameType(one, two) ||
      !SameType(one->operand(0), two->operand(0)) || !SameType(one->operand(1), two->operand(1)) ||
      !HaveSameSerialization(one->precision_config(), two->precision_config())) {
    return false;
  }
  if (one->opcode() == xla::HloOpcode::kDot) {
    return HaveSameSerialization(one->dot_dimension_numbers(), two->dot_dimension_numbers());
  }
  return one->feature_group_count() == two->feature_group_count() &&
         one->batch_group_count() == two->batch_group_count() &&
         HaveSameSerialization(one->window(), two->window()) &&
         HaveSameSerialization(one->convolution_dimension_numbers(),
                               two->convolution_dimension_numbers());
}

bool HasOneType(const Instruction* product) {
  return IsRing(product->shape().element_type()) && SameType(product, product->operand(0)) &&
         SameType(product, product->operand(1));
}

std::vector<ResultDimension> FreeDimensions(const Instruction* product, int side) {
  if (product->opcode() == xla::HloOpcode::kDot) return FreeOfDot(product, side);
  // Groups take their features by position.
  if (product->batch_group_count() != 1) return {};
  if (side == 1 && product->feature_group_count() != 1) return {};
  return {OfConvolution(product, side)};
}

std::vector<ResultDimension> ScalableDimensions(const Instruction* product, int side) {
  if (product->opcode() == xla::HloOpcode::kConvolution) {
    if (product->batch_group_count() != 1) return {};
    return {OfConvolution(product, side)};
  }
  std::vector<ResultDimension> dimensions = FreeOfDot(product, side);
  const DotOperand own = DotOperandOf(product, side);
  for (size_t i = 0; i < own.batch.size(); ++i) {
    dimensions.push_back({own.batch[i], static_cast<int64_t>(i)});
  }
  return dimensions;
}

std::vector<Instruction*> OperandsWith(Instruction* product, int side, Instruction* operand) {
  Instruction* const other = product->mutable_operand(1 - side);
  return side == 0 ? std::vector<Instruction*>{operand, other}
                   : std::vector<Instruction*>{other, operand};
}

}  // namespace hlograph
