// Convolutions of few channels in each group as shifted slices times weights: one loop over the
// result, where XLA:CPU's convolution computes tiny matrix products.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/convolution_parts.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

// Terms of the sum at most. Each is a handful of instructions, and all are in one fusion.
constexpr int64_t kMaxTerms = 80;
// More terms of one group are faster as a matrix product.
constexpr int64_t kMaxTermsOfOneGroup = 32;

class ProductForm : public FormRule {
 public:
  ProductForm(Identity identity, bool by_channel)
      : FormRule(std::move(identity)), by_channel_(by_channel) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConvolution(instruction)) return false;
    const Convolution parts(instruction);
    const int64_t most = parts.feature_groups == 1 ? kMaxTermsOfOneGroup : kMaxTerms;
    // One tap of one group is a dot.
    if (!by_channel_ && parts.feature_groups == 1 && parts.taps() == 1) return false;
    return parts.batch_groups == 1 && (parts.kernel_channels == 1) == by_channel_ &&
           parts.taps() <= most && parts.taps() * parts.kernel_channels <= most;
  }

  Instruction* Build(Instruction* convolution) const override;

 private:
  bool by_channel_;
};

// Brings terms into one shape: that of the result, with its features split into the groups and
// the features of each.
class Terms {
 public:
  explicit Terms(Instruction* convolution) : builder_(convolution), parts_(convolution) {
    const xla::PrimitiveType type = SumType(convolution->shape().element_type());
    Instruction* const input =
        Relaid(builder_, convolution->mutable_operand(0), parts_.input(), parts_.output());
    // Computed once: fused, the bounds would be checked again for each tap.
    padded_ = Padded(builder_, input, parts_.output(), parts_.axes());
    if (padded_ != input) padded_ = builder_.Barrier(padded_);
    padded_ = builder_.Convert(padded_, type);
    kernel_ = builder_.Convert(convolution->mutable_operand(1), type);
    const absl::Span<const int64_t> sizes = convolution->shape().dimensions();
    sizes_.assign(sizes.begin(), sizes.end());
    if (is_split()) {
      const auto feature = sizes_.begin() + parts_.output().feature;
      *feature = parts_.feature_groups;
      sizes_.insert(feature + 1, features_per_group());
    }
  }

  // The product for one tap and one channel of each group.
  Instruction* Product(absl::Span<const int64_t> tap, int64_t channel) const {
    return builder_.Binary(xla::HloOpcode::kMultiply, Shifted(tap, channel), Weights(tap, channel));
  }

 private:
  int64_t features_per_group() const { return parts_.features / parts_.feature_groups; }
  // Otherwise all features are of one group, or each group has one.
  bool is_split() const { return parts_.feature_groups > 1 && features_per_group() > 1; }

  Instruction* Shifted(absl::Span<const int64_t> tap, int64_t channel) const {
    const Layout& layout = parts_.output();
    const absl::Span<const int64_t> whole = padded_->shape().dimensions();
    std::vector<int64_t> starts(whole.size(), 0), strides(whole.size(), 1);
    std::vector<int64_t> limits(whole.begin(), whole.end());
    for (size_t i = 0; i < tap.size(); ++i) {
      const Axis& axis = parts_.axes()[i];
      const int64_t dimension = layout.spatial[i];
      starts[dimension] = axis.Offset(tap[i]);
      strides[dimension] = axis.stride;
      limits[dimension] = starts[dimension] + (axis.positions - 1) * axis.stride + 1;
    }
    starts[layout.feature] = channel;
    strides[layout.feature] = parts_.kernel_channels;
    Instruction* const slice = builder_.Slice(padded_, starts, limits, strides);
    if (features_per_group() == 1) return slice;
    std::vector<int64_t> sizes, dimensions;
    for (int64_t i = 0; i < static_cast<int64_t>(whole.size()); ++i) {
      if (i == layout.feature && !is_split()) continue;
      sizes.push_back(slice->shape().dimensions(i));
      dimensions.push_back(i > layout.feature && is_split() ? i + 1 : i);
    }
    return builder_.Broadcast(builder_.Reshape(slice, sizes), sizes_, dimensions);
  }

  Instruction* Weights(absl::Span<const int64_t> tap, int64_t channel) const {
    const Layout& layout = parts_.kernel();
    const absl::Span<const int64_t> whole = kernel_->shape().dimensions();
    std::vector<int64_t> starts(whole.size(), 0), strides(whole.size(), 1);
    std::vector<int64_t> limits(whole.begin(), whole.end());
    for (size_t i = 0; i < tap.size(); ++i) {
      starts[layout.spatial[i]] = tap[i];
      limits[layout.spatial[i]] = tap[i] + 1;
    }
    starts[layout.batch] = channel;
    limits[layout.batch] = channel + 1;
    Instruction* const slice = builder_.Slice(kernel_, starts, limits, strides);
    const int64_t feature = parts_.output().feature;
    if (is_split()) {
      Instruction* const split =
          builder_.Reshape(slice, {parts_.feature_groups, features_per_group()});
      return builder_.Broadcast(split, sizes_, {feature, feature + 1});
    }
    return builder_.Broadcast(builder_.Reshape(slice, {parts_.features}), sizes_, {feature});
  }

  Builder builder_;
  Convolution parts_;
  Instruction* padded_;
  Instruction* kernel_;
  std::vector<int64_t> sizes_;
};

Instruction* ProductForm::Build(Instruction* convolution) const {
  const Builder builder(convolution);
  const Convolution parts(convolution);
  const Terms terms(convolution);
  std::vector<int64_t> taps;
  for (const Axis& axis : parts.axes()) taps.push_back(axis.taps);
  Instruction* sum = nullptr;
  ForEachIndex(taps, [&](absl::Span<const int64_t> tap) {
    for (int64_t channel = 0; channel < parts.kernel_channels; ++channel) {
      Instruction* const product = terms.Product(tap, channel);
      sum = sum == nullptr ? product : builder.Binary(xla::HloOpcode::kAdd, sum, product);
    }
  });
  Instruction* const joined = builder.Reshape(sum, convolution->shape().dimensions());
  return builder.Convert(joined, convolution->shape().element_type());
}

}  // namespace

const RuleTopic kProductForms(300, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ProductForm>(
      Identity{"depthwise-as-products", "x*k = Σ shifted x × k(tap)",
               "Computes a convolution of single channels as a sum of shifted products.",
               Numerics::kClose},
      /*by_channel=*/true));
  rules.push_back(std::make_unique<ProductForm>(
      Identity{"grouped-as-products", "x*k = Σ shifted x(channel) × k(tap, channel)",
               "Computes a convolution of few channels in each group as a sum of shifted products.",
               Numerics::kClose},
      /*by_channel=*/false));
});

}  // namespace hlograph
