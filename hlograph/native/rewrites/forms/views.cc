#include "hlograph/native/rewrites/forms/views.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// The dimension of the result of a reshape that each dimension of the operand is; -1 of size one.
// None if other dimensions are split, joined or moved.
std::optional<std::vector<int64_t>> KeptDimensions(const Instruction* reshape) {
  const absl::Span<const int64_t> from = reshape->operand(0)->shape().dimensions();
  const absl::Span<const int64_t> to = reshape->shape().dimensions();
  std::vector<int64_t> kept(from.size(), -1);
  size_t next = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1) continue;
    while (next < to.size() && to[next] == 1) ++next;
    if (next == to.size() || to[next] != from[i]) return std::nullopt;
    kept[i] = static_cast<int64_t>(next++);
  }
  return kept;
}

bool IsIotaAcross(const Instruction* array, int64_t dimension) {
  return array->opcode() == Opcode::kIota && IsPlain(array) &&
         xla::Cast<xla::HloIotaInstruction>(array)->iota_dimension() != dimension;
}

bool IsEqual(const Instruction* array, int64_t dimension, int hops) {
  if (dimension >= 0 && array->shape().dimensions(dimension) == 1) return true;
  if (hops == kEqualAlongReach) return false;
  if (IsIotaAcross(array, dimension)) return true;
  View view(array);
  if (StepToOperand(view)) {
    const auto inner = absl::c_find(view.dimensions, dimension);
    return inner == view.dimensions.end() ||
           IsEqual(view.source, inner - view.dimensions.begin(), hops + 1);
  }
  const bool is_comparison = array->opcode() == Opcode::kCompare && IsPlain(array);
  if (!IsPointwise(array) && !is_comparison) return false;
  return absl::c_all_of(array->operands(), [&](const Instruction* operand) {
    return operand->shape().IsArray() &&
           xla::ShapeUtil::SameDimensions(operand->shape(), array->shape()) &&
           IsEqual(operand, dimension, hops + 1);
  });
}

// Returns true for types other than that of truth values that an integer fits into.
bool HoldsExactly(xla::PrimitiveType type, int64_t value) {
  if (type == xla::PRED || value < 0) return false;
  const bool is_wide = xla::primitive_util::BitWidth(type) >= 32;
  return value <= (is_wide ? int64_t{1} << 24 : 127);
}

}  // namespace

View::View(const Instruction* array) : source(array), dimensions(RankOf(array)) {
  std::iota(dimensions.begin(), dimensions.end(), 0);
}

bool StepToOperand(View& view) {
  const Instruction* const at = view.source;
  std::vector<int64_t> places;  // of the operand's dimensions
  if (IsBroadcast(at)) {
    places.assign(at->dimensions().begin(), at->dimensions().end());
  } else if (IsRearrangement(at) && at->opcode() == Opcode::kTranspose) {
    places.resize(RankOf(at));
    for (size_t i = 0; i < places.size(); ++i) places[at->dimensions(i)] = static_cast<int64_t>(i);
  } else if (IsRearrangement(at)) {
    std::optional<std::vector<int64_t>> kept = KeptDimensions(at);
    if (!kept.has_value()) return false;
    places = *std::move(kept);
  } else {
    return false;
  }
  for (int64_t& place : places) {
    if (place >= 0) place = view.dimensions[place];
  }
  view = View(at->operand(0));
  view.dimensions = std::move(places);
  return true;
}

bool IsEqualAlong(const Instruction* array, int64_t dimension) {
  return IsEqual(array, dimension, 0);
}

bool HasOnly(const Instruction* array, int64_t value) {
  constexpr int kMaxHops = 4;
  View view(array);
  for (int hops = 0; hops < kMaxHops; ++hops) {
    const Instruction* const at = view.source;
    if (StepToOperand(view)) continue;
    if (at->opcode() != Opcode::kConvert || !IsPointwise(at) ||
        !HoldsExactly(at->shape().element_type(), value)) {
      break;
    }
    view.source = at->operand(0);
  }
  return IsConstantOf(view.source, static_cast<double>(value));
}

Instruction* FirstAlong(const Builder& build, Instruction* array, int64_t dimension) {
  std::vector<int64_t> sizes = SizesOf(array);
  sizes.erase(sizes.begin() + dimension);
  return build.Reshape(build.SliceOf(array, dimension, 0, 1), sizes);
}

}  // namespace hlograph
