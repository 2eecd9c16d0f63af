// Gradients of convolutions with respect to the kernel: few positions of a window as large as the
// result of the convolution.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/convolution_parts.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Positions at most: taps of the convolution whose gradient it is.
constexpr int64_t kMaxPositions = 64;

// The sums of arrays of one shape over the same dimensions, in one pass: what the arrays share is
// read once.
std::vector<Instruction*> SumTogether(const Builder& builder, absl::Span<Instruction* const> arrays,
                                      absl::Span<const int64_t> dimensions) {
  if (arrays.size() == 1) {
    return {builder.Reduce(xla::HloOpcode::kAdd, arrays.front(), dimensions)};
  }
  const xla::PrimitiveType type = arrays.front()->shape().element_type();
  const xla::Shape scalar = xla::ShapeUtil::MakeShape(type, {});
  const int64_t count = arrays.size();
  xla::HloComputation::Builder inner("add_each");
  std::vector<Instruction*> parameters, sums, starts, elements;
  for (int64_t i = 0; i < 2 * count; ++i) {
    parameters.push_back(
        inner.AddInstruction(Instruction::CreateParameter(i, scalar, absl::StrCat("value.", i))));
  }
  for (int64_t i = 0; i < count; ++i) {
    sums.push_back(inner.AddInstruction(Instruction::CreateBinary(
        scalar, xla::HloOpcode::kAdd, parameters[i], parameters[count + i])));
  }
  inner.AddInstruction(Instruction::CreateTuple(sums));
  xla::HloComputation* const add =
      builder.place()->GetModule()->AddEmbeddedComputation(inner.Build());
  starts.assign(count, builder.Scalar(type, 0));
  const xla::Shape one = xla::ShapeUtil::DeleteDimensions(dimensions, arrays.front()->shape());
  const xla::Shape all = xla::ShapeUtil::MakeTupleShape(std::vector<xla::Shape>(count, one));
  Instruction* const reduce = builder.place()->AddInstruction(
      Instruction::CreateReduce(all, arrays, starts, dimensions, add));
  for (int64_t i = 0; i < count; ++i) elements.push_back(builder.Element(reduce, i));
  return elements;
}

// The gradient of a depthwise convolution: each channel of the input, which is in the batch here,
// meets features of its own.
class KernelGradient : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConvolution(instruction)) return false;
    const Convolution parts(instruction);
    for (const Axis& axis : parts.axes()) {
      if (axis.reversed) return false;
    }
    return parts.feature_groups == 1 && parts.batch_groups > 1 &&
           parts.batch_groups == parts.batch && parts.positions() <= kMaxPositions;
  }

  Instruction* Build(Instruction* convolution) const override;
};

// The products under the window, and what is left to do when they are summed.
class GradientBuilder {
 public:
  explicit GradientBuilder(Instruction* convolution)
      : builder_(convolution),
        parts_(convolution),
        // The kernel, which is the change of the result, has channels where the input has the
        // batch.
        layout_(parts_.kernel()),
        each_(parts_.features / parts_.batch_groups) {
    const xla::PrimitiveType type = SumType(convolution->shape().element_type());
    const Layout swapped = {parts_.input().feature, parts_.input().batch, parts_.input().spatial};
    Instruction* const input = Relaid(builder_, convolution->mutable_operand(0), swapped, layout_);
    padded_ = Padded(builder_, input, layout_, parts_.axes());
    if (padded_ != input) padded_ = builder_.Barrier(padded_);
    padded_ = builder_.Convert(padded_, type);
    change_ = builder_.Convert(convolution->mutable_operand(1), type);
    if (each_ > 1) {
      const absl::Span<const int64_t> whole = change_->shape().dimensions();
      std::vector<int64_t> sizes(whole.begin(), whole.end());
      sizes[layout_.feature] = parts_.batch_groups;
      sizes.insert(sizes.begin() + layout_.feature + 1, each_);
      change_ = builder_.Reshape(change_, sizes);
    }
  }

  // Sums over space first, for each image: short sums, of which several are computed at a time.
  Instruction* Sum() const {
    std::vector<int64_t> positions, spatial;
    for (const Axis& axis : parts_.axes()) positions.push_back(axis.positions);
    for (int64_t dimension : layout_.spatial) spatial.push_back(Moved(dimension));
    std::vector<Instruction*> products, sums;
    ForEachIndex(positions, [&](absl::Span<const int64_t> position) {
      products.push_back(Product(position));
    });
    for (Instruction* sum : SumTogether(builder_, products, spatial)) {
      const absl::Span<const int64_t> sizes = sum->shape().dimensions();
      std::vector<int64_t> stacked = {1};
      stacked.insert(stacked.end(), sizes.begin(), sizes.end());
      sums.push_back(builder_.Reshape(sum, stacked));
    }
    const int64_t images = layout_.batch < layout_.feature ? 1 : each_ > 1 ? 3 : 2;
    Instruction* const sum =
        builder_.Reduce(xla::HloOpcode::kAdd, builder_.Concatenate(sums, 0), {images});
    return InResult(sum, positions);
  }

 private:
  // Where a dimension is after the features are split.
  int64_t Moved(int64_t dimension) const {
    return each_ > 1 && dimension > layout_.feature ? dimension + 1 : dimension;
  }

  Instruction* Product(absl::Span<const int64_t> position) const {
    Instruction* under = UnderWindow(builder_, padded_, layout_, parts_.axes(), position);
    if (each_ > 1) {
      std::vector<int64_t> dimensions;
      for (size_t i = 0; i < under->shape().dimensions().size(); ++i)
        dimensions.push_back(Moved(i));
      under = builder_.Broadcast(under, change_->shape().dimensions(), dimensions);
    }
    return builder_.Binary(xla::HloOpcode::kMultiply, under, change_);
  }

  // From all positions, then features, to the layout of the result.
  Instruction* InResult(Instruction* sum, std::vector<int64_t> sizes) const {
    const int64_t rank = sizes.size();
    Layout from = {rank, rank + 1, {}};
    for (int64_t i = 0; i < rank; ++i) from.spatial.push_back(i);
    sizes.insert(sizes.end(), {1, parts_.features});
    return Relaid(builder_, builder_.Reshape(sum, sizes), from, parts_.output());
  }

  Builder builder_;
  Convolution parts_;
  Layout layout_;
  int64_t each_;
  Instruction* padded_;
  Instruction* change_;
};

Instruction* KernelGradient::Build(Instruction* convolution) const {
  return Builder(convolution)
      .Convert(GradientBuilder(convolution).Sum(), convolution->shape().element_type());
}

}  // namespace

const RuleTopic kKernelGradientForms(301, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelGradient>(
      Identity{"depthwise-gradient:kernel", "x*g = [Σ shifted x × g]",
               "Computes the gradient of a depthwise kernel as a sum of products for each tap.",
               Numerics::kClose}));
});

}  // namespace hlograph
