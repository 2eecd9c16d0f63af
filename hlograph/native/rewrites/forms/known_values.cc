#include "hlograph/native/rewrites/forms/known_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/known_elements.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kMaxKnownElements = int64_t{1} << 17;
constexpr int64_t kMaxKnownInstructions = 64;

// The elements of an array of s32, f32 or pred, which a double holds without rounding.
struct Values {
  std::vector<double> elements;
  bool rounded = false;  // true if XLA may compute elements that are not quite these
};

using Known = std::optional<Values>;

bool IsReadable(const Instruction* array) {
  const xla::Shape& shape = array->shape();
  if (!shape.IsArray() || !shape.is_static() || !IsCountable(shape.dimensions())) return false;
  const xla::PrimitiveType type = shape.element_type();
  return (type == xla::S32 || type == xla::F32 || type == xla::PRED) &&
         SizeOf(array) <= kMaxKnownElements;
}

// Row-major strides.
std::vector<int64_t> StridesOf(absl::Span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (auto i = static_cast<int64_t>(sizes.size()) - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * sizes[i + 1];
  }
  return strides;
}

// Takes the element at `start` plus the steps of each dimension, for each element of the sizes.
std::vector<double> Stepped(const std::vector<double>& from, absl::Span<const int64_t> sizes,
                            absl::Span<const int64_t> steps, int64_t start) {
  const int64_t count = ProductOf(sizes);
  std::vector<double> taken;
  taken.reserve(count);
  std::vector<int64_t> at(sizes.size(), 0);
  int64_t position = start;
  while (static_cast<int64_t>(taken.size()) < count) {
    taken.push_back(from[position]);
    for (auto i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
      position += steps[i];
      if (++at[i] < sizes[i]) break;
      position -= steps[i] * sizes[i];
      at[i] = 0;
    }
  }
  return taken;
}

class KnownValues {
 public:
  Known Of(const Instruction* array, int depth) {
    if (const auto found = seen_.find(array); found != seen_.end()) return found->second;
    if (depth > kKnownDepth || static_cast<int64_t>(seen_.size()) >= kMaxKnownInstructions ||
        !IsReadable(array)) {
      return std::nullopt;
    }
    seen_[array] = std::nullopt;
    Known known = Computed(array, depth);
    if (known.has_value() && !Fits(array, known->elements)) known = std::nullopt;
    seen_[array] = known;
    return known;
  }

 private:
  static bool Fits(const Instruction* array, const std::vector<double>& elements) {
    if (static_cast<int64_t>(elements.size()) != SizeOf(array)) return false;
    // Sums of integers that are too large wrap around, and other floats are not for positions.
    return std::all_of(elements.begin(), elements.end(),
                       [](double one) { return std::abs(one) < (int64_t{1} << 31); });
  }

  Known Computed(const Instruction* array, int depth) {
    switch (array->opcode()) {
      case Opcode::kConstant:
        return OfConstant(array);
      case Opcode::kIota:
        return OfIota(array);
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kSlice:
        return Rearranged(array, depth);
      case Opcode::kConcatenate:
        return Concatenated(array, depth);
      default:
        return Pointwise(array, depth);
    }
  }

  static Known OfConstant(const Instruction* array) {
    if (!xla::LayoutUtil::IsMonotonicWithDim0Major(array->literal().shape().layout())) {
      return std::nullopt;
    }
    const auto doubles = array->literal().Convert(xla::F64);
    if (!doubles.ok()) return std::nullopt;
    const absl::Span<const double> data = doubles->data<double>();
    return Values{{data.begin(), data.end()}};
  }

  static Known OfIota(const Instruction* array) {
    const int64_t dimension = xla::Cast<xla::HloIotaInstruction>(array)->iota_dimension();
    const std::vector<int64_t> sizes = SizesOf(array);
    if (dimension < 0 || dimension >= static_cast<int64_t>(sizes.size())) return std::nullopt;
    const int64_t stride = StridesOf(sizes)[dimension];
    Values values;
    for (int64_t i = 0; i < SizeOf(array); ++i) {
      values.elements.push_back(static_cast<double>(i / stride % sizes[dimension]));
    }
    return values;
  }

  Known Rearranged(const Instruction* array, int depth) {
    const Instruction* const operand = array->operand(0);
    if (!SameType(array, operand)) return std::nullopt;
    if (!IsBroadcast(array) && !IsRearrangement(array) && !IsSlice(array)) return std::nullopt;
    Known known = Of(operand, depth + 1);
    if (!known.has_value() || array->opcode() == Opcode::kReshape) return known;
    const std::vector<int64_t> from = StridesOf(SizesOf(operand));
    std::vector<int64_t> steps(RankOf(array), 0);
    int64_t start = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      if (array->opcode() == Opcode::kBroadcast) steps[array->dimensions(i)] = from[i];
      if (array->opcode() == Opcode::kTranspose) steps[i] = from[array->dimensions(i)];
      if (array->opcode() == Opcode::kSlice) {
        steps[i] = from[i] * array->slice_strides(i);
        start += from[i] * array->slice_starts(i);
      }
    }
    known->elements = Stepped(known->elements, SizesOf(array), steps, start);
    return known;
  }

  Known Concatenated(const Instruction* array, int depth) {
    if (!IsConcatenate(array)) return std::nullopt;
    const std::vector<int64_t> sizes = SizesOf(array);
    const int64_t rows =
        ProductOf(absl::MakeSpan(sizes).subspan(0, array->concatenate_dimension()));
    std::vector<Values> parts;
    Values values;
    for (const Instruction* operand : array->operands()) {
      const Known part = Of(operand, depth + 1);
      if (!part.has_value()) return std::nullopt;
      parts.push_back(*part);
      values.rounded |= part->rounded;
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (const Values& part : parts) {
        const int64_t width = part.elements.size() / rows;
        const auto begin = part.elements.begin() + row * width;
        values.elements.insert(values.elements.end(), begin, begin + width);
      }
    }
    return values;
  }

  Known Pointwise(const Instruction* array, int depth) {
    if (array->operand_count() < 1 || array->operand_count() > 3) return std::nullopt;
    std::vector<Values> operands;
    Values values;
    for (const Instruction* operand : array->operands()) {
      // The bounds of clamp may be scalars.
      Known known = Of(operand, depth + 1);
      if (!known.has_value()) return std::nullopt;
      if (operand->shape().dimensions().empty()) {
        known->elements.resize(SizeOf(array), known->elements.front());
      } else if (!xla::ShapeUtil::SameDimensions(operand->shape(), array->shape())) {
        return std::nullopt;
      }
      values.rounded |= known->rounded;
      operands.push_back(*std::move(known));
    }
    for (int64_t i = 0; i < SizeOf(array); ++i) {
      double given[3] = {0, 0, 0};
      for (size_t k = 0; k < operands.size(); ++k) given[k] = operands[k].elements[i];
      const std::optional<double> value = KnownElement(array, given, values.rounded);
      if (!value.has_value()) return std::nullopt;
      values.elements.push_back(*value);
    }
    // A step that is far enough away is certain.
    if (IsStep(array)) values.rounded = false;
    return values;
  }

  std::map<const Instruction*, Known> seen_;
};

}  // namespace

std::optional<std::vector<int64_t>> KnownIntegers(const Instruction* array) {
  if (array->shape().element_type() != xla::S32) return std::nullopt;
  const Known known = KnownValues().Of(array, 0);
  if (!known.has_value() || known->rounded) return std::nullopt;
  return std::vector<int64_t>(known->elements.begin(), known->elements.end());
}

}  // namespace hlograph
