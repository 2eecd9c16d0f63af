#include <algorithm>
#include <cstdint>
#include <limits>

#include "hlograph/native/kernels/attention.h"
#include "hlograph/native/kernels/head_widths.h"
#include "hlograph/native/kernels/lanes.h"
#include "hlograph/native/kernels/ranges.h"

namespace hlograph {
namespace {

// Logits of one row's edges.
template <int kWidth>
inline void RowLogits(const AttentionShape& shape, const AttentionInput& input, int64_t row,
                      float* logits) {
  const int64_t heads = shape.heads, row_width = heads * kWidth, both = 2 * row_width;
  const int64_t edges = input.offsets[shape.rows];
  const float* target = input.projected + input.own[row] * both + row_width;
  for (int64_t e = input.offsets[row]; e < input.offsets[row + 1]; ++e) {
    const int64_t later = std::min(e + kEdgesAhead, edges - 1);
    Prefetch(input.projected + input.edge_source[later] * both, row_width);
    const float* source = input.projected + input.edge_source[e] * both;
    const float* label = input.label + input.edge_label[e] * row_width;
    for (int64_t h = 0; h < heads; ++h) {
      Lanes logit = {};
      for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
        const Lanes z = At(source + i) + At(target + i) + At(label + i);
        logit += At(input.weight + i) * (z > 0.0f ? z : shape.negative_slope * z);
      }
      logits[e * heads + h] = Sum(logit);
    }
  }
}

// Replaces values by their exponentials.
inline void ExpAll(float* values, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) At(values + i) = Exp(At(values + i));
  if (i < count) {
    Lanes rest = {};
    for (int64_t k = i; k < count; ++k) rest[k - i] = values[k];
    rest = Exp(rest);
    for (int64_t k = i; k < count; ++k) values[k] = rest[k - i];
  }
}

// Takes the largest logit of each head from those of a row.
inline void SubtractLargest(float* logits, int64_t edges, int64_t heads) {
  for (int64_t h = 0; h < heads; ++h) {
    float largest = -std::numeric_limits<float>::max();
    for (int64_t e = h; e < edges * heads; e += heads) largest = std::max(largest, logits[e]);
    for (int64_t e = h; e < edges * heads; e += heads) logits[e] -= largest;
  }
}

// Scales the weights of a row, so that those of each head sum up to one.
inline void ScaleToOne(float* weights, int64_t edges, int64_t heads) {
  for (int64_t h = 0; h < heads; ++h) {
    float total = 0.0f;
    for (int64_t e = h; e < edges * heads; e += heads) total += weights[e];
    const float scale = 1.0f / total;
    for (int64_t e = h; e < edges * heads; e += heads) weights[e] *= scale;
  }
}

// Writes what a row has attended to, given the weights of its edges, and the row after the layer.
template <int kWidth>
inline void Attend(const AttentionShape& shape, const AttentionInput& input, int64_t row,
                   const AttentionOutput& output) {
  const int64_t heads = shape.heads, row_width = heads * kWidth, both = 2 * row_width;
  float* sum = output.attended + row * row_width;
  for (int64_t i = 0; i < row_width; i += kLanes) At(sum + i) = Lanes{};
  for (int64_t e = input.offsets[row]; e < input.offsets[row + 1]; ++e) {
    const float* source = input.projected + input.edge_source[e] * both;
    for (int64_t h = 0; h < heads; ++h) {
      const float share = output.shares[e * heads + h];
      for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
        At(sum + i) += share * At(source + i);
      }
    }
  }
  const float* before = input.nodes + input.own[row] * row_width;
  float* out = output.out + row * row_width;
  for (int64_t i = 0; i < row_width; i += kLanes) {
    At(out + i) = At(before + i) + Gelu(At(sum + i) + At(input.bias + i));
  }
}

template <int kWidth>
HLOGRAPH_FOR_EACH_PROCESSOR void ForwardRows(const AttentionShape& shape,
                                             const AttentionInput& input, int64_t begin,
                                             int64_t end, const AttentionOutput& output) {
  constexpr int64_t kTogether = 16;  // rows whose exponentials fill whole vectors
  const int64_t heads = shape.heads;
  const auto edges = [&](int64_t first, int64_t last) {
    return input.offsets[last] - input.offsets[first];
  };
  const auto shares = [&](int64_t row) { return output.shares + input.offsets[row] * heads; };
  for (int64_t first = begin; first < end; first += kTogether) {
    const int64_t last = std::min(first + kTogether, end);
    for (int64_t row = first; row < last; ++row) {
      RowLogits<kWidth>(shape, input, row, output.shares);
      SubtractLargest(shares(row), edges(row, row + 1), heads);
    }
    ExpAll(shares(first), edges(first, last) * heads);
    for (int64_t row = first; row < last; ++row) {
      ScaleToOne(shares(row), edges(row, row + 1), heads);
      Attend<kWidth>(shape, input, row, output);
    }
  }
}

}  // namespace

bool AttentionSupports(int64_t width) {
  return ForWidth(width, [](auto) {});
}

void AttentionForward(const AttentionShape& shape, const AttentionInput& input, int threads,
                      const AttentionOutput& output) {
  ForRanges(shape.rows, shape.rows + shape.edges, threads, [&](int64_t begin, int64_t end) {
    ForWidth(shape.width, [&](auto width) {
      ForwardRows<decltype(width)::value>(shape, input, begin, end, output);
    });
  });
}

}  // namespace hlograph
