#include <algorithm>
#include <cstdint>
#include <vector>

#include "hlograph/native/kernels/attention.h"
#include "hlograph/native/kernels/head_widths.h"
#include "hlograph/native/kernels/lanes.h"
#include "hlograph/native/kernels/ranges.h"

namespace hlograph {
namespace {

// Heads begin .. end, which are columns of their own in all arrays. So threads that have other
// heads write elsewhere, and sums do not depend on their number.
struct Heads {
  int64_t begin;
  int64_t end;
};

// Gradients of one row: of what it attended to, and of itself as a target.
struct RowGradients {
  float* attended;
  float* target;
};

// Begins a row: goes back through the residual sum and the GELU.
inline void BeginRow(const AttentionInput& input, int64_t row, int64_t row_width, int64_t begin,
                     int64_t end, const float* attended, const float* gradient,
                     const AttentionGradients& gradients, const RowGradients& of_row) {
  const float* arrived = gradient + row * row_width;
  float* to_node = gradients.nodes + input.own[row] * row_width;
  for (int64_t i = begin; i < end; i += kLanes) {
    const Lanes slope = GeluSlope(At(attended + row * row_width + i) + At(input.bias + i));
    const Lanes through = At(arrived + i) * slope;
    At(of_row.attended + i) = through;
    At(of_row.target + i) = Lanes{};
    At(gradients.bias + i) += through;
    At(to_node + i) += At(arrived + i);
  }
}

template <int kWidth>
HLOGRAPH_FOR_EACH_PROCESSOR void BackwardHeads(const AttentionShape& shape,
                                               const AttentionInput& input, const Heads& heads,
                                               const AttentionTrace& trace, const float* gradient,
                                               const AttentionGradients& gradients,
                                               const RowGradients& of_row) {
  const int64_t row_width = shape.heads * kWidth, both = 2 * row_width;
  const int64_t begin = heads.begin * kWidth, end = heads.end * kWidth;
  const int64_t edges = input.offsets[shape.rows];
  for (int64_t row = 0; row < shape.rows; ++row) {
    BeginRow(input, row, row_width, begin, end, trace.attended, gradient, gradients, of_row);
    const float* attended = trace.attended + row * row_width;
    const int64_t target_at = input.own[row] * both + row_width;
    const float* target = input.projected + target_at;
    for (int64_t e = input.offsets[row]; e < input.offsets[row + 1]; ++e) {
      const int64_t later = input.edge_source[std::min(e + kEdgesAhead, edges - 1)] * both + begin;
      Prefetch(input.projected + later, end - begin);
      Prefetch(gradients.projected + later, end - begin);
      const float* source = input.projected + input.edge_source[e] * both;
      const float* label = input.label + input.edge_label[e] * row_width;
      float* to_source = gradients.projected + input.edge_source[e] * both;
      float* to_label = gradients.label + input.edge_label[e] * row_width;
      for (int64_t h = heads.begin; h < heads.end; ++h) {
        const float share = trace.shares[e * shape.heads + h];
        // d attended / d logit = share * (source - attended).
        Lanes through = {};
        for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
          through += At(of_row.attended + i) * (At(source + i) - At(attended + i));
        }
        const float to_logit = share * Sum(through);
        const Lanes above = Broadcast(to_logit), below = Broadcast(to_logit * shape.negative_slope);
        for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
          const Lanes z = At(source + i) + At(target + i) + At(label + i);
          const Lanes scaled = z > 0.0f ? above : below;
          const Lanes inner = scaled * At(input.weight + i);
          At(gradients.weight + i) += scaled * z;
          At(of_row.target + i) += inner;
          At(to_label + i) += inner;
          At(to_source + i) += share * At(of_row.attended + i) + inner;
        }
      }
    }
    float* to_target = gradients.projected + target_at;
    for (int64_t i = begin; i < end; i += kLanes) At(to_target + i) += At(of_row.target + i);
  }
}

void SetToZero(const AttentionShape& shape, const AttentionGradients& gradients) {
  const int64_t row_width = shape.heads * shape.width;
  std::fill_n(gradients.nodes, shape.nodes * row_width, 0.0f);
  std::fill_n(gradients.projected, shape.nodes * 2 * row_width, 0.0f);
  std::fill_n(gradients.label, shape.labels * row_width, 0.0f);
  std::fill_n(gradients.weight, row_width, 0.0f);
  std::fill_n(gradients.bias, row_width, 0.0f);
}

}  // namespace

void AttentionBackward(const AttentionShape& shape, const AttentionInput& input, int threads,
                       const AttentionTrace& trace, const float* gradient,
                       const AttentionGradients& gradients) {
  SetToZero(shape, gradients);
  ForRanges(shape.heads, shape.rows + shape.edges, threads, [&](int64_t begin, int64_t end) {
    const int64_t row_width = shape.heads * shape.width;
    std::vector<float> of_row(2 * row_width);
    ForWidth(shape.width, [&](auto width) {
      BackwardHeads<decltype(width)::value>(shape, input, {begin, end}, trace, gradient, gradients,
                                            {of_row.data(), of_row.data() + row_width});
    });
  });
}

}  // namespace hlograph
