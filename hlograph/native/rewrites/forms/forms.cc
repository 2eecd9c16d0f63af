#include "hlograph/native/rewrites/forms/forms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

xla::Shape ArrayOf(xla::PrimitiveType type, absl::Span<const int64_t> sizes) {
  return xla::ShapeUtil::MakeShape(type, sizes);
}

// The sizes of the dimensions that are not among these.
std::vector<int64_t> SizesBeside(const Instruction* array, absl::Span<const int64_t> dimensions) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < RankOf(array); ++i) {
    if (!absl::c_linear_search(dimensions, i)) sizes.push_back(array->shape().dimensions(i));
  }
  return sizes;
}

// Clang, which compiled XLA, takes the upper bits of a register with a small enum for zeros; GCC
// does not clear them when it passes an argument on. Reading the byte from memory does.
Opcode Cleared(Opcode opcode) {
  const volatile Opcode stored = opcode;
  return stored;
}

}  // namespace

int64_t RankOf(const Instruction* array) { return array->shape().dimensions().size(); }

int64_t SizeOf(const Instruction* array) { return xla::ShapeUtil::ElementsIn(array->shape()); }

std::vector<int64_t> SizesOf(const Instruction* array) {
  const absl::Span<const int64_t> sizes = array->shape().dimensions();
  return {sizes.begin(), sizes.end()};
}

