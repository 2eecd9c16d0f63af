// Convolutions as calls of a native kernel.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/convolution_parts.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

constexpr int64_t kFewProducts = 1 << 8;

// In gradients by the kernel, the images are what is summed over, and the channels of the input are
// its batch. What lies side by side in the input stays so.
bool IsByKernel(const Convolution& parts) {
  if (parts.feature_groups > 1 || parts.batch_groups > 1) return parts.batch_groups > 1;
  const int64_t last = static_cast<int64_t>(parts.axes().size()) + 1;
  if (parts.input().feature == last || parts.input().batch == last) {
    return parts.input().batch == last;
  }
  return parts.taps() > parts.positions();
}

// Each channel alone: groups of one channel and feature or, in gradients by the kernel, of one
// channel that is in the batch.
bool IsDepthwise(const Convolution& parts) {
  if (IsByKernel(parts)) {
    return parts.feature_groups == 1 && parts.batch_groups > 1 &&
           parts.batch_groups == parts.batch && parts.features == parts.batch;
  }
  return parts.batch_groups == 1 && parts.feature_groups > 1 &&
         parts.feature_groups == parts.channels && parts.features == parts.channels;
}

// The dimensions in the order that the kernel has them: images, space, channels.
Layout InputLayout(int64_t rank, bool by_kernel) {
  Layout layout{0, rank - 1, {}};
  if (by_kernel) std::swap(layout.batch, layout.feature);
  for (int64_t i = 1; i < rank - 1; ++i) layout.spatial.push_back(i);
  return layout;
}

Layout OutputLayout(int64_t rank, bool by_kernel) {
  if (!by_kernel) return InputLayout(rank, by_kernel);
  Layout layout{rank - 2, rank - 1, {}};
  for (int64_t i = 0; i < rank - 2; ++i) layout.spatial.push_back(i);
  return layout;
}

class KernelConvolution : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    const xla::PrimitiveType type = instruction->shape().IsArray()
                                        ? instruction->shape().element_type()
                                        : xla::PRIMITIVE_TYPE_INVALID;
    if ((type != xla::F32 && type != xla::F64) || !IsConvolution(instruction)) return false;
    const Convolution parts(instruction);
    const bool grouped = parts.feature_groups != 1 || parts.batch_groups != 1;
    if ((grouped && !IsDepthwise(parts)) || parts.axes().size() > 2 ||
        (parts.taps() == 1 && parts.positions() > 1)) {
      return false;
    }
    for (const Axis& axis : parts.axes()) {
      if (axis.gaps != 1) return false;
    }
    return static_cast<double>(SizeOf(instruction)) * parts.taps() * parts.kernel_channels >=
           kFewProducts;
  }

  Instruction* Build(Instruction* convolution) const override {
    const Builder builder(convolution);
    const Convolution parts(convolution);
    const int64_t rank = RankOf(convolution);
    const bool by_kernel = IsByKernel(parts);
    Instruction* const input = Relaid(builder, convolution->mutable_operand(0), parts.input(),
                                      InputLayout(rank, by_kernel));
    const Layout output = OutputLayout(rank, by_kernel);
    std::vector<int64_t> sizes(rank), strides, dilations, lows, reversed;
    std::vector<int64_t> kernel = parts.kernel().spatial;
    kernel.insert(kernel.end(), {parts.kernel().batch, parts.kernel().feature});
    sizes[output.batch] = parts.batch / parts.batch_groups;
    sizes[output.feature] = parts.features;
    for (size_t i = 0; i < parts.axes().size(); ++i) {
      const Axis& axis = parts.axes()[i];
      sizes[output.spatial[i]] = axis.positions;
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation);
      lows.push_back(axis.low);
      reversed.push_back(axis.reversed);
    }
    const xla::Shape shape = xla::ShapeUtil::MakeShape(convolution->shape().element_type(), sizes);
    Instruction* const call =
        AddCall(convolution, {input, convolution->mutable_operand(1)}, {shape},
                CallAttributes()
                    .Add("strides", strides)
                    .Add("dilations", dilations)
                    .Add("lows", lows)
                    .Add("reversed", reversed)
                    .Add("kernel", kernel)
                    .Add("by_kernel", by_kernel)
                    .Add("depthwise", IsDepthwise(parts))
                    .text());
    return Relaid(builder, call, output, parts.output());
  }
};

}  // namespace

const RuleTopic kConvolutionKernels(407, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelConvolution>(
      Identity{
          "kernel-convolution", "conv(x, y) = kernel(x, y)",
          "Multiplies pixels where they lie with packed parts of the kernel, in tiles that stay "
          "in registers; also gradients, and channels alone.",
          Numerics::kClose},
      "convolution"));
});

}  // namespace hlograph
