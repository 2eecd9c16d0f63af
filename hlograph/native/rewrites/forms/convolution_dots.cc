// Convolutions as dots: where each element of the result meets one element of the input by axis,
// or all of them, and for each tap of a kernel whose gradient it is.
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
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Dots at most: taps of the convolution whose gradient it is.
constexpr int64_t kMaxDots = 64;
// Without groups, XLA:CPU's convolution is as fast for more.
constexpr int64_t kMaxDotsOfOneGroup = 16;

// A dot with the precision of a convolution; the kernel may be the left operand.
Instruction* DotLike(const Builder& builder, Instruction* lhs, Instruction* rhs,
                     const xla::DotDimensionNumbers& numbers, bool swapped) {
  const Instruction* const convolution = builder.place();
  Instruction* const dot = builder.Dot(lhs, rhs, numbers, convolution->shape().element_type());
  xla::PrecisionConfig precision = convolution->precision_config();
  if (precision.operand_precision_size() == 2) {
    if (swapped) precision.mutable_operand_precision()->SwapElements(0, 1);
    *dot->mutable_precision_config() = precision;
  }
  return dot;
}

// Returns true if the axis is one of the result alone: a window of one tap.
bool IsKept(const Axis& axis) { return axis.taps == 1; }

class AsDot : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConvolution(instruction)) return false;
    const Convolution parts(instruction);
    for (const Axis& axis : parts.axes()) {
      if (axis.gaps > 1 || (!IsKept(axis) && (axis.positions > 1 || axis.reversed))) return false;
    }
    return parts.feature_groups == 1 && parts.batch_groups == 1;
  }

  Instruction* Build(Instruction* convolution) const override;
};

// The elements of the input that meet the kernel.
Instruction* Met(const Builder& builder, const Convolution& parts) {
  Instruction* const input = builder.place()->mutable_operand(0);
  Instruction* met = Padded(builder, input, parts.input(), parts.axes());
  for (const Axis& axis : parts.axes()) {
    const int64_t count = IsKept(axis) ? axis.positions : axis.taps;
    const int64_t step = IsKept(axis) ? axis.stride : axis.dilation;
    met = builder.SliceOf(met, axis.input, 0, (count - 1) * step + 1, step);
  }
  return met;
}

// The kernel without the axes of one tap, and where its other dimensions are then.
struct Weights {
  Instruction* array = nullptr;
  std::vector<int64_t> dimensions;
};

Weights WithoutKept(const Builder& builder, const Convolution& parts) {
  Weights weights{builder.place()->mutable_operand(1), {}};
  const absl::Span<const int64_t> whole = weights.array->shape().dimensions();
  std::vector<bool> dropped(whole.size(), false);
  for (const Axis& axis : parts.axes()) dropped[axis.kernel] = IsKept(axis);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < whole.size(); ++i) {
    weights.dimensions.push_back(sizes.size());
    if (!dropped[i]) sizes.push_back(whole[i]);
  }
  weights.array = builder.Reshape(weights.array, sizes);
  return weights;
}

// Brings a dot into the layout of the result: its dimension i is dimension `to[i]` there, and the
// others have one element.
Instruction* Arranged(const Builder& builder, Instruction* dot, std::vector<int64_t> to) {
  const absl::Span<const int64_t> found = dot->shape().dimensions();
  std::vector<int64_t> sizes(found.begin(), found.end());
  const int64_t rank = builder.place()->shape().dimensions().size();
  std::vector<int64_t> permutation(rank, -1);
  for (size_t i = 0; i < to.size(); ++i) permutation[to[i]] = i;
  for (int64_t& from : permutation) {
    if (from != -1) continue;
    from = sizes.size();
    sizes.push_back(1);
  }
  return builder.Transpose(builder.Reshape(dot, sizes), permutation);
}

Instruction* AsDot::Build(Instruction* convolution) const {
  const Builder builder(convolution);
  const Convolution parts(convolution);
  Instruction* const input = Met(builder, parts);
  const Weights weights = WithoutKept(builder, parts);
  // The features come first if they do in the result, which then needs no transpose.
  bool swapped = parts.output().feature < parts.output().batch;
  std::vector<int64_t> to(input->shape().dimensions().size(), -1);
  to[parts.input().batch] = parts.output().batch;
  xla::DotDimensionNumbers numbers;
  const auto sum = [&](int64_t of_input, int64_t of_kernel) {
    if (swapped) {
      numbers.add_lhs_contracting_dimensions(weights.dimensions[of_kernel]);
      numbers.add_rhs_contracting_dimensions(of_input);
    } else {
      numbers.add_lhs_contracting_dimensions(of_input);
      numbers.add_rhs_contracting_dimensions(weights.dimensions[of_kernel]);
    }
  };
  for (const Axis& axis : parts.axes()) {
    swapped |= IsKept(axis) && axis.positions > 1 && parts.output().feature < axis.output;
    if (IsKept(axis)) to[axis.input] = axis.output;
  }
  sum(parts.input().feature, parts.kernel().batch);
  for (const Axis& axis : parts.axes()) {
    if (!IsKept(axis)) sum(axis.input, axis.kernel);
  }
  std::vector<int64_t> order;
  for (int64_t dimension : to) {
    if (dimension != -1) order.push_back(dimension);
  }
  order.insert(swapped ? order.begin() : order.end(), parts.output().feature);
  Instruction* const dot = swapped ? DotLike(builder, weights.array, input, numbers, swapped)
                                   : DotLike(builder, input, weights.array, numbers, swapped);
  return Arranged(builder, dot, order);
}

