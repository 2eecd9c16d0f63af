// Windows over neighbouring elements, as in pooling, as sums or maxima of slices. XLA:CPU computes
// slices in one vectorized loop, but visits the elements of a window one at a time.
#include "hlograph/native/rewrites/forms/windows.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kMostTapsOfAxis = 64;
constexpr int64_t kMostSlices = 8;  // of one axis; more are combined by pairs, pairs of pairs, ...

// Returns true for a window over all elements up to each one, or from it on.
bool IsRunning(absl::Span<const Sliding> axes, absl::Span<const int64_t> sizes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const Sliding& axis = axes[i];
    const bool to_an_edge = axis.low == 0 || axis.high == 0;
    if (axis.taps > 2 && axis.taps == sizes[i] && to_an_edge &&
        axis.low + axis.high == sizes[i] - 1) {
      return true;
    }
  }
  return false;
}

// Returns what combines the elements of windows of the types that have a form by slices.
std::optional<Opcode> FindCombination(const Instruction* window) {
  switch (window->shape().element_type()) {
    case xla::F32:
    case xla::F64:
    case xla::S32:
      return CombinationOf(window, {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum});
    case xla::PRED:
      return CombinationOf(window, {Opcode::kOr});
    default:
      return std::nullopt;
  }
}

// Sums, maxima and minima of windows, along one axis after the other.
class WindowAsSlices : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* window) const override {
    if (window->opcode() != Opcode::kReduceWindow || !IsPlain(window) ||
        window->operand_count() != 2) {
      return false;
    }
    const Instruction* const operand = window->operand(0);
    if (!operand->shape().IsArray() || !operand->shape().is_static() ||
        !SameType(window, operand) || !SameType(window, window->operand(1)) ||
        !FindCombination(window).has_value()) {
      return false;
    }
    const std::vector<int64_t> sizes = SizesOf(operand);
    const auto axes = SlidingOver(window->window(), sizes, window->shape().dimensions());
    if (!axes.has_value() || IsRunning(*axes, sizes)) return false;
    for (const Sliding& axis : *axes) {
      if (axis.taps > 1 || axis.stride > 1) return true;
    }
    return false;
  }

  Instruction* Build(Instruction* window) const override {
    const Builder builder(window);
    Instruction* const operand = window->mutable_operand(0);
    const std::vector<Sliding> axes =
        *SlidingOver(window->window(), SizesOf(operand), window->shape().dimensions());
    xla::PaddingConfig padding;
    for (const Sliding& axis : axes) {
      auto* const dimension = padding.add_dimensions();
      dimension->set_edge_padding_low(axis.low);
      dimension->set_edge_padding_high(axis.high);
    }
    Instruction* array = builder.Pad(operand, padding, window->mutable_operand(1));
    // Computed once: fused, the bounds would be checked again for each slice.
    if (array != operand) array = builder.Barrier(array);
    const Opcode opcode = *FindCombination(window);
    for (size_t i = 0; i < axes.size(); ++i) {
      array = Along(builder, opcode, array, i, axes[i]);
    }
    return array;
  }

 private:
  static Instruction* Along(const Builder& builder, Opcode opcode, Instruction* array,
                            int64_t dimension, const Sliding& axis) {
    const auto from = [&](Instruction* of, int64_t start) {
      return builder.SliceOf(of, dimension, start, start + axis.last() + 1, axis.stride);
    };
    if (axis.taps <= kMostSlices) {
      Instruction* total = from(array, 0);
      for (int64_t tap = 1; tap < axis.taps; ++tap) {
        total = builder.Binary(opcode, total, from(array, tap * axis.dilation));
      }
      return total;
    }
    // The combination of 1, 2, 4, ... taps from each element on.
    std::vector<Instruction*> powers = {array};
    for (int64_t taps = 1; 2 * taps <= axis.taps; taps *= 2) {
      Instruction* const half = powers.back();
      const int64_t shift = taps * axis.dilation, size = half->shape().dimensions(dimension);
      powers.push_back(
          builder.Barrier(builder.Binary(opcode, builder.SliceOf(half, dimension, 0, size - shift),
                                         builder.SliceOf(half, dimension, shift, size))));
    }
    Instruction* total = nullptr;
    int64_t done = 0;
    for (size_t i = powers.size(); i-- > 0;) {
      const int64_t taps = int64_t{1} << i;
      if (done + taps > axis.taps) continue;
      Instruction* const part = from(powers[i], done * axis.dilation);
      total = total == nullptr ? part : builder.Binary(opcode, total, part);
      done += taps;
    }
    return total;
  }
};

}  // namespace

std::optional<std::vector<Sliding>> SlidingOver(const xla::Window& window,
                                                absl::Span<const int64_t> sizes,
                                                absl::Span<const int64_t> result) {
  const size_t rank = sizes.size();
  if (rank == 0 || window.dimensions_size() != static_cast<int>(rank) || result.size() != rank) {
    return std::nullopt;
  }
  std::vector<Sliding> axes;
  for (size_t i = 0; i < rank; ++i) {
    const xla::WindowDimension& one = window.dimensions(i);
    const Sliding axis{one.size(),        one.stride(),       one.window_dilation(),
                       one.padding_low(), one.padding_high(), result[i]};
    if (sizes[i] < 1 || axis.positions < 1 || axis.taps < 1 || axis.taps > kMostTapsOfAxis ||
        axis.stride < 1 || axis.stride > sizes[i] || axis.dilation < 1 ||
        axis.dilation > sizes[i] || one.base_dilation() != 1 || one.window_reversal()) {
      return std::nullopt;
    }
    const int64_t extent = (axis.taps - 1) * axis.dilation + 1;
    if (axis.low < 0 || axis.high < 0 || axis.low >= extent || axis.high >= extent) {
      return std::nullopt;
    }
    const int64_t room = sizes[i] + axis.low + axis.high - extent;
    if (room < 0 || room / axis.stride + 1 != axis.positions) return std::nullopt;
    axes.push_back(axis);
  }
  return axes;
}

std::optional<Opcode> CombinationOf(const Instruction* window,
                                    absl::Span<const Opcode> operations) {
  const Instruction* const start = window->operand(1);
  if (start->opcode() != Opcode::kConstant || !xla::ShapeUtil::IsScalar(start->shape())) {
    return std::nullopt;
  }
  for (Opcode operation : operations) {
    if (IsScalarOperation(window->to_apply(), operation) &&
        start->literal() == NeutralOf(operation, start->shape().element_type())) {
      return operation;
    }
  }
  return std::nullopt;
}

const RuleTopic kWindowForms(326, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<WindowAsSlices>(
      Identity{"window-as-slices", "f of windows of x = f(shifted x, shifted x, ...)",
               "Computes sums, maxima and minima of windows, as in pooling, by slices along one "
               "dimension after the other.",
               Numerics::kClose}));
});

}  // namespace hlograph
