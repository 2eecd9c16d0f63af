// Elements at positions that follow from constants, as the median's in a sorted array.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int kMaxElementDepth = 7;

// The value of an array of one element, if it follows from constants by what jax.numpy.quantile
// computes positions with; of type f32 or s32.
std::optional<double> ValueOf(const Instruction* scalar, int depth = kMaxElementDepth) {
  const xla::Shape& shape = scalar->shape();
  if (depth < 0 || !shape.IsArray() || !shape.is_static() ||
      xla::ShapeUtil::ElementsIn(shape) != 1) {
    return std::nullopt;
  }
  const bool is_float = shape.element_type() == xla::F32;
  if (!is_float && shape.element_type() != xla::S32) return std::nullopt;
  if (scalar->opcode() == Opcode::kConstant) {
    if (is_float) return scalar->literal().GetFirstElement<float>();
    return scalar->literal().GetFirstElement<int32_t>();
  }
  std::vector<double> values;
  for (const Instruction* operand : scalar->operands()) {
    const std::optional<double> value = ValueOf(operand, depth - 1);
    if (!value.has_value() ||
        (scalar->opcode() != Opcode::kConvert && !SameType(operand, scalar))) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  switch (scalar->opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kReshape:
      return values[0];
    case Opcode::kMultiply:
      if (!is_float) return std::nullopt;
      return static_cast<float>(values[0]) * static_cast<float>(values[1]);
    case Opcode::kFloor:
      return std::floor(values[0]);
    case Opcode::kCeil:
      return std::ceil(values[0]);
    case Opcode::kClamp:
      return std::min(std::max(values[0], values[1]), values[2]);
    case Opcode::kConvert:
      if (!(std::abs(values[0]) < (1 << 30))) return std::nullopt;
      return is_float ? static_cast<float>(values[0]) : std::trunc(values[0]);
    default:
      return std::nullopt;
  }
}

class GatherAsSlice : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kMaxElementDepth + 1, .users = 0}; }

 protected:
  bool Matches(const Instruction* gather) const override {
    if (gather->opcode() != Opcode::kGather || !IsPlain(gather) || gather->operand_count() != 2) {
      return false;
    }
    const xla::GatherDimensionNumbers& numbers = gather->gather_dimension_numbers();
    const xla::Shape& shape = gather->operand(0)->shape();
    if (!shape.IsArray() || !shape.is_static() || xla::ShapeUtil::IsZeroElementArray(shape) ||
        !SameType(gather, gather->operand(0)) || numbers.start_index_map_size() != 1 ||
        numbers.collapsed_slice_dims_size() != 1 || numbers.operand_batching_dims_size() != 0 ||
        numbers.collapsed_slice_dims(0) != numbers.start_index_map(0)) {
      return false;
    }
    const int64_t rank = shape.dimensions().size(), dimension = numbers.start_index_map(0);
    if (dimension < 0 || dimension >= rank || numbers.offset_dims_size() != rank - 1 ||
        static_cast<int64_t>(gather->gather_slice_sizes().size()) != rank) {
      return false;
    }
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t size = i == dimension ? 1 : shape.dimensions(i);
      if (gather->gather_slice_sizes()[i] != size) return false;
    }
    return xla::ShapeUtil::ElementsIn(gather->shape()) * shape.dimensions(dimension) ==
               xla::ShapeUtil::ElementsIn(shape) &&
           ValueOf(gather->operand(1)).has_value();
  }

  Instruction* Build(Instruction* gather) const override {
    const Builder builder(gather);
    Instruction* const array = gather->mutable_operand(0);
    const int64_t dimension = gather->gather_dimension_numbers().start_index_map(0);
    // Positions out of bounds are those at the bounds.
    const int64_t last = array->shape().dimensions(dimension) - 1;
    const int64_t position = std::clamp<int64_t>(*ValueOf(gather->operand(1)), 0, last);
    return builder.Reshape(builder.SliceOf(array, dimension, position, position + 1),
                           gather->shape().dimensions());
  }
};

}  // namespace

const RuleTopic kSortedElementForms(308, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<GatherAsSlice>(
      Identity{"gather-at-constant-as-slice", "gather(x, c) = slice of x at c",
               "Slices what is gathered at one position that follows from constants, as a median "
               "of a sorted "
               "array.",
               Numerics::kExact}));
});

}  // namespace hlograph