int64_t ProductOf(absl::Span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

bool IsFloat(const Instruction* array) {
  const xla::PrimitiveType type = array->shape().element_type();
  return type == xla::F32 || type == xla::F64;
}

xla::Literal NeutralOf(Opcode opcode, xla::PrimitiveType type) {
  switch (opcode) {
    case Opcode::kMultiply:
      return xla::LiteralUtil::One(type);
    case Opcode::kMaximum:
      return xla::LiteralUtil::MinValue(type);
    case Opcode::kMinimum:
      return xla::LiteralUtil::MaxValue(type);
    case Opcode::kAnd:
      return type == xla::PRED ? xla::LiteralUtil::One(type) : xla::LiteralUtil::Zero(type);
    default:
      return xla::LiteralUtil::Zero(type);
  }
}

bool IsNeutral(const Instruction* scalar, Opcode opcode) {
  if (scalar->opcode() != Opcode::kConstant || !xla::ShapeUtil::IsScalar(scalar->shape())) {
    return false;
  }
  const xla::PrimitiveType type = scalar->shape().element_type();
  if (!IsRing(type) && type != xla::PRED) return false;
  return scalar->literal() == NeutralOf(opcode, type);
}

bool IsScalarOperation(const xla::HloComputation* computation, Opcode opcode) {
  const Instruction* const root = computation->root_instruction();
  return computation->num_parameters() == 2 && root->opcode() == opcode &&
         root->operand_count() == 2 && root->operand(0) != root->operand(1) &&
         root->operand(0)->opcode() == Opcode::kParameter &&
         root->operand(1)->opcode() == Opcode::kParameter &&
         xla::ShapeUtil::IsScalar(root->shape()) && SameArray(root, root->operand(0)) &&
         SameArray(root, root->operand(1));
}

bool IsConstantOf(const Instruction* instruction, double value) {
  if (IsUniform(instruction)) instruction = instruction->operand(0);
  if (instruction->opcode() != Opcode::kConstant ||
      !xla::ShapeUtil::IsScalar(instruction->shape()) ||
      xla::primitive_util::IsComplexType(instruction->shape().element_type())) {
    return false;
  }
  const xla::LiteralBase& literal = instruction->literal();
  if (const auto integer = literal.GetIntegralAsS64({}); integer.has_value()) {
    return static_cast<double>(*integer) == value;
  }
  const auto number = literal.GetAsDouble({});
  return number.has_value() && *number == value && std::signbit(*number) == std::signbit(value);
}

bool IsReductionBy(const Instruction* instruction, Opcode opcode) {
  if (instruction->opcode() != Opcode::kReduce || !IsPlain(instruction) ||
      instruction->operand_count() != 2) {
    return false;
  }
  const Instruction* const operand = instruction->operand(0);
  if (!operand->shape().IsArray() || !operand->shape().is_static() ||
      !SameType(instruction, operand) || !SameType(operand, instruction->operand(1)) ||
      !IsNeutral(instruction->operand(1), opcode) ||
      !IsScalarOperation(instruction->to_apply(), opcode)) {
    return false;
  }
  return HasReducedShape(instruction);
}

bool HasReducedShape(const Instruction* reduce) {
  const Instruction* const operand = reduce->operand(0);
  std::vector<bool> reduced(RankOf(operand), false);
  for (int64_t dimension : reduce->dimensions()) {
    if (dimension < 0 || dimension >= RankOf(operand) || reduced[dimension]) return false;
    reduced[dimension] = true;
  }
  return reduce->shape().dimensions() == SizesBeside(operand, reduce->dimensions());
}

bool IsOnlyUser(const Instruction* user, const Instruction* operand) {
  return operand->user_count() == 1 && operand->users().front() == user && !operand->IsRoot();
}

Instruction* Builder::Scalar(xla::PrimitiveType type, double value) const {
  xla::Literal literal = xla::LiteralUtil::CreateR0<double>(value).Convert(type).value();
  return place_->AddInstruction(Instruction::CreateConstant(std::move(literal)));
}

Instruction* Builder::Uniform(const xla::Shape& shape, double value) const {
  return Broadcast(Scalar(shape.element_type(), value), shape.dimensions(), {});
}

Instruction* Builder::Iota(const xla::Shape& shape, int64_t dimension) const {
  return place_->AddInstruction(Instruction::CreateIota(shape, dimension));
}

Instruction* Builder::Unary(Opcode opcode, Instruction* operand) const {
  return place_->AddInstruction(
      Instruction::CreateUnary(operand->shape(), Cleared(opcode), operand));
}

Instruction* Builder::Binary(Opcode opcode, Instruction* lhs, Instruction* rhs) const {
  return place_->AddInstruction(Instruction::CreateBinary(lhs->shape(), Cleared(opcode), lhs, rhs));
}

Instruction* Builder::Compare(Instruction* lhs, Instruction* rhs,
                              xla::ComparisonDirection direction) const {
  const xla::Shape shape = ArrayOf(xla::PRED, lhs->shape().dimensions());
  return place_->AddInstruction(Instruction::CreateCompare(shape, lhs, rhs, direction));
}

Instruction* Builder::Select(Instruction* which, Instruction* yes, Instruction* no) const {
  return place_->AddInstruction(
      Instruction::CreateTernary(yes->shape(), Opcode::kSelect, which, yes, no));
}

Instruction* Builder::Convert(Instruction* operand, xla::PrimitiveType type) const {
  if (operand->shape().element_type() == type) return operand;
  const xla::Shape shape = ArrayOf(type, operand->shape().dimensions());
  return place_->AddInstruction(Instruction::CreateConvert(shape, operand));
}

Instruction* Builder::BitcastConvert(Instruction* operand, xla::PrimitiveType type) const {
  const xla::Shape shape = ArrayOf(type, operand->shape().dimensions());
  return place_->AddInstruction(Instruction::CreateBitcastConvert(shape, operand));
}

Instruction* Builder::Broadcast(Instruction* operand, absl::Span<const int64_t> sizes,
                                absl::Span<const int64_t> dimensions) const {
  if (sizes.size() == operand->shape().dimensions().size() && sizes.empty()) return operand;
  const xla::Shape shape = ArrayOf(operand->shape().element_type(), sizes);
  return place_->AddInstruction(Instruction::CreateBroadcast(shape, operand, dimensions));
}

Instruction* Builder::Reshape(Instruction* operand, absl::Span<const int64_t> sizes) const {
  if (operand->shape().dimensions() == sizes) return operand;
  const xla::Shape shape = ArrayOf(operand->shape().element_type(), sizes);
  return place_->AddInstruction(Instruction::CreateReshape(shape, operand));
}

Instruction* Builder::Transpose(Instruction* operand, absl::Span<const int64_t> permutation) const {
  std::vector<int64_t> sizes;
  for (int64_t dimension : permutation) sizes.push_back(operand->shape().dimensions(dimension));
  if (std::is_sorted(permutation.begin(), permutation.end())) return operand;
  const xla::Shape shape = ArrayOf(operand->shape().element_type(), sizes);
  return place_->AddInstruction(Instruction::CreateTranspose(shape, operand, permutation));
}

Instruction* Builder::Reverse(Instruction* operand, absl::Span<const int64_t> dimensions) const {
  if (dimensions.empty()) return operand;
  const xla::Shape shape = ArrayOf(operand->shape().element_type(), operand->shape().dimensions());
  return place_->AddInstruction(Instruction::CreateReverse(shape, operand, dimensions));
}

Instruction* Builder::Slice(Instruction* operand, absl::Span<const int64_t> starts,
                            absl::Span<const int64_t> limits,
                            absl::Span<const int64_t> strides) const {
  std::vector<int64_t> sizes;
  bool whole = true;
  for (size_t i = 0; i < starts.size(); ++i) {
    sizes.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
    whole &= starts[i] == 0 && strides[i] == 1 && limits[i] == operand->shape().dimensions(i);
  }
  if (whole) return operand;
  const xla::Shape shape = ArrayOf(operand->shape().element_type(), sizes);
  return place_->AddInstruction(Instruction::CreateSlice(shape, operand, starts, limits, strides));
}

Instruction* Builder::SliceOf(Instruction* operand, int64_t dimension, int64_t start, int64_t limit,
                              int64_t stride) const {
  std::vector<int64_t> limits = SizesOf(operand);
  std::vector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  starts[dimension] = start;
  limits[dimension] = limit;
  strides[dimension] = stride;
  return Slice(operand, starts, limits, strides);
}

Instruction* Builder::Pad(Instruction* operand, const xla::PaddingConfig& padding,
                          Instruction* value) const {
  std::vector<int64_t> sizes = SizesOf(operand);
  bool nothing = true;
  for (int i = 0; i < padding.dimensions_size(); ++i) {
    const xla::PaddingConfig::PaddingConfigDimension& one = padding.dimensions(i);
    nothing &=
        one.edge_padding_low() == 0 && one.edge_padding_high() == 0 && one.interior_padding() == 0;
    sizes[i] += one.edge_padding_low() + one.edge_padding_high() +
                std::max<int64_t>(sizes[i] - 1, 0) * one.interior_padding();
  }
  if (nothing) return operand;
  const xla::PrimitiveType type = operand->shape().element_type();
  if (value == nullptr) value = Scalar(type, 0);
  return place_->AddInstruction(
      Instruction::CreatePad(ArrayOf(type, sizes), operand, value, padding));
}

Instruction* Builder::Concatenate(absl::Span<Instruction* const> operands,
                                  int64_t dimension) const {
  if (operands.size() == 1) return operands.front();
  return AddConcatenate(place_, operands, dimension);
}

Instruction* Builder::Reduce(Opcode opcode, Instruction* operand,
                             absl::Span<const int64_t> dimensions) const {
  const xla::PrimitiveType type = operand->shape().element_type();
  Instruction* const start =
      place_->AddInstruction(Instruction::CreateConstant(NeutralOf(opcode, type)));
  return place_->AddInstruction(
      Instruction::CreateReduce(ArrayOf(type, SizesBeside(operand, dimensions)), operand, start,
                                dimensions, ScalarOperation(opcode, type)));
}

xla::HloComputation* Builder::ScalarOperation(Opcode opcode, xla::PrimitiveType type) const {
  const xla::Shape scalar = ArrayOf(type, {});
  xla::HloComputation::Builder builder("combine");
  Instruction* const lhs = builder.AddInstruction(Instruction::CreateParameter(0, scalar, "lhs"));
  Instruction* const rhs = builder.AddInstruction(Instruction::CreateParameter(1, scalar, "rhs"));
  builder.AddInstruction(Instruction::CreateBinary(scalar, Cleared(opcode), lhs, rhs));
  return place_->GetModule()->AddEmbeddedComputation(builder.Build());
}

Instruction* Builder::All(Instruction* predicates) const {
  std::vector<int64_t> all(predicates->shape().dimensions().size());
  std::iota(all.begin(), all.end(), 0);
  return Reduce(Opcode::kAnd, predicates, all);
}

Instruction* Builder::Dot(Instruction* lhs, Instruction* rhs,
                          const xla::DotDimensionNumbers& numbers, xla::PrimitiveType type) const {
  const auto has = [](const auto& dimensions, int64_t dimension) {
    return std::find(dimensions.begin(), dimensions.end(), dimension) != dimensions.end();
  };
  std::vector<int64_t> sizes;
  for (int64_t dimension : numbers.lhs_batch_dimensions()) {
    sizes.push_back(lhs->shape().dimensions(dimension));
  }
  for (int64_t i = 0; i < static_cast<int64_t>(lhs->shape().dimensions().size()); ++i) {
    if (has(numbers.lhs_batch_dimensions(), i) || has(numbers.lhs_contracting_dimensions(), i)) {
      continue;
    }
    sizes.push_back(lhs->shape().dimensions(i));
  }
  for (int64_t i = 0; i < static_cast<int64_t>(rhs->shape().dimensions().size()); ++i) {
    if (has(numbers.rhs_batch_dimensions(), i) || has(numbers.rhs_contracting_dimensions(), i)) {
      continue;
    }
    sizes.push_back(rhs->shape().dimensions(i));
  }
  xla::PrecisionConfig precision;
  precision.add_operand_precision(xla::PrecisionConfig::DEFAULT);
  precision.add_operand_precision(xla::PrecisionConfig::DEFAULT);
  return place_->AddInstruction(
      Instruction::CreateDot(ArrayOf(type, sizes), lhs, rhs, numbers, precision));
}

Instruction* Builder::Barrier(Instruction* operand) const {
  return place_->AddInstruction(
      Instruction::CreateUnary(operand->shape(), Opcode::kOptimizationBarrier, operand));
}

Instruction* Builder::Element(Instruction* tuple, int64_t index) const {
  return place_->AddInstruction(Instruction::CreateGetTupleElement(tuple, index));
}

}  // namespace hlograph
