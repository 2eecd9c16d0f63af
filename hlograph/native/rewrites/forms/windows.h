// The window of a reduction or of its gradient, dimension by dimension.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_WINDOWS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

// The window along one dimension.
struct Sliding {
  int64_t taps = 1, stride = 1, dilation = 1;
  int64_t low = 0, high = 0;
  int64_t positions = 0;

  // Where the last position starts.
  int64_t last() const { return (positions - 1) * stride; }
};

// The window along each dimension of an array, or nothing if it is not a valid one that ends up
// with these sizes, or has gaps between elements or many taps.
std::optional<std::vector<Sliding>> SlidingOver(const xla::Window& window,
                                                absl::Span<const int64_t> sizes,
                                                absl::Span<const int64_t> result);

// Returns which of these operations combines the elements of windows, from its neutral element on.
// Expects a reduction of windows of one array.
std::optional<xla::HloOpcode> CombinationOf(const Instruction* window,
                                            absl::Span<const xla::HloOpcode> operations);

// The rules by form, one file each.

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_WINDOWS_H_
