#include "hlograph/native/rewrites/forms/convolution_parts.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Larger paddings and dilations are refused, so that sums of a few of them do not overflow int64.
constexpr int64_t kMaxExtent = int64_t{1} << 30;

bool IsEmpty(const Instruction* array) {
  for (int64_t size : array->shape().dimensions()) {
    if (size <= 0) return true;
  }
  return false;
}

bool IsModest(const xla::WindowDimension& dimension) {
  const auto fits = [](int64_t value) { return -kMaxExtent < value && value < kMaxExtent; };
  return fits(dimension.size()) && fits(dimension.stride()) && fits(dimension.padding_low()) &&
         fits(dimension.padding_high()) && fits(dimension.base_dilation()) &&
         fits(dimension.window_dilation());
}

}  // namespace

Convolution::Convolution(const Instruction* convolution) {
  const xla::ConvolutionDimensionNumbers& numbers = convolution->convolution_dimension_numbers();
  const auto size = [&](const Instruction* array, int64_t dimension) {
    return array->shape().dimensions(dimension);
  };
  const Instruction* const lhs = convolution->operand(0);
  const Instruction* const rhs = convolution->operand(1);
  input_ = {numbers.input_batch_dimension(), numbers.input_feature_dimension(), {}};
  kernel_ = {
      numbers.kernel_input_feature_dimension(), numbers.kernel_output_feature_dimension(), {}};
  output_ = {numbers.output_batch_dimension(), numbers.output_feature_dimension(), {}};
  for (int i = 0; i < numbers.input_spatial_dimensions_size(); ++i) {
    const xla::WindowDimension& window = convolution->window().dimensions(i);
    const int64_t in = numbers.input_spatial_dimensions(i);
    const int64_t taps = numbers.kernel_spatial_dimensions(i);
    const int64_t out = numbers.output_spatial_dimensions(i);
    axes_.push_back({in, taps, out, size(lhs, in), size(rhs, taps), size(convolution, out),
                     window.stride(), window.padding_low(), window.padding_high(),
                     window.base_dilation(), window.window_dilation(), window.window_reversal()});
    input_.spatial.push_back(in);
    kernel_.spatial.push_back(taps);
    output_.spatial.push_back(out);
  }
  batch = size(lhs, input_.batch);
  channels = size(lhs, input_.feature);
  kernel_channels = size(rhs, kernel_.batch);
  features = size(rhs, kernel_.feature);
  feature_groups = convolution->feature_group_count();
  batch_groups = convolution->batch_group_count();
}

int64_t Convolution::taps() const {
  int64_t count = 1;
  for (const Axis& axis : axes_) count *= axis.taps;
  return count;
}

int64_t Convolution::positions() const {
  int64_t count = 1;
  for (const Axis& axis : axes_) count *= axis.positions;
  return count;
}

bool IsConvolution(const Instruction* instruction) {
  if (!IsProduct(instruction, xla::HloOpcode::kConvolution) || !HasOneType(instruction) ||
      instruction->window().dimensions().empty() || IsEmpty(instruction) ||
      IsEmpty(instruction->operand(0)) || IsEmpty(instruction->operand(1)) ||
      !IsCountable(instruction->operand(0)->shape().dimensions()) ||
      !IsCountable(instruction->operand(1)->shape().dimensions())) {
    return false;
  }
  for (const xla::WindowDimension& dimension : instruction->window().dimensions()) {
    if (!IsModest(dimension)) return false;
  }
  switch (instruction->shape().element_type()) {
    case xla::F64:
    case xla::F32:
    case xla::BF16:
    case xla::F16:
    case xla::S32:
    case xla::C64:
      return true;
    default:
      return false;
  }
}

xla::PrimitiveType SumType(xla::PrimitiveType type) {
  return type == xla::BF16 || type == xla::F16 ? xla::F32 : type;
}

Instruction* Relaid(const Builder& builder, Instruction* array, const Layout& from,
                    const Layout& to) {
  std::vector<int64_t> permutation(array->shape().dimensions().size());
  permutation[to.batch] = from.batch;
  permutation[to.feature] = from.feature;
  for (size_t i = 0; i < to.spatial.size(); ++i) permutation[to.spatial[i]] = from.spatial[i];
  return builder.Transpose(array, permutation);
}

Instruction* Padded(const Builder& builder, Instruction* array, const Layout& layout,
                    absl::Span<const Axis> axes) {
  xla::PaddingConfig padding;
  for (size_t i = 0; i < array->shape().dimensions().size(); ++i) padding.add_dimensions();
  for (size_t i = 0; i < axes.size(); ++i) {
    auto* const dimension = padding.mutable_dimensions(layout.spatial[i]);
    dimension->set_edge_padding_low(axes[i].low);
    dimension->set_edge_padding_high(axes[i].high);
    dimension->set_interior_padding(axes[i].gaps - 1);
  }
  return builder.Pad(array, padding);
}

Instruction* UnderWindow(const Builder& builder, Instruction* padded, const Layout& layout,
                         absl::Span<const Axis> axes, absl::Span<const int64_t> position) {
  const absl::Span<const int64_t> whole = padded->shape().dimensions();
  std::vector<int64_t> starts(whole.size(), 0), strides(whole.size(), 1);
  std::vector<int64_t> limits(whole.begin(), whole.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t dimension = layout.spatial[i];
    starts[dimension] = position[i] * axes[i].stride;
    limits[dimension] = starts[dimension] + (axes[i].taps - 1) * axes[i].dilation + 1;
    strides[dimension] = axes[i].dilation;
  }
  return builder.Slice(padded, starts, limits, strides);
}

}  // namespace hlograph
