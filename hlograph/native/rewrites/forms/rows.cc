#include "hlograph/native/rewrites/forms/rows.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/shape_inference.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// Indices of a vector, as the column that gathers and scatters take.
Instruction* AsColumn(const Builder& build, Instruction* indices) {
  return build.Reshape(indices, {indices->shape().dimensions(0), 1});
}

bool IsValidGather(const Instruction* gather) {
  if (gather->opcode() != Opcode::kGather || !IsPlain(gather)) return false;
  for (const Instruction* operand : gather->operands()) {
    if (!operand->shape().IsArray() || !operand->shape().is_static()) return false;
  }
  const absl::StatusOr<xla::Shape> shape = xla::ShapeInference::InferGatherShape(
      gather->operand(0)->shape(), gather->operand(1)->shape(), gather->gather_dimension_numbers(),
      gather->gather_slice_sizes());
  return shape.ok() && xla::ShapeUtil::Compatible(*shape, gather->shape());
}

}  // namespace

std::optional<RowGather> FindRowGather(const Instruction* gather) {
  if (!IsValidGather(gather)) return std::nullopt;
  const xla::GatherDimensionNumbers& numbers = gather->gather_dimension_numbers();
  const xla::Shape& table = gather->operand(0)->shape();
  const xla::Shape& indices = gather->operand(1)->shape();
  if (numbers.collapsed_slice_dims_size() != 1 || numbers.collapsed_slice_dims(0) != 0 ||
      numbers.start_index_map_size() != 1 || numbers.start_index_map(0) != 0 ||
      numbers.operand_batching_dims_size() != 0 || table.dimensions().empty() ||
      table.dimensions(0) == 0) {
    return std::nullopt;
  }
  const int64_t width = table.dimensions().size() - 1;
  const int64_t index_dimensions = gather->shape().dimensions().size() - width;
  for (int64_t i = 0; i < width; ++i) {
    if (numbers.offset_dims(i) != index_dimensions + i ||
        gather->gather_slice_sizes()[i + 1] != table.dimensions(i + 1)) {
      return std::nullopt;
    }
  }
  return RowGather{gather->operand(0), index_dimensions, xla::ShapeUtil::ElementsIn(indices)};
}

Instruction* GatherLike(const Builder& build, Instruction* gather, Instruction* table) {
  const RowGather like = *FindRowGather(gather);
  const absl::Span<const int64_t> old = gather->shape().dimensions();
  std::vector<int64_t> sizes(old.begin(), old.begin() + like.index_dimensions);
  std::vector<int64_t> slice = {1}, offset_dims;
  for (size_t i = 1; i < table->shape().dimensions().size(); ++i) {
    offset_dims.push_back(sizes.size());
    sizes.push_back(table->shape().dimensions(i));
    slice.push_back(table->shape().dimensions(i));
  }
  const xla::GatherDimensionNumbers numbers = xla::HloGatherInstruction::MakeGatherDimNumbers(
      offset_dims, {0}, {0}, gather->gather_dimension_numbers().index_vector_dim());
  return build.place()->AddInstruction(Instruction::CreateGather(
      xla::ShapeUtil::MakeShape(table->shape().element_type(), sizes), table,
      gather->mutable_operand(1), numbers, slice,
      xla::Cast<xla::HloGatherInstruction>(gather)->indices_are_sorted()));
}

Instruction* GatherRows(const Builder& build, Instruction* matrix, Instruction* indices) {
  const int64_t width = matrix->shape().dimensions(1);
  const xla::GatherDimensionNumbers numbers =
      xla::HloGatherInstruction::MakeGatherDimNumbers({1}, {0}, {0}, /*index_vector_dim=*/1);
  const xla::Shape shape = xla::ShapeUtil::MakeShape(matrix->shape().element_type(),
                                                     {indices->shape().dimensions(0), width});
  return build.place()->AddInstruction(
      Instruction::CreateGather(shape, matrix, AsColumn(build, indices), numbers, {1, width},
                                /*indices_are_sorted=*/false));
}

Instruction* SumRows(const Builder& build, Instruction* rows, Instruction* indices, int64_t count) {
  const xla::PrimitiveType type = rows->shape().element_type();
  const xla::Shape shape = xla::ShapeUtil::MakeShape(type, {count, rows->shape().dimensions(1)});
  const xla::ScatterDimensionNumbers numbers =
      xla::HloScatterInstruction::MakeScatterDimNumbers({1}, {0}, {0}, /*index_vector_dim=*/1);
  return build.place()->AddInstruction(
      Instruction::CreateScatter(shape, build.Uniform(shape, 0), AsColumn(build, indices), rows,
                                 build.ScalarOperation(Opcode::kAdd, type), numbers,
                                 /*indices_are_sorted=*/false, /*unique_indices=*/false));
}

}  // namespace hlograph
