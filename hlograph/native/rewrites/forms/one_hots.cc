#include "hlograph/native/rewrites/forms/one_hots.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int kMaxHops = 9;
constexpr int kMaxClassHops = 7;
constexpr int64_t kMaxClasses = int64_t{1} << 30;
constexpr int64_t kMaxConstantClasses = int64_t{1} << 14;
constexpr int64_t kMaxIdentity = 256;  // rows of a constant

// The labels of classes: `first` plus the index along a dimension.
struct Classes {
  int64_t dimension = 0;
  int64_t first = 0;
};

// The first of consecutive integers, in an array of one dimension beside those of size one.
std::optional<int64_t> FirstOfConsecutive(const Instruction* constant) {
  const int64_t count = SizeOf(constant);
  if (count > kMaxConstantClasses || count < 1) return std::nullopt;
  const xla::Literal flat = constant->literal().Reshape({count}).value_or(xla::Literal());
  if (!xla::primitive_util::IsIntegralType(flat.shape().element_type())) return std::nullopt;
  const std::optional<int64_t> first = flat.GetIntegralAsS64({0});
  for (int64_t i = 0; first.has_value() && i < count; ++i) {
    if (flat.GetIntegralAsS64({i}) != *first + i) return std::nullopt;
  }
  return first;
}

// The integer that all elements of a constant are.
std::optional<int64_t> UniformInteger(const Instruction* array) {
  if (IsUniform(array)) array = array->operand(0);
  if (array->opcode() != Opcode::kConstant || !xla::ShapeUtil::IsScalar(array->shape()) ||
      !xla::primitive_util::IsIntegralType(array->shape().element_type())) {
    return std::nullopt;
  }
  return array->literal().GetIntegralAsS64({});
}

std::optional<Classes> FindClasses(const Instruction* array) {
  View view(array);
  int64_t first = 0;
  for (int hops = 0; hops < kMaxClassHops; ++hops) {
    if (StepToOperand(view)) continue;
    const Instruction* const at = view.source;
    if (at->opcode() != Opcode::kAdd || !IsPointwise(at)) break;
    std::optional<int64_t> added;
    for (int side : {0, 1}) {
      if (added.has_value()) continue;
      added = UniformInteger(at->operand(side));
      if (added.has_value()) view.source = at->operand(1 - side);
    }
    if (!added.has_value()) return std::nullopt;
    first += *added;
  }
  const Instruction* const at = view.source;
  if (!IsPlain(at)) return std::nullopt;
  if (at->opcode() == Opcode::kIota) {
    const int64_t dimension = xla::Cast<xla::HloIotaInstruction>(at)->iota_dimension();
    if (dimension < 0 || dimension >= RankOf(at) || view.dimensions[dimension] < 0) {
      return std::nullopt;
    }
    return Classes{view.dimensions[dimension], first};
  }
  if (at->opcode() != Opcode::kConstant) return std::nullopt;
  std::optional<int64_t> dimension;
  for (int64_t i = 0; i < RankOf(at); ++i) {
    if (at->shape().dimensions(i) == 1) continue;
    if (dimension.has_value()) return std::nullopt;
    dimension = view.dimensions[i];
  }
  const std::optional<int64_t> start = FirstOfConsecutive(at);
  if (!dimension.has_value() || *dimension < 0 || !start.has_value()) return std::nullopt;
  return Classes{*dimension, first + *start};
}

// Returns true if labels have a type that holds those of all classes, so that none of them occurs
// twice. Sums of 32 bits or more wrap around as the labels do.
bool AreDistinct(xla::PrimitiveType type, const Classes& classes, int64_t count) {
  if (count > kMaxClasses || std::abs(classes.first) > kMaxClasses) return false;
  const int64_t last = classes.first + count - 1;
  switch (type) {
    case xla::S32:
    case xla::S64:
      return true;
    case xla::U32:
    case xla::U64:
      return classes.first >= 0;
    case xla::S8:
      return classes.first >= -128 && last <= 127;
    case xla::U8:
      return classes.first >= 0 && last <= 255;
    case xla::S16:
      return classes.first >= -32768 && last <= 32767;
    case xla::U16:
      return classes.first >= 0 && last <= 65535;
    default:
      return false;
  }
}

