#include "hlograph/native/rewrites/patterns.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Larger arrays are refused, so that products of a few sizes do not overflow int64.
constexpr int64_t kMaxSize = int64_t{1} << 40;

bool IsPermutation(absl::Span<const int64_t> dimensions, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t dimension : dimensions) {
    if (dimension < 0 || dimension >= static_cast<int64_t>(rank) || seen[dimension]) return false;
    seen[dimension] = true;
  }
  return dimensions.size() == rank;
}

// Operations on elements, without attributes.
bool IsPointwiseOpcode(xla::HloOpcode opcode) {
  using Opcode = xla::HloOpcode;
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kCbrt:
    case Opcode::kCeil:
    case Opcode::kConvert:
    case Opcode::kCos:
    case Opcode::kDivide:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kFloor:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMultiply:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kOr:
    case Opcode::kPower:
    case Opcode::kRemainder:
    case Opcode::kRsqrt:
    case Opcode::kSelect:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSqrt:
    case Opcode::kSubtract:
    case Opcode::kTan:
    case Opcode::kTanh:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool IsCountable(absl::Span<const int64_t> dimensions) {
  double size = 1;
  for (int64_t dimension : dimensions) {
    if (dimension > kMaxSize) return false;
    size *= dimension;
  }
  return size <= kMaxSize;
}

bool IsPlain(const Instruction* instruction) {
  return instruction->shape().IsArray() && instruction->shape().is_static() &&
         IsCountable(instruction->shape().dimensions()) && !instruction->has_sharding() &&
         !instruction->HasControlDependencies() && !instruction->has_backend_config() &&
         !instruction->has_result_accuracy() && instruction->frontend_attributes().map().empty();
}

bool IsRing(xla::PrimitiveType type) {
  return xla::primitive_util::IsIntegralType(type) ||
         xla::primitive_util::IsFloatingPointType(type) || xla::primitive_util::IsComplexType(type);
}

bool SameArray(const Instruction* one, const Instruction* two) {
  return xla::ShapeUtil::Compatible(one->shape(), two->shape());
}

bool SameType(const Instruction* one, const Instruction* two) {
  return one->shape().element_type() == two->shape().element_type();
}

bool SameElsewhere(const xla::Shape& one, const xla::Shape& two, int64_t dimension) {
  if (one.dimensions().size() != two.dimensions().size()) return false;
  for (int64_t i = 0; i < static_cast<int64_t>(one.dimensions().size()); ++i) {
    if (i != dimension && one.dimensions(i) != two.dimensions(i)) return false;
  }
  return true;
}

bool IsConcatenate(const Instruction* instruction) {
  if (instruction->opcode() != xla::HloOpcode::kConcatenate || !IsPlain(instruction)) return false;
  const int64_t dimension = instruction->concatenate_dimension();
  const xla::Shape& shape = instruction->shape();
  if (dimension < 0 || dimension >= static_cast<int64_t>(shape.dimensions().size())) return false;
  int64_t size = 0;
  for (const Instruction* operand : instruction->operands()) {
    if (!operand->shape().IsArray() || !operand->shape().is_static() ||
        !SameType(operand, instruction) || !SameElsewhere(operand->shape(), shape, dimension)) {
      return false;
    }
    size += operand->shape().dimensions(dimension);
  }
  return instruction->operand_count() > 1 && size == shape.dimensions(dimension);
}

bool IsBroadcast(const Instruction* instruction) {
  if (instruction->opcode() != xla::HloOpcode::kBroadcast || !IsPlain(instruction)) return false;
  const xla::Shape& shape = instruction->shape();
  const xla::Shape& small = instruction->operand(0)->shape();
  if (!small.IsArray() || small.dimensions().size() != instruction->dimensions().size() ||
      !SameType(instruction, instruction->operand(0))) {
    return false;
  }
  for (size_t i = 0; i < instruction->dimensions().size(); ++i) {
    const int64_t dimension = instruction->dimensions(i);
    if (dimension < 0 || dimension >= static_cast<int64_t>(shape.dimensions().size()) ||
        shape.dimensions(dimension) != small.dimensions(i)) {
      return false;
    }
  }
  return true;
}

bool IsRearrangement(const Instruction* instruction) {
  if (!IsPlain(instruction)) return false;
  const bool is_transpose = instruction->opcode() == xla::HloOpcode::kTranspose;
  if (!is_transpose && instruction->opcode() != xla::HloOpcode::kReshape) return false;
  const Instruction* const operand = instruction->operand(0);
  if (!operand->shape().IsArray() || !operand->shape().is_static() ||
      !SameType(instruction, operand)) {
    return false;
  }
  if (!is_transpose) {
    return xla::ShapeUtil::ElementsIn(instruction->shape()) ==
           xla::ShapeUtil::ElementsIn(operand->shape());
  }
  const absl::Span<const int64_t> permutation = instruction->dimensions();
  const size_t rank = operand->shape().dimensions().size();
  if (!IsPermutation(permutation, rank) || instruction->shape().dimensions().size() != rank) {
    return false;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (instruction->shape().dimensions(i) != operand->shape().dimensions(permutation[i])) {
      return false;
    }
  }
  return true;
}

bool IsSlice(const Instruction* instruction) {
  if (instruction->opcode() != xla::HloOpcode::kSlice || !IsPlain(instruction)) return false;
  const Instruction* const operand = instruction->operand(0);
  const size_t rank = instruction->shape().dimensions().size();
  if (!operand->shape().IsArray() || !operand->shape().is_static() ||
      !SameType(instruction, operand) || operand->shape().dimensions().size() != rank ||
      instruction->slice_starts().size() != rank || instruction->slice_limits().size() != rank ||
      instruction->slice_strides().size() != rank) {
    return false;
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t start = instruction->slice_starts(i), limit = instruction->slice_limits(i);
    const int64_t stride = instruction->slice_strides(i);
    if (start < 0 || stride < 1 || limit < start || limit > operand->shape().dimensions(i) ||
        instruction->shape().dimensions(i) != (limit - start + stride - 1) / stride) {
      return false;
    }
  }
  return true;
}

bool IsPointwise(const Instruction* instruction) {
  if (!IsPointwiseOpcode(instruction->opcode()) || !IsPlain(instruction)) return false;
  for (const Instruction* operand : instruction->operands()) {
    if (!operand->shape().IsArray() || !operand->shape().is_static() ||
        !xla::ShapeUtil::SameDimensions(operand->shape(), instruction->shape())) {
      return false;
    }
  }
  return true;
}

bool IsComputedAlike(const Instruction* one, const Instruction* two, int hops) {
  if (one == two) return true;
  if (hops == kAlikeReach || one->HasSideEffect()) return false;
  const auto equal_operands = [&](const Instruction* first, const Instruction* second) {
    return IsComputedAlike(first, second, hops + 1);
  };
  const auto equal_computations = [](const xla::HloComputation* first,
                                     const xla::HloComputation* second) { return first == second; };
  return one->Identical(*two, equal_operands, equal_computations, /*layout_sensitive=*/false);
}

bool IsUniform(const Instruction* instruction) {
  return IsBroadcast(instruction) && instruction->dimensions().empty();
}

}  // namespace hlograph
