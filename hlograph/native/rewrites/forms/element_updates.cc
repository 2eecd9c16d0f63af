#include "hlograph/native/rewrites/forms/element_updates.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/updates.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

constexpr int64_t kMaxIndexed = int64_t{1} << 31;  // of a dimension, whose indices have 32 bits

bool HasSignedIndices(const Instruction* instruction, int64_t first, int64_t end) {
  for (int64_t i = first; i < end; ++i) {
    const xla::PrimitiveType type = instruction->operand(i)->shape().element_type();
    if (type != xla::S32 && type != xla::S64) return false;
  }
  return true;
}

bool HasIndexedSizes(const Instruction* array) {
  for (int64_t i = 0; i < RankOf(array); ++i) {
    if (array->shape().dimensions(i) < 1 || array->shape().dimensions(i) >= kMaxIndexed)
      return false;
  }
  return RankOf(array) > 0;
}

bool IsElementScatter(const Instruction* scatter) {
  const xla::ScatterDimensionNumbers& numbers = scatter->scatter_dimension_numbers();
  return IsScatter(scatter) && SizeOf(scatter->operand(2)) == 1 &&
         HasSignedIndices(scatter, 1, 2) && numbers.input_batching_dims_size() == 0 &&
         SizeOf(scatter->operand(1)) == numbers.scatter_dims_to_operand_dims_size() &&
         CombinerOf(scatter).has_value();
}

// The index along a dimension of an array, as dynamic slices and updates clamp it.
Instruction* Inside(const Builder& build, Instruction* index, const Instruction* array,
                    int64_t dimension) {
  const xla::PrimitiveType type = index->shape().element_type();
  const auto last = static_cast<double>(array->shape().dimensions(dimension) - 1);
  index = build.Binary(Opcode::kMaximum, index, build.Scalar(type, 0));
  index = build.Binary(Opcode::kMinimum, index, build.Scalar(type, last));
  return build.Convert(index, xla::S64);
}

}  // namespace

bool IsElementRead(const Instruction* slice) {
  if (slice->opcode() != Opcode::kDynamicSlice || !IsPlain(slice)) return false;
  const Instruction* const array = slice->operand(0);
  if (!array->shape().IsArray() || !array->shape().is_static() || RankOf(slice) != RankOf(array) ||
      slice->operand_count() != RankOf(array) + 1 || !SameType(slice, array) ||
      SizeOf(slice) != 1) {
    return false;
  }
  for (int64_t i = 0; i < RankOf(array); ++i) {
    if (!xla::ShapeUtil::IsScalar(slice->operand(i + 1)->shape())) return false;
  }
  return HasIndexedSizes(array) && HasSignedIndices(slice, 1, slice->operand_count());
}

bool IsElementUpdate(const Instruction* update) {
  if (update->opcode() == Opcode::kScatter) {
    return IsElementScatter(update) && HasIndexedSizes(update);
  }
  return IsSliceUpdate(update) && SizeOf(update->operand(1)) == 1 && HasIndexedSizes(update) &&
         HasSignedIndices(update, 2, update->operand_count());
}

std::vector<Instruction*> UpdateIndices(const Instruction* update) {
  if (update->opcode() == Opcode::kScatter) return {const_cast<Instruction*>(update->operand(1))};
  return {update->operands().begin() + 2, update->operands().end()};
}

ElementPlace PlaceOfRead(const Builder& build, const Instruction* slice) {
  ElementPlace place;
  for (int64_t i = 0; i < RankOf(slice); ++i) {
    auto* const index = const_cast<Instruction*>(slice->operand(i + 1));
    place.push_back(Inside(build, index, slice->operand(0), i));
  }
  return place;
}

ElementPlace PlaceOfUpdate(const Builder& build, const Instruction* update,
                           absl::Span<Instruction* const> indices) {
  ElementPlace place;
  if (update->opcode() != Opcode::kScatter) {
    for (size_t i = 0; i < indices.size(); ++i) {
      place.push_back(Inside(build, indices[i], update, static_cast<int64_t>(i)));
    }
    return place;
  }
  const auto& dimensions = update->scatter_dimension_numbers().scatter_dims_to_operand_dims();
  Instruction* const all = build.Reshape(build.Convert(indices[0], xla::S64), {dimensions.size()});
  place.assign(RankOf(update), build.Scalar(xla::S64, 0));
  for (int i = 0; i < dimensions.size(); ++i) {
    place[dimensions[i]] = build.Reshape(build.SliceOf(all, 0, i, i + 1), {});
  }
  return place;
}

Instruction* IsSamePlace(const Builder& build, const ElementPlace& one, const ElementPlace& other) {
  Instruction* same = build.Compare(one[0], other[0], Direction::kEq);
  for (size_t i = 1; i < one.size(); ++i) {
    same = build.Binary(Opcode::kAnd, same, build.Compare(one[i], other[i], Direction::kEq));
  }
  return same;
}

bool IsUpdatedAt(const Instruction* update, const Instruction* other,
                 absl::Span<Instruction* const> indices) {
  if (!IsElementUpdate(update) || update->opcode() != other->opcode()) return false;
  if (update->opcode() == Opcode::kScatter &&
      !absl::c_equal(update->scatter_dimension_numbers().scatter_dims_to_operand_dims(),
                     other->scatter_dimension_numbers().scatter_dims_to_operand_dims())) {
    return false;
  }
  return absl::c_equal(
      UpdateIndices(update), indices,
      [](const Instruction* one, const Instruction* two) { return IsComputedAlike(one, two); });
}

Instruction* UpdatedElement(const Builder& build, const Instruction* update, Instruction* old) {
  const bool scatters = update->opcode() == Opcode::kScatter;
  Instruction* const element =
      build.Reshape(const_cast<Instruction*>(update->operand(scatters ? 2 : 1)), SizesOf(old));
  const Opcode operation = scatters ? *CombinerOf(update) : Opcode::kParameter;
  return operation == Opcode::kParameter ? element : build.Binary(operation, old, element);
}

}  // namespace hlograph
