#include "hlograph/native/rewrites/forms/axis_blocks.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/updates.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

using DimensionList = std::vector<int64_t>;
using OptionalList = std::optional<DimensionList>;

bool IsCopied(const Instruction* instruction) {
  if (!IsPlain(instruction)) return false;
  if (IsScatter(instruction)) return true;
  const int64_t count = instruction->operand_count();
  if (count == 0) {
    return instruction->opcode() == Opcode::kConstant || instruction->opcode() == Opcode::kIota;
  }
  const bool once[] = {false, false, false, false, false, false, false, false};
  return count <= 8 && instruction->opcode() != Opcode::kConvolution &&
         IsBatchable(instruction, absl::MakeConstSpan(once, count));
}

// The operand's dimension that a reshape keeps as it is.
OptionalList OfReshape(const Instruction* reshape, int64_t dimension) {
  const absl::Span<const int64_t> to = reshape->shape().dimensions();
  const absl::Span<const int64_t> from = reshape->operand(0)->shape().dimensions();
  const int64_t before = ProductOf(to.subspan(0, dimension));
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[dimension] && ProductOf(from.subspan(0, i)) == before) {
      return DimensionList{static_cast<int64_t>(i)};
    }
  }
  return std::nullopt;
}

OptionalList OfDot(const Instruction* dot, int64_t dimension) {
  const xla::DotDimensionNumbers& numbers = dot->dot_dimension_numbers();
  int64_t before = numbers.lhs_batch_dimensions_size();
  if (dimension < before) {
    return DimensionList{numbers.lhs_batch_dimensions(static_cast<int>(dimension)),
                         numbers.rhs_batch_dimensions(static_cast<int>(dimension))};
  }
  for (int64_t side : {0, 1}) {
    const auto& batch = side == 0 ? numbers.lhs_batch_dimensions() : numbers.rhs_batch_dimensions();
    const auto& summed =
        side == 0 ? numbers.lhs_contracting_dimensions() : numbers.rhs_contracting_dimensions();
    for (int64_t i = 0; i < RankOf(dot->operand(side)); ++i) {
      if (absl::c_linear_search(batch, i) || absl::c_linear_search(summed, i)) continue;
      if (before++ != dimension) continue;
      return side == 0 ? DimensionList{i, kWholeArray} : DimensionList{kWholeArray, i};
    }
  }
  return std::nullopt;
}

// Updates of all elements of a dimension, at positions along others.
OptionalList OfScatter(const Instruction* scatter, int64_t dimension) {
  const xla::ScatterDimensionNumbers& numbers = scatter->scatter_dimension_numbers();
  if (absl::c_linear_search(numbers.scatter_dims_to_operand_dims(), dimension) ||
      numbers.input_batching_dims_size() > 0) {
    return std::nullopt;
  }
  int window = 0;
  for (int64_t i = 0; i <= dimension; ++i) {
    if (absl::c_linear_search(numbers.inserted_window_dims(), i)) {
      if (i == dimension) return std::nullopt;
    } else if (i < dimension) {
      ++window;
    }
  }
  const int64_t update = numbers.update_window_dims(window);
  if (scatter->operand(2)->shape().dimensions(update) != scatter->shape().dimensions(dimension)) {
    return std::nullopt;
  }
  return DimensionList{dimension, kWholeArray, update};
}

OptionalList OfReduce(const Instruction* reduce, int64_t dimension) {
  for (int64_t i = 0; i < RankOf(reduce->operand(0)); ++i) {
    if (absl::c_linear_search(reduce->dimensions(), i)) continue;
    if (dimension-- == 0) return DimensionList{i, kWholeArray};
  }
  return std::nullopt;
}

// The arrays among the first operands, and the scalars after them.
OptionalList OfFirst(const Instruction* instruction, int64_t arrays, int64_t dimension) {
  const int64_t size = instruction->shape().dimensions(dimension);
  for (int64_t i = 0; i < arrays; ++i) {
    if (instruction->operand(i)->shape().dimensions(dimension) != size) return std::nullopt;
  }
  std::vector<int64_t> of(instruction->operand_count(), kWholeArray);
  std::fill_n(of.begin(), arrays, dimension);
  return of;
}

bool IsUnpadded(const xla::PaddingConfig::PaddingConfigDimension& padding) {
  return padding.edge_padding_low() == 0 && padding.edge_padding_high() == 0 &&
         padding.interior_padding() == 0;
}

}  // namespace

std::optional<std::vector<int64_t>> OperandDimensions(const Instruction* instruction,
                                                      int64_t dimension) {
  if (!IsCopied(instruction)) return std::nullopt;
  const int64_t count = instruction->operand_count();
  if (dimension == kWholeArray) return DimensionList(count, kWholeArray);
  if (dimension >= RankOf(instruction)) return std::nullopt;
  switch (instruction->opcode()) {
    case Opcode::kConstant:
      return std::nullopt;
    case Opcode::kIota:
      if (instruction->dimensions(0) == dimension) return std::nullopt;
      return DimensionList();
    case Opcode::kBroadcast: {
      const absl::Span<const int64_t> kept = instruction->dimensions();
      const auto position = absl::c_find(kept, dimension);
      return DimensionList{position == kept.end() ? kWholeArray : position - kept.begin()};
    }
    case Opcode::kTranspose:
      return DimensionList{instruction->dimensions(dimension)};
    case Opcode::kReshape:
      return OfReshape(instruction, dimension);
    case Opcode::kReverse:
      if (absl::c_linear_search(instruction->dimensions(), dimension)) return std::nullopt;
      return DimensionList{dimension};
    case Opcode::kConcatenate:
      if (instruction->concatenate_dimension() == dimension) return std::nullopt;
      return OfFirst(instruction, count, dimension);
    case Opcode::kPad:
      if (!IsUnpadded(instruction->padding_config().dimensions(static_cast<int>(dimension)))) {
        return std::nullopt;
      }
      return OfFirst(instruction, 1, dimension);
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      return OfFirst(instruction, 1, dimension);
    case Opcode::kDynamicUpdateSlice:
      return OfFirst(instruction, 2, dimension);
    case Opcode::kScatter:
      return OfScatter(instruction, dimension);
    case Opcode::kReduce:
      return OfReduce(instruction, dimension);
    case Opcode::kDot:
      return OfDot(instruction, dimension);
    default:
      return OfFirst(instruction, count, dimension);
  }
}

std::unique_ptr<Instruction> CloneForBlock(const Instruction* instruction, int64_t dimension,
                                           int64_t size, absl::Span<Instruction* const> operands) {
  if (dimension == kWholeArray) {
    return instruction->CloneWithNewOperands(instruction->shape(), operands);
  }
  const xla::Shape shape = Resized(instruction->shape(), dimension, size);
  if (instruction->opcode() == Opcode::kDynamicSlice) {
    return Instruction::CreateDynamicSlice(shape, operands[0], operands.subspan(1),
                                           shape.dimensions());
  }
  if (instruction->opcode() == Opcode::kSlice) {
    std::vector<int64_t> limits(instruction->slice_limits().begin(),
                                instruction->slice_limits().end());
    limits[dimension] = size;
    return Instruction::CreateSlice(shape, operands[0], instruction->slice_starts(), limits,
                                    instruction->slice_strides());
  }
  return instruction->CloneWithNewOperands(shape, operands);
}

}  // namespace hlograph
