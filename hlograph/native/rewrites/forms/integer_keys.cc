#include "hlograph/native/rewrites/forms/integer_keys.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

xla::PrimitiveType SignedOf(int bits) {
  return bits == 64 ? xla::S64 : bits == 32 ? xla::S32 : bits == 16 ? xla::S16 : xla::S8;
}

// Greatest and least signed integer of that many bits.
int64_t MaxOf(int bits) { return std::numeric_limits<int64_t>::max() >> (64 - bits); }
int64_t MinOf(int bits) { return -MaxOf(bits) - 1; }

// Bits of the usual NaN.
int64_t NanOf(xla::PrimitiveType type) {
  switch (type) {
    case xla::F16:
      return 0x7e00;
    case xla::BF16:
      return 0x7fc0;
    case xla::F32:
      return 0x7fc00000;
    default:
      return 0x7ff8000000000000;
  }
}

// Exchanges floats' bits and integers that are ordered as the floats: its own inverse. It inverts
// all bits but the sign of negative ones.
Instruction* AddFlip(const Builder& builder, Instruction* bits, int width) {
  const xla::Shape& shape = bits->shape();
  Instruction* const is_negative =
      builder.Compare(bits, AddUniform(builder, shape, 0), Direction::kLt);
  Instruction* const inverted =
      builder.Binary(Opcode::kSubtract, AddUniform(builder, shape, MaxOf(width)), bits);
  return builder.Select(is_negative, inverted, bits);
}

// Exchanges the bits of unsigned integers and signed integers of the same order: its own inverse.
Instruction* AddOffset(const Builder& builder, Instruction* bits, int width) {
  return builder.Binary(Opcode::kAdd, bits, AddUniform(builder, bits->shape(), MinOf(width)));
}

Instruction* AddKeys(const Builder& builder, Instruction* elements, const SortOrder& order,
                     bool equal_zeros) {
  const xla::PrimitiveType type = elements->shape().element_type();
  const int width = xla::primitive_util::BitWidth(type);
  Instruction* keys = elements;
  if (type != SignedOf(width)) keys = builder.BitcastConvert(elements, SignedOf(width));
  if (IsFloat(type)) {
    keys = AddFlip(builder, keys, width);
    const xla::Shape& shape = keys->shape();
    if (equal_zeros) {
      Instruction* const zero =
          builder.Compare(elements, builder.Uniform(elements->shape(), 0), Direction::kEq);
      keys = builder.Select(zero, AddUniform(builder, shape, 0), keys);
    }
    if (order.canonical) {
      Instruction* const nan = builder.Compare(elements, elements, Direction::kNe);
      keys = builder.Select(nan, AddUniform(builder, shape, NanOf(type)), keys);
    }
  } else if (type != SignedOf(width)) {
    keys = AddOffset(builder, keys, width);
  }
  return order.descending ? builder.Unary(Opcode::kNot, keys) : keys;
}

std::vector<int64_t> EndLast(int64_t rank, int64_t dimension) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + dimension);
  order.push_back(dimension);
  return order;
}

}  // namespace

bool HasKeys(xla::PrimitiveType type, int bits) {
  return (IsFloat(type) || IsInteger(type)) && xla::primitive_util::BitWidth(type) <= bits;
}

Instruction* AddKeys(const Builder& builder, Instruction* elements, const SortOrder& order) {
  return AddKeys(builder, elements, order, /*equal_zeros=*/order.canonical);
}

Instruction* AddKeysOfSigns(const Builder& builder, Instruction* elements, const SortOrder& order) {
  return AddKeys(builder, elements, order, /*equal_zeros=*/false);
}

Instruction* AddElements(const Builder& builder, Instruction* keys, xla::PrimitiveType type,
                         const SortOrder& order) {
  const int width = xla::primitive_util::BitWidth(type);
  if (order.descending) keys = builder.Unary(Opcode::kNot, keys);
  if (type == SignedOf(width)) return keys;
  keys = IsFloat(type) ? AddFlip(builder, keys, width) : AddOffset(builder, keys, width);
  return builder.BitcastConvert(keys, type);
}

