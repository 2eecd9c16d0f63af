// Gradients of the inputs of convolutions, which meet the kernel transposed. XLA:CPU copies such a
// kernel into another order, which takes longer than the products if images are small.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/convolution_parts.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Taps at most: each is a slice that is added.
constexpr int64_t kMostTaps = 32;
// Elements of the input by channel at most; with more, the products take most of the time.
constexpr int64_t kMostPixels = 2048;

// How far a tap moves the elements that it meets.
int64_t ShiftOf(const Axis& axis, int64_t tap) { return axis.low - axis.Offset(tap); }

// Returns true if each tap meets some of the input.
bool MeetsAll(const Axis& axis) {
  for (int64_t tap : {int64_t{0}, axis.taps - 1}) {
    const int64_t first = ShiftOf(axis, tap), last = first + (axis.size - 1) * axis.gaps;
    if (first >= axis.positions || last < 0) return false;
  }
  return true;
}

// The kernel before it was reversed along spatial dimensions, and along which of the axes it was.
struct Unreversed {
  Instruction* kernel = nullptr;
  std::vector<bool> axes;
};

Unreversed WithoutReverse(Instruction* kernel, absl::Span<const Axis> axes) {
  const std::vector<bool> none(axes.size(), false);
  if (kernel->opcode() != xla::HloOpcode::kReverse || !IsPlain(kernel) ||
      !SameArray(kernel, kernel->operand(0))) {
    return {kernel, none};
  }
  Unreversed found{kernel->mutable_operand(0), none};
  size_t count = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (int64_t dimension : kernel->dimensions()) {
      if (dimension != axes[i].kernel || found.axes[i]) continue;
      found.axes[i] = true;
      ++count;
    }
  }
  return count == kernel->dimensions().size() ? found : Unreversed{kernel, none};
}

class InputGradientAsDot : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConvolution(instruction) || !IsFloat(instruction)) return false;
    const Convolution parts(instruction);
    if (parts.feature_groups != 1 || parts.batch_groups != 1 || parts.taps() < 2 ||
        parts.kernel().batch != RankOf(instruction) - 1) {
      return false;
    }
    double taps = 1, pixels = parts.batch;
    for (const Axis& axis : parts.axes()) {
      taps *= axis.taps;
      pixels *= axis.size;
      if (axis.stride != 1 || taps > kMostTaps || !MeetsAll(axis)) return false;
    }
    return pixels <= kMostPixels;
  }

  Instruction* Build(Instruction* convolution) const override {
    const Builder builder(convolution);
    const Convolution parts(convolution);
    const Unreversed found = WithoutReverse(convolution->mutable_operand(1), parts.axes());
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_contracting_dimensions(parts.input().feature);
    numbers.add_rhs_contracting_dimensions(parts.kernel().batch);
    Instruction* const products = builder.Dot(convolution->mutable_operand(0), found.kernel,
                                              numbers, convolution->shape().element_type());
    if (convolution->precision_config().operand_precision_size() == 2) {
      *products->mutable_precision_config() = convolution->precision_config();
    }
    std::vector<int64_t> taps;
    for (const Axis& axis : parts.axes()) taps.push_back(axis.taps);
    Instruction* sum = nullptr;
    ForEachIndex(taps, [&](absl::Span<const int64_t> tap) {
      std::vector<int64_t> stored(tap.begin(), tap.end());
      for (size_t i = 0; i < stored.size(); ++i) {
        if (found.axes[i]) stored[i] = taps[i] - 1 - stored[i];
      }
      Instruction* const part =
          Placed(builder, parts, OfTap(builder, parts, products, stored), tap);
      sum = sum == nullptr ? part : builder.Binary(xla::HloOpcode::kAdd, sum, part);
    });
    return sum;
  }

 private:
  // The products with one tap, in the layout of the result. They are stored as the input without
  // its channels, then as the kernel without them.
  static Instruction* OfTap(const Builder& builder, const Convolution& parts, Instruction* products,
                            absl::Span<const int64_t> tap) {
    const int64_t kept = RankOf(builder.place()) - 1;
    Instruction* slice = products;
    std::vector<int64_t> sizes = SizesOf(products);
    for (size_t i = 0; i < tap.size(); ++i) {
      slice = builder.SliceOf(slice, kept + parts.axes()[i].kernel, tap[i], tap[i] + 1);
    }
    sizes.resize(kept);
    sizes.push_back(parts.features);
    const auto moved = [&](int64_t dimension) {
      return dimension > parts.input().feature ? dimension - 1 : dimension;
    };
    Layout from{moved(parts.input().batch), kept, {}};
    for (const Axis& axis : parts.axes()) from.spatial.push_back(moved(axis.input));
    return Relaid(builder, builder.Reshape(slice, sizes), from, parts.output());
  }

  // Moves products to the positions whose windows have their elements at the tap.
  static Instruction* Placed(const Builder& builder, const Convolution& parts,
                             Instruction* products, absl::Span<const int64_t> tap) {
    xla::PaddingConfig padding;
    for (int64_t i = 0; i < RankOf(products); ++i) padding.add_dimensions();
    for (size_t i = 0; i < tap.size(); ++i) {
      const Axis& axis = parts.axes()[i];
      auto* const dimension = padding.mutable_dimensions(axis.output);
      const int64_t shift = ShiftOf(axis, tap[i]);
      dimension->set_edge_padding_low(shift);
      dimension->set_interior_padding(axis.gaps - 1);
      dimension->set_edge_padding_high(axis.positions - shift - (axis.size - 1) * axis.gaps - 1);
    }
    return builder.Pad(products, padding);
  }
};

}  // namespace

const RuleTopic kInputGradientForms(328, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<InputGradientAsDot>(
      Identity{"convolution-gradient:input", "g*k = Σ shifted g·k(tap)",
               "Computes the gradient of the input of a convolution, of few pixels, as one dot "
               "with all taps of the kernel, whose parts are shifted and added.",
               Numerics::kClose}));
});

}  // namespace hlograph
