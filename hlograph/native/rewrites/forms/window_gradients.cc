// Gradients of the maxima of windows, as in pooling: XLA:CPU scatters the gradients of windows one
// by one; comparing the positions of maxima takes one vectorized loop.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/convolution_parts.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/windows.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kMostChoices = 16;  // elements of a window

// Returns true for the comparison lhs >= rhs of two scalar floats.
bool IsAtLeast(const xla::HloComputation* computation) {
  const Instruction* const root = computation->root_instruction();
  if (computation->num_parameters() != 2 || root->opcode() != Opcode::kCompare ||
      root->operand(0)->opcode() != Opcode::kParameter ||
      root->operand(1)->opcode() != Opcode::kParameter) {
    return false;
  }
  const auto* const compare = xla::Cast<xla::HloCompareInstruction>(root);
  return compare->direction() == xla::ComparisonDirection::kGe &&
         compare->order() == xla::ComparisonOrder::kPartial &&
         root->operand(0)->parameter_number() == 0 && root->operand(1)->parameter_number() == 1;
}

// The gradient of maxima of windows goes to the first greatest element of each.
class WindowGradient : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* scatter) const override {
    if (scatter->opcode() != Opcode::kSelectAndScatter || !IsPlain(scatter) ||
        scatter->operand_count() != 3 || !IsFloat(scatter)) {
      return false;
    }
    const Instruction* const source = scatter->operand(1);
    if (!SameArray(scatter, scatter->operand(0)) || !source->shape().IsArray() ||
        !source->shape().is_static() || !SameType(scatter, source) ||
        !SameType(scatter, scatter->operand(2)) || !IsConstantOf(scatter->operand(2), 0) ||
        !IsAtLeast(scatter->select()) || !IsScalarOperation(scatter->scatter(), Opcode::kAdd)) {
      return false;
    }
    const auto axes =
        SlidingOver(scatter->window(), SizesOf(scatter), source->shape().dimensions());
    if (!axes.has_value()) return false;
    int64_t choices = 1;
    for (const Sliding& axis : *axes) {
      choices *= axis.taps;
      if (axis.low != 0 || axis.high != 0 || axis.dilation != 1 || choices > kMostChoices) {
        return false;
      }
    }
    return choices > 1;
  }

  Instruction* Build(Instruction* scatter) const override {
    const Builder builder(scatter);
    Instruction* const source = scatter->mutable_operand(1);
    const std::vector<Sliding> axes =
        *SlidingOver(scatter->window(), SizesOf(scatter), source->shape().dimensions());
    Instruction* const chosen = builder.Barrier(Chosen(builder, axes));
    bool apart = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      apart &= axes[i].taps == axes[i].stride &&
               axes[i].taps * axes[i].positions == scatter->shape().dimensions(i);
    }
    return apart ? Spread(builder, axes, chosen, source) : Added(builder, axes, chosen, source);
  }

 private:
  static std::vector<int64_t> TapsOf(absl::Span<const Sliding> axes) {
    std::vector<int64_t> taps;
    for (const Sliding& axis : axes) taps.push_back(axis.taps);
    return taps;
  }

  // Number of the first greatest element of each window.
  static Instruction* Chosen(const Builder& builder, absl::Span<const Sliding> axes) {
    Instruction* const operand = builder.place()->mutable_operand(0);
    Instruction* best = nullptr;
    Instruction* at = nullptr;
    int64_t number = 0;
    ForEachIndex(TapsOf(axes), [&](absl::Span<const int64_t> tap) {
      std::vector<int64_t> starts(tap.begin(), tap.end()), limits, strides;
      for (size_t i = 0; i < axes.size(); ++i) {
        limits.push_back(tap[i] + axes[i].last() + 1);
        strides.push_back(axes[i].stride);
      }
      Instruction* const next = builder.Slice(operand, starts, limits, strides);
      const xla::Shape numbers = xla::ShapeUtil::MakeShape(xla::S32, next->shape().dimensions());
      Instruction* const own = builder.Uniform(numbers, number++);
      if (best == nullptr) {
        best = next;
        at = own;
        return;
      }
      Instruction* const keeps = builder.Compare(best, next, xla::ComparisonDirection::kGe);
      best = builder.Select(keeps, best, next);
      at = builder.Select(keeps, at, own);
    });
    return at;
  }

  // Windows side by side: each element compares its number in the window with the chosen one.
  static Instruction* Spread(const Builder& builder, absl::Span<const Sliding> axes,
                             Instruction* chosen, Instruction* source) {
    std::vector<int64_t> sizes, from;
    for (const Sliding& axis : axes) {
      from.push_back(sizes.size());
      sizes.push_back(axis.positions);
      if (axis.taps > 1) sizes.push_back(axis.taps);
    }
    const xla::Shape shape = xla::ShapeUtil::MakeShape(xla::S32, sizes);
    Instruction* number = nullptr;
    int64_t step = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      if (axes[i].taps == 1) continue;
      Instruction* term = builder.Iota(shape, from[i] + 1);
      if (step > 1) term = builder.Binary(Opcode::kMultiply, term, builder.Uniform(shape, step));
      number = number == nullptr ? term : builder.Binary(Opcode::kAdd, number, term);
      step *= axes[i].taps;
    }
    Instruction* const is_chosen = builder.Compare(builder.Broadcast(chosen, sizes, from), number,
                                                   xla::ComparisonDirection::kEq);
    const xla::Shape values = xla::ShapeUtil::MakeShape(source->shape().element_type(), sizes);
    return builder.Reshape(builder.Select(is_chosen, builder.Broadcast(source, sizes, from),
                                          builder.Uniform(values, 0)),
                           builder.place()->shape().dimensions());
  }

  // Windows that overlap: adds up what each tap passes on.
  static Instruction* Added(const Builder& builder, absl::Span<const Sliding> axes,
                            Instruction* chosen, Instruction* source) {
    Instruction* total = nullptr;
    int64_t number = 0;
    ForEachIndex(TapsOf(axes), [&](absl::Span<const int64_t> tap) {
      Instruction* const is_chosen = builder.Compare(
          chosen, builder.Uniform(chosen->shape(), number++), xla::ComparisonDirection::kEq);
      Instruction* const passed =
          builder.Select(is_chosen, source, builder.Uniform(source->shape(), 0));
      xla::PaddingConfig padding;
      for (size_t i = 0; i < axes.size(); ++i) {
        auto* const dimension = padding.add_dimensions();
        dimension->set_edge_padding_low(tap[i]);
        dimension->set_interior_padding(axes[i].stride - 1);
        dimension->set_edge_padding_high(builder.place()->shape().dimensions(i) - tap[i] -
                                         axes[i].last() - 1);
      }
      Instruction* const placed = builder.Pad(passed, padding);
      total = total == nullptr ? placed : builder.Binary(Opcode::kAdd, total, placed);
    });
    return total;
  }
};

}  // namespace

const RuleTopic kWindowGradientForms(327, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<WindowGradient>(Identity{
      "window-gradient-by-comparison", "scatter(g, argmax of windows) = Σ g×[argmax = i]",
      "Computes the gradient of the maxima of windows by comparing positions.", Numerics::kClose}));
});

}  // namespace hlograph