Instruction* AddUniform(const Builder& builder, const xla::Shape& shape, int64_t value) {
  xla::Literal literal =
      xla::LiteralUtil::CreateR0<int64_t>(value).Convert(shape.element_type()).value();
  Instruction* const scalar =
      builder.place()->AddInstruction(Instruction::CreateConstant(std::move(literal)));
  return builder.Broadcast(scalar, shape.dimensions(), {});
}

Instruction* AddIntegerSort(const Builder& builder, Instruction* keys, int64_t dimension) {
  const xla::Shape scalar = xla::ShapeUtil::MakeShape(keys->shape().element_type(), {});
  xla::HloComputation::Builder comparator("is_less");
  Instruction* const lhs =
      comparator.AddInstruction(Instruction::CreateParameter(0, scalar, "lhs"));
  Instruction* const rhs =
      comparator.AddInstruction(Instruction::CreateParameter(1, scalar, "rhs"));
  comparator.AddInstruction(Instruction::CreateCompare(xla::ShapeUtil::MakeShape(xla::PRED, {}),
                                                       lhs, rhs, Direction::kLt));
  xla::HloComputation* const is_less =
      builder.place()->GetModule()->AddEmbeddedComputation(comparator.Build());
  const xla::Shape shape =
      xla::ShapeUtil::MakeShape(keys->shape().element_type(), keys->shape().dimensions());
  // XLA:CPU's stable sort of integers is a radix sort where rows are long, and not slower
  // elsewhere.
  return builder.place()->AddInstruction(
      Instruction::CreateSort(shape, dimension, {keys}, is_less, /*is_stable=*/true));
}

Instruction* AddPackedSort(const Builder& builder, Instruction* keys, int64_t dimension) {
  Instruction* const wide = builder.Convert(keys, xla::S64);
  Instruction* const upper =
      builder.Binary(Opcode::kShiftLeft, wide, AddUniform(builder, wide->shape(), 32));
  Instruction* const lower = builder.Iota(wide->shape(), dimension);
  return AddIntegerSort(builder, builder.Binary(Opcode::kOr, upper, lower), dimension);
}

Instruction* AddPositions(const Builder& builder, Instruction* packed) {
  return builder.Convert(packed, xla::S32);
}

Instruction* AddPackedKeys(const Builder& builder, Instruction* packed, xla::PrimitiveType type) {
  return builder.Convert(builder.Binary(Opcode::kShiftRightArithmetic, packed,
                                        AddUniform(builder, packed->shape(), 32)),
                         type);
}

Instruction* AddTakeAlong(const Builder& builder, Instruction* matrix, Instruction* positions) {
  const int64_t rows = positions->shape().dimensions(0), count = positions->shape().dimensions(1);
  xla::GatherDimensionNumbers numbers;
  numbers.add_collapsed_slice_dims(1);
  numbers.add_start_index_map(1);
  numbers.add_operand_batching_dims(0);
  numbers.add_start_indices_batching_dims(0);
  numbers.set_index_vector_dim(2);
  Instruction* const indices = builder.Reshape(positions, {rows, count, 1});
  const xla::Shape shape = xla::ShapeUtil::MakeShape(matrix->shape().element_type(), {rows, count});
  return builder.place()->AddInstruction(Instruction::CreateGather(
      shape, matrix, indices, numbers, /*slice_sizes=*/{1, 1}, /*indices_are_sorted=*/false));
}

Instruction* AddMoveToEnd(const Builder& builder, Instruction* array, int64_t dimension) {
  return builder.Transpose(array, EndLast(RankOf(array), dimension));
}

Instruction* AddMoveFromEnd(const Builder& builder, Instruction* array, int64_t dimension) {
  const std::vector<int64_t> order = EndLast(RankOf(array), dimension);
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return builder.Transpose(array, inverse);
}

}  // namespace hlograph