// Gradients of kernels: few positions of a large window. Of grouped kernels, the channels of the
// input are in the batch here, and each group meets features of its own.
class KernelGradientDots : public FormRule {
 public:
  KernelGradientDots(Identity identity, bool grouped)
      : FormRule(std::move(identity)), grouped_(grouped) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConvolution(instruction)) return false;
    const Convolution parts(instruction);
    for (const Axis& axis : parts.axes()) {
      if (axis.reversed) return false;
    }
    const int64_t positions = parts.positions();
    if (parts.feature_groups != 1) return false;
    if (grouped_) {
      return parts.batch_groups > 1 && parts.batch > parts.batch_groups && positions <= kMaxDots;
    }
    return parts.batch_groups == 1 && positions > 1 && positions <= kMaxDotsOfOneGroup &&
           positions < parts.taps();
  }

  Instruction* Build(Instruction* convolution) const override;

 private:
  bool grouped_;
};

// Splits the dimension of channels into the groups and the channels of each.
Instruction* Split(const Builder& builder, Instruction* array, int64_t dimension, int64_t groups) {
  const absl::Span<const int64_t> whole = array->shape().dimensions();
  std::vector<int64_t> sizes(whole.begin(), whole.end());
  sizes[dimension] = groups;
  sizes.insert(sizes.begin() + dimension + 1, whole[dimension] / groups);
  return builder.Reshape(array, sizes);
}

// Sums over images and space for each group, which comes first in the result.
xla::DotDimensionNumbers GroupNumbers(const Convolution& parts) {
  xla::DotDimensionNumbers numbers;
  const int64_t lhs = parts.input().batch, rhs = parts.kernel().feature;
  const auto sum = [&](int64_t of_input, int64_t of_kernel) {
    numbers.add_lhs_contracting_dimensions(of_input > lhs ? of_input + 1 : of_input);
    numbers.add_rhs_contracting_dimensions(of_kernel > rhs ? of_kernel + 1 : of_kernel);
  };
  numbers.add_lhs_batch_dimensions(lhs);
  numbers.add_rhs_batch_dimensions(rhs);
  sum(parts.input().feature, parts.kernel().batch);
  for (const Axis& axis : parts.axes()) sum(axis.input, axis.kernel);
  return numbers;
}

Instruction* KernelGradientDots::Build(Instruction* convolution) const {
  const Builder builder(convolution);
  const Convolution parts(convolution);
  const int64_t groups = parts.batch_groups;
  const int64_t channels = parts.batch / groups, features = parts.features / groups;
  Instruction* const input = convolution->mutable_operand(0);
  Instruction* padded = Padded(builder, input, parts.input(), parts.axes());
  if (padded != input) padded = builder.Barrier(padded);
  Instruction* const change =
      Split(builder, convolution->mutable_operand(1), parts.kernel().feature, groups);
  const xla::DotDimensionNumbers numbers = GroupNumbers(parts);

  std::vector<int64_t> sizes;
  for (const Axis& axis : parts.axes()) sizes.push_back(axis.positions);
  std::vector<Instruction*> dots;
  ForEachIndex(sizes, [&](absl::Span<const int64_t> position) {
    Instruction* const under = UnderWindow(builder, padded, parts.input(), parts.axes(), position);
    Instruction* const dot = DotLike(builder, Split(builder, under, parts.input().batch, groups),
                                     change, numbers, /*swapped=*/false);
    dots.push_back(builder.Reshape(dot, {1, groups, channels, features}));
  });

  const int64_t rank = sizes.size();
  Layout from = {rank, rank + 1, {}};
  for (int64_t i = 0; i < rank; ++i) from.spatial.push_back(i);
  Instruction* const together = builder.Transpose(builder.Concatenate(dots, 0), {0, 2, 1, 3});
  sizes.insert(sizes.end(), {channels, parts.features});
  return Relaid(builder, builder.Reshape(together, sizes), from, parts.output());
}

}  // namespace

const RuleTopic kConvolutionDots(303, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<AsDot>(
      Identity{"convolution-as-dot", "x*k = x·k",
               "Computes a convolution by a window of one tap, or at one position, as a dot.",
               Numerics::kClose}));
  rules.push_back(std::make_unique<KernelGradientDots>(
      Identity{"grouped-gradient:kernel", "x*g = [shifted x·g]",
               "Computes the gradient of a grouped kernel as a dot of all groups for each tap.",
               Numerics::kClose},
      /*grouped=*/true));
  rules.push_back(std::make_unique<KernelGradientDots>(
      Identity{"convolution-gradient:kernel", "x*g = [shifted x·g]",
               "Computes the gradient of a kernel as a dot for each tap.", Numerics::kClose},
      /*grouped=*/false));
});

}  // namespace hlograph