std::optional<OneHot> FromComparison(const Instruction* compare) {
  if (compare->opcode() != Opcode::kCompare || !IsPlain(compare) ||
      compare->comparison_direction() != xla::ComparisonDirection::kEq) {
    return std::nullopt;
  }
  for (int side : {0, 1}) {
    const Instruction* const labels = compare->operand(side);
    const Instruction* const classes = compare->operand(1 - side);
    if (!IsBroadcast(labels) || !SameArray(labels, classes) ||
        !xla::ShapeUtil::SameDimensions(labels->shape(), compare->shape())) {
      continue;
    }
    const std::optional<Classes> found = FindClasses(classes);
    if (!found.has_value() || absl::c_linear_search(labels->dimensions(), found->dimension) ||
        !AreDistinct(labels->shape().element_type(), *found,
                     compare->shape().dimensions(found->dimension))) {
      continue;
    }
    const std::vector<int64_t> dimensions(labels->dimensions().begin(), labels->dimensions().end());
    return OneHot{labels->operand(0), dimensions, found->dimension, found->first};
  }
  return std::nullopt;
}

bool IsConvert(const Instruction* array) {
  return array->opcode() == Opcode::kConvert && IsPlain(array) &&
         array->operand(0)->shape().IsArray() &&
         xla::ShapeUtil::SameDimensions(array->shape(), array->operand(0)->shape());
}

// Ones where a predicate is true, and zeros.
bool IsChoiceOfOnes(const Instruction* array) {
  return array->opcode() == Opcode::kSelect && IsPointwise(array) &&
         HasOnly(array->operand(1), 1) && HasOnly(array->operand(2), 0);
}

// Returns true for a square matrix that is one where both indices are equal, and zero elsewhere.
bool IsIdentity(const Instruction* matrix) {
  const xla::Shape& shape = matrix->shape();
  if (!shape.IsArray() || RankOf(matrix) != 2 || shape.dimensions(0) != shape.dimensions(1)) {
    return false;
  }
  while (IsConvert(matrix) || IsChoiceOfOnes(matrix)) matrix = matrix->operand(0);
  const int64_t count = shape.dimensions(0);
  if (matrix->opcode() == Opcode::kConstant && count <= kMaxIdentity) {
    const xla::Literal& literal = matrix->literal();
    for (int64_t i = 0; i < count * count; ++i) {
      if (literal.GetAsDouble({i / count, i % count}) != (i / count == i % count)) return false;
    }
    return true;
  }
  if (matrix->opcode() != Opcode::kCompare || !IsPlain(matrix) ||
      matrix->comparison_direction() != xla::ComparisonDirection::kEq) {
    return false;
  }
  const std::optional<Classes> rows = FindClasses(matrix->operand(0));
  const std::optional<Classes> columns = FindClasses(matrix->operand(1));
  return rows.has_value() && columns.has_value() && rows->dimension != columns->dimension &&
         rows->first == columns->first &&
         AreDistinct(matrix->operand(0)->shape().element_type(), *rows, count);
}

// Rows of an identity matrix, gathered by a vector or array of labels.
std::optional<OneHot> FromIdentityRows(const Instruction* gather) {
  if (gather->opcode() != Opcode::kGather || !IsPlain(gather)) return std::nullopt;
  const Instruction* const labels = gather->operand(1);
  const xla::GatherDimensionNumbers& numbers = gather->gather_dimension_numbers();
  if (!IsRearrangement(labels) || labels->opcode() != Opcode::kReshape ||
      numbers.index_vector_dim() != RankOf(labels) - 1 || numbers.start_index_map_size() != 1 ||
      numbers.collapsed_slice_dims_size() != 1 || numbers.operand_batching_dims_size() > 0 ||
      numbers.collapsed_slice_dims(0) != numbers.start_index_map(0) ||
      numbers.offset_dims_size() != 1 || RankOf(labels) != RankOf(gather) ||
      !IsIdentity(gather->operand(0)) ||
      gather->gather_slice_sizes()[1 - numbers.start_index_map(0)] !=
          gather->operand(0)->shape().dimensions(0)) {
    return std::nullopt;
  }
  OneHot found{labels->operand(0), {}, numbers.offset_dims(0), /*first=*/0, /*is_clamped=*/true};
  const absl::Span<const int64_t> sizes = labels->shape().dimensions();
  if (sizes.back() != 1 || !xla::primitive_util::IsIntegralType(labels->shape().element_type()) ||
      found.labels->shape().dimensions() != sizes.first(sizes.size() - 1)) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < RankOf(gather); ++i) {
    if (i != found.classes) found.dimensions.push_back(i);
  }
  return found;
}

}  // namespace

