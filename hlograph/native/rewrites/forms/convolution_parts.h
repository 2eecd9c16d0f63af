// Parts of a convolution by their roles, whatever its layout, for rules that take it apart.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_CONVOLUTION_PARTS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_CONVOLUTION_PARTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

// A spatial dimension: where it is in both operands and the result, their sizes, and its window.
struct Axis {
  int64_t input = 0, kernel = 0, output = 0;
  int64_t size = 0, taps = 0, positions = 0;
  int64_t stride = 1, low = 0, high = 0;
  int64_t gaps = 1;      // distance of neighbouring elements of the input: the base dilation
  int64_t dilation = 1;  // distance of neighbouring taps
  bool reversed = false;

  // Where a tap is at the first position of the window, from the start of the padded input.
  int64_t Offset(int64_t tap) const { return (reversed ? taps - 1 - tap : tap) * dilation; }
};

// Where the dimensions are by role. The batch of a kernel is its input features.
struct Layout {
  int64_t batch = 0, feature = 0;
  std::vector<int64_t> spatial;
};

class Convolution {
 public:
  // Expects a convolution that IsConvolution.
  explicit Convolution(const Instruction* convolution);

  const std::vector<Axis>& axes() const { return axes_; }
  const Layout& input() const { return input_; }
  const Layout& kernel() const { return kernel_; }
  const Layout& output() const { return output_; }
  // Numbers of elements of the window, and of the places where it is put.
  int64_t taps() const;
  int64_t positions() const;

  // Sizes along the dimension of that role.
  int64_t batch = 0, channels = 0, kernel_channels = 0, features = 0;
  int64_t feature_groups = 1, batch_groups = 1;

 private:
  std::vector<Axis> axes_;
  Layout input_, kernel_, output_;
};

// Returns true for a plain and valid convolution with at least one spatial dimension, without
// empty arrays, whose operands and result have one type that rules for time are tested with.
bool IsConvolution(const Instruction* instruction);

// Type to sum in: single precision for half precision, as convolutions do.
xla::PrimitiveType SumType(xla::PrimitiveType type);

// Moves dimensions to where the same roles are in another layout.
Instruction* Relaid(const Builder& builder, Instruction* array, const Layout& from,
                    const Layout& to);

// Pads the spatial dimensions as the window says, with zeros between elements as well. They are
// where `layout` has them.
Instruction* Padded(const Builder& builder, Instruction* array, const Layout& layout,
                    absl::Span<const Axis> axes);

// The part of the padded input that the taps of the window meet at one position.
Instruction* UnderWindow(const Builder& builder, Instruction* padded, const Layout& layout,
                         absl::Span<const Axis> axes, absl::Span<const int64_t> position);

// Calls a function with each vector of indices below `sizes`, the last index fastest.
template <typename Function>
void ForEachIndex(absl::Span<const int64_t> sizes, Function function) {
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t size : sizes) {
    if (size <= 0) return;
  }
  while (true) {
    function(absl::Span<const int64_t>(index));
    int64_t i = static_cast<int64_t>(sizes.size()) - 1;
    while (i >= 0 && ++index[i] == sizes[i]) index[i--] = 0;
    if (i < 0) return;
  }
}

// The rules by form, one file each.

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_CONVOLUTION_PARTS_H_
