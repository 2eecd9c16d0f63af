#include "hlograph/native/rewrites/forms/one_hots.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int kMaxHops = 2;  // of transposes and converts
constexpr int kMaxIotaHops = 6;
constexpr int64_t kMaxClasses = int64_t{1} << 30;

// Dimension along which each element is its index; -1 if there is none.
int64_t IotaDimension(const Instruction* at, int hops = 0) {
  if (hops > kMaxIotaHops || !IsPlain(at)) return -1;
  if (at->opcode() == Opcode::kIota) {
    const int64_t dimension = xla::Cast<xla::HloIotaInstruction>(at)->iota_dimension();
    const int64_t rank = at->shape().dimensions().size();
    return dimension >= 0 && dimension < rank ? dimension : -1;
  }
  if (IsBroadcast(at)) {
    const int64_t inner = IotaDimension(at->operand(0), hops + 1);
    return inner < 0 ? -1 : at->dimensions(inner);
  }
  if (!IsRearrangement(at)) return -1;
  const int64_t inner = IotaDimension(at->operand(0), hops + 1);
  if (inner < 0) return -1;
  if (at->opcode() == Opcode::kTranspose) {
    return std::find(at->dimensions().begin(), at->dimensions().end(), inner) -
           at->dimensions().begin();
  }
  // A reshape that only adds and drops dimensions of size one.
  const absl::Span<const int64_t> from = at->operand(0)->shape().dimensions();
  const absl::Span<const int64_t> to = at->shape().dimensions();
  std::vector<int64_t> old_places, new_places;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) old_places.push_back(i);
  }
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != 1) new_places.push_back(i);
  }
  if (old_places.size() != new_places.size()) return -1;
  for (size_t i = 0; i < old_places.size(); ++i) {
    if (from[old_places[i]] != to[new_places[i]]) return -1;
    if (old_places[i] == inner) return new_places[i];
  }
  return -1;
}

bool IsLabelType(xla::PrimitiveType type) {
  return type == xla::S32 || type == xla::U32 || type == xla::S64;
}

std::optional<OneHot> FromComparison(const Instruction* compare) {
  if (compare->opcode() != Opcode::kCompare || !IsPlain(compare) ||
      compare->comparison_direction() != xla::ComparisonDirection::kEq) {
    return std::nullopt;
  }
  const int64_t rank = compare->shape().dimensions().size();
  for (int side : {0, 1}) {
    const Instruction* const labels = compare->operand(side);
    const Instruction* const classes = compare->operand(1 - side);
    if (!IsBroadcast(labels) || !SameArray(labels, classes) ||
        !IsLabelType(labels->shape().element_type()) ||
        !xla::ShapeUtil::SameDimensions(labels->shape(), compare->shape())) {
      continue;
    }
    const int64_t dimension = IotaDimension(classes);
    const std::vector<int64_t> dimensions(labels->dimensions().begin(), labels->dimensions().end());
    if (dimension < 0 || static_cast<int64_t>(dimensions.size()) != rank - 1 ||
        std::find(dimensions.begin(), dimensions.end(), dimension) != dimensions.end() ||
        compare->shape().dimensions(dimension) > kMaxClasses) {
      continue;
    }
    return OneHot{labels->operand(0), dimensions, dimension};
  }
  return std::nullopt;
}

std::optional<OneHot> Find(const Instruction* array, int hops) {
  if (hops > kMaxHops || !IsPlain(array)) return std::nullopt;
  if (array->opcode() == Opcode::kTranspose) {
    if (!IsRearrangement(array)) return std::nullopt;
    std::optional<OneHot> found = Find(array->operand(0), hops + 1);
    if (!found.has_value()) return std::nullopt;
    const auto place = [&](int64_t dimension) {
      return std::find(array->dimensions().begin(), array->dimensions().end(), dimension) -
             array->dimensions().begin();
    };
    for (int64_t& dimension : found->dimensions) dimension = place(dimension);
    found->classes = place(found->classes);
    return found;
  }
  if (array->opcode() == Opcode::kConvert) {
    const Instruction* const operand = array->operand(0);
    if (!operand->shape().IsArray() ||
        !xla::ShapeUtil::SameDimensions(array->shape(), operand->shape())) {
      return std::nullopt;
    }
    return operand->opcode() == Opcode::kConvert ? Find(operand, hops + 1)
                                                 : FromComparison(operand);
  }
  if (array->opcode() == Opcode::kSelect && IsConstantOf(array->operand(1), 1) &&
      IsConstantOf(array->operand(2), 0) && IsPointwise(array)) {
    return FromComparison(array->operand(0));
  }
  return FromComparison(array);
}

}  // namespace

std::optional<OneHot> FindOneHot(const Instruction* array) { return Find(array, 0); }

bool HasFewRows(const Instruction* one_hot) {
  return xla::ShapeUtil::ElementsIn(one_hot->shape()) < std::numeric_limits<int32_t>::max();
}

RowIndices BuildRowIndices(const Builder& build, const OneHot& one_hot, int64_t classes,
                           const std::vector<int64_t>& order, int64_t batch) {
  Instruction* const labels = build.Transpose(const_cast<Instruction*>(one_hot.labels), order);
  const absl::Span<const int64_t> sizes = labels->shape().dimensions();
  const int64_t batches =
      std::accumulate(sizes.begin(), sizes.begin() + batch, int64_t{1}, std::multiplies<>());
  const int64_t count = xla::ShapeUtil::ElementsIn(labels->shape());
  Instruction* const flat = build.Reshape(labels, {count});
  Instruction* const zero = build.Uniform(flat->shape(), 0);
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