std::optional<OneHot> FindRepeatedOneHot(const Instruction* array) {
  View view(array);
  for (int hops = 0; hops < kMaxHops; ++hops) {
    if (IsConvert(view.source) || IsChoiceOfOnes(view.source)) {
      view.source = view.source->operand(0);
    } else if (!StepToOperand(view)) {
      break;
    }
  }
  std::optional<OneHot> found = FromComparison(view.source);
  if (!found.has_value()) found = FromIdentityRows(view.source);
  if (!found.has_value()) return std::nullopt;
  for (int64_t& dimension : found->dimensions) {
    dimension = view.dimensions[dimension];
    if (dimension < 0) return std::nullopt;
  }
  found->classes = view.dimensions[found->classes];
  return found->classes < 0 ? std::nullopt : found;
}

std::optional<OneHot> FindOneHot(const Instruction* array) {
  std::optional<OneHot> found = FindRepeatedOneHot(array);
  if (!found.has_value()) return std::nullopt;
  return static_cast<int64_t>(found->dimensions.size()) == RankOf(array) - 1 ? found : std::nullopt;
}

bool IsSummedType(const Instruction* array) {
  switch (array->shape().element_type()) {
    case xla::F32:
    case xla::F64:
    case xla::S32:
    case xla::S64:
    case xla::U32:
    case xla::U64:
      return true;
    default:
      return false;
  }
}

bool HasFewRows(const Instruction* one_hot) {
  return xla::ShapeUtil::ElementsIn(one_hot->shape()) < std::numeric_limits<int32_t>::max();
}

RowIndices BuildRowIndices(const Builder& build, const OneHot& one_hot, int64_t classes,
                           const std::vector<int64_t>& order, int64_t batch) {
  Instruction* labels = build.Transpose(const_cast<Instruction*>(one_hot.labels), order);
  // Narrow integers need not hold the number of classes.
  const xla::PrimitiveType type = labels->shape().element_type();
  if (xla::primitive_util::BitWidth(type) < 32) labels = build.Convert(labels, xla::S32);
  const absl::Span<const int64_t> sizes = labels->shape().dimensions();
  const int64_t batches =
      std::accumulate(sizes.begin(), sizes.begin() + batch, int64_t{1}, std::multiplies<>());
  const int64_t count = xla::ShapeUtil::ElementsIn(labels->shape());
  Instruction* flat = build.Reshape(labels, {count});
  if (one_hot.first != 0) {
    flat = build.Binary(Opcode::kSubtract, flat, build.Uniform(flat->shape(), one_hot.first));
  }
  Instruction* const zero = build.Uniform(flat->shape(), 0);
  if (one_hot.is_clamped) {
    Instruction* const last = build.Uniform(flat->shape(), static_cast<double>(classes - 1));
    flat = build.Binary(Opcode::kMinimum, build.Binary(Opcode::kMaximum, flat, zero), last);
  }
  Instruction* const end = build.Uniform(flat->shape(), static_cast<double>(classes));
  Instruction* const valid =
      build.Binary(Opcode::kAnd, build.Compare(flat, zero, xla::ComparisonDirection::kGe),
                   build.Compare(flat, end, xla::ComparisonDirection::kLt));
  Instruction* index = build.Convert(build.Select(valid, flat, zero), xla::S32);
  if (batches > 1) {
    const xla::Shape shape = xla::ShapeUtil::MakeShape(xla::S32, {batches, count / batches});
    Instruction* const number = build.Reshape(build.Iota(shape, 0), {count});
    Instruction* const start =
        build.Binary(Opcode::kMultiply, number, build.Uniform(number->shape(), classes));
    index = build.Binary(Opcode::kAdd, index, start);
  }
  return {index, valid};
}

}  // namespace hlograph
