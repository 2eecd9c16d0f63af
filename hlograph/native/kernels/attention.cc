#include "hlograph/native/kernels/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

// One copy of each kernel for each generation of processors; the loader picks.
#define HLOGRAPH_FOR_EACH_PROCESSOR \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))

namespace hlograph {
namespace {

// Sums are formed by block and then added up in order, so that they do not
// depend on who worked on which block.
constexpr int64_t kBlocks = 16;

// Calls work(block, begin, end) for blocks of rows with about equally many edges.
template <typename Work>
void ForBlocks(const int64_t* offsets, int64_t rows, int threads, const Work& work) {
  // A row costs something without edges too.
  const int64_t cost = offsets[rows] + rows;
  std::vector<int64_t> bounds(kBlocks + 1, rows);
  bounds[0] = 0;
  for (int64_t row = 0, block = 1; row < rows && block < kBlocks; ++row) {
    while (block < kBlocks && (offsets[row] + row) * kBlocks >= block * cost) bounds[block++] = row;
  }
  std::atomic<int64_t> next{0};
  const auto serve = [&] {
    for (int64_t block = next++; block < kBlocks; block = next++) {
      if (bounds[block] < bounds[block + 1]) work(block, bounds[block], bounds[block + 1]);
    }
  };
  constexpr int64_t kWorthAThread = 4096;
  std::vector<std::thread> others;
  if (cost >= kWorthAThread) {
    // A machine that has no more threads to give does with fewer.
    try {
      for (int i = 1; i < threads; ++i) others.emplace_back(serve);
    } catch (const std::system_error&) {
    }
  }
  serve();
  for (std::thread& other : others) other.join();
}

// Adds up the blocks' sums, each `size` floats.
void AddBlocks(const std::vector<float>& sums, int64_t size, float* total) {
  std::fill(total, total + size, 0.0f);
  for (int64_t block = 0; block < kBlocks; ++block) {
    const float* sum = sums.data() + block * size;
    for (int64_t i = 0; i < size; ++i) total[i] += sum[i];
  }
}

// Edges by source: the same edges, in another order.
struct BySource {
  std::vector<int64_t> offsets;
  std::vector<int32_t> edge;
  std::vector<int32_t> target;
};

BySource GroupBySource(const AttentionShape& shape, const AttentionInput& input) {
  BySource result;
  result.offsets.assign(shape.sources + 1, 0);
  for (int64_t e = 0; e < shape.edges; ++e) ++result.offsets[input.edge_source[e] + 1];
  for (int64_t s = 0; s < shape.sources; ++s) result.offsets[s + 1] += result.offsets[s];
  result.edge.resize(shape.edges);
  result.target.resize(shape.edges);
  std::vector<int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (int64_t row = 0; row < shape.targets; ++row) {
    for (int64_t e = input.offsets[row]; e < input.offsets[row + 1]; ++e) {
      const int64_t place = next[input.edge_source[e]]++;
      result.edge[place] = static_cast<int32_t>(e);
      result.target[place] = static_cast<int32_t>(row);
    }
  }
  return result;
}

// Eight floats; without wide registers the compiler makes do with narrow ones.
constexpr int kLanes = 8;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float))));

inline const Lanes& At(const float* values) { return *reinterpret_cast<const Lanes*>(values); }
inline Lanes& At(float* values) { return *reinterpret_cast<Lanes*>(values); }

inline float Sum(const Lanes& x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

// Logits of one row's edges.
template <int kWidth>
inline void RowLogits(const AttentionShape& shape, const AttentionInput& input, int64_t row,
                      float* logits) {
  const int64_t heads = shape.heads, row_width = heads * kWidth;
  const float* target = input.target + row * row_width;
  for (int64_t e = input.offsets[row]; e < input.offsets[row + 1]; ++e) {
    const float* source = input.source + input.edge_source[e] * row_width;
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

// Turns a row's logits into weights that sum up to one, head by head.
inline void RowSoftmax(float* logits, int64_t edges, int64_t heads) {
  for (int64_t h = 0; h < heads; ++h) {
    float largest = -std::numeric_limits<float>::max(), total = 0.0f;
    for (int64_t e = h; e < edges * heads; e += heads) largest = std::max(largest, logits[e]);
    for (int64_t e = h; e < edges * heads; e += heads) {
      logits[e] = std::exp(logits[e] - largest);
      total += logits[e];
    }
    const float scale = 1.0f / total;
    for (int64_t e = h; e < edges * heads; e += heads) logits[e] *= scale;
  }
}

template <int kWidth>
HLOGRAPH_FOR_EACH_PROCESSOR void ForwardRows(const AttentionShape& shape,
                                             const AttentionInput& input, int64_t begin,
                                             int64_t end, float* out, float* attention) {
  const int64_t heads = shape.heads, row_width = heads * kWidth;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t first = input.offsets[row], last = input.offsets[row + 1];
    RowLogits<kWidth>(shape, input, row, attention);
    RowSoftmax(attention + first * heads, last - first, heads);
    float* sum = out + row * row_width;
    for (int64_t i = 0; i < row_width; i += kLanes) At(sum + i) = Lanes{};
    for (int64_t e = first; e < last; ++e) {
      const float* source = input.source + input.edge_source[e] * row_width;
      for (int64_t h = 0; h < heads; ++h) {
        const float weight = attention[e * heads + h];
        for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
          At(sum + i) += weight * At(source + i);
        }
      }
    }
  }
}

// Gradients of targets, labels and weights, and of each edge's logits.
template <int kWidth>
HLOGRAPH_FOR_EACH_PROCESSOR void BackwardRows(const AttentionShape& shape,
                                              const AttentionInput& input, int64_t begin,
                                              int64_t end, const float* out, const float* attention,
                                              const float* gradient, float* logit_gradient,
                                              const AttentionGradients& gradients) {
  const int64_t heads = shape.heads, row_width = heads * kWidth;
  for (int64_t row = begin; row < end; ++row) {
    const float* target = input.target + row * row_width;
    const float* arrived = gradient + row * row_width;
    const float* result = out + row * row_width;
    float* to_target = gradients.target + row * row_width;
    for (int64_t i = 0; i < row_width; i += kLanes) At(to_target + i) = Lanes{};
    for (int64_t e = input.offsets[row]; e < input.offsets[row + 1]; ++e) {
      const float* source = input.source + input.edge_source[e] * row_width;
      const float* label = input.label + input.edge_label[e] * row_width;
      float* to_label = gradients.label + input.edge_label[e] * row_width;
      for (int64_t h = 0; h < heads; ++h) {
        // d out / d logit = attention * (source - out).
        Lanes through = {};
        for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
          through += At(arrived + i) * (At(source + i) - At(result + i));
        }
        const float to_logit = attention[e * heads + h] * Sum(through);
        logit_gradient[e * heads + h] = to_logit;
        for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
          const Lanes z = At(source + i) + At(target + i) + At(label + i);
          const Lanes scaled =
              z > 0.0f ? Lanes{} + to_logit : Lanes{} + to_logit * shape.negative_slope;
          const Lanes inner = scaled * At(input.weight + i);
          At(gradients.weight + i) += scaled * z;
          At(to_target + i) += inner;
          At(to_label + i) += inner;
        }
      }
    }
  }
}

// Gradients of sources, from those of the logits.
template <int kWidth>
HLOGRAPH_FOR_EACH_PROCESSOR void BackwardSources(const AttentionShape& shape,
                                                 const AttentionInput& input,
                                                 const BySource& by_source, int64_t begin,
                                                 int64_t end, const float* attention,
                                                 const float* gradient, const float* logit_gradient,
                                                 float* source_gradient) {
  const int64_t heads = shape.heads, row_width = heads * kWidth;
  for (int64_t s = begin; s < end; ++s) {
    const float* source = input.source + s * row_width;
    float* to_source = source_gradient + s * row_width;
    for (int64_t i = 0; i < row_width; i += kLanes) At(to_source + i) = Lanes{};
    for (int64_t k = by_source.offsets[s]; k < by_source.offsets[s + 1]; ++k) {
      const int64_t e = by_source.edge[k];
      const float* target = input.target + by_source.target[k] * row_width;
      const float* label = input.label + input.edge_label[e] * row_width;
      const float* arrived = gradient + by_source.target[k] * row_width;
      for (int64_t h = 0; h < heads; ++h) {
        const float weight = attention[e * heads + h], to_logit = logit_gradient[e * heads + h];
        for (int64_t i = h * kWidth; i < (h + 1) * kWidth; i += kLanes) {
          const Lanes z = At(source + i) + At(target + i) + At(label + i);
          const Lanes inner =
              At(input.weight + i) *
              (z > 0.0f ? Lanes{} + to_logit : Lanes{} + to_logit * shape.negative_slope);
          At(to_source + i) += weight * At(arrived + i) + inner;
        }
      }
    }
  }
}

template <int kWidth>
void Forward(const AttentionShape& shape, const AttentionInput& input, int threads, float* out,
             float* attention) {
  ForBlocks(input.offsets, shape.targets, threads, [&](int64_t, int64_t begin, int64_t end) {
    ForwardRows<kWidth>(shape, input, begin, end, out, attention);
  });
}

template <int kWidth>
void Backward(const AttentionShape& shape, const AttentionInput& input, int threads,
              const float* out, const float* attention, const float* gradient,
              const AttentionGradients& gradients) {
  const int64_t row_width = shape.heads * kWidth, label_size = shape.labels * row_width;
  std::vector<float> logits(shape.edges * shape.heads);
  std::vector<float> labels(kBlocks * label_size), weights(kBlocks * row_width);
  ForBlocks(input.offsets, shape.targets, threads, [&](int64_t block, int64_t begin, int64_t end) {
    const AttentionGradients own = {nullptr, gradients.target, labels.data() + block * label_size,
                                    weights.data() + block * row_width};
    BackwardRows<kWidth>(shape, input, begin, end, out, attention, gradient, logits.data(), own);
  });
  AddBlocks(labels, label_size, gradients.label);
  AddBlocks(weights, row_width, gradients.weight);
  const BySource by_source = GroupBySource(shape, input);
  ForBlocks(by_source.offsets.data(), shape.sources, threads,
            [&](int64_t, int64_t begin, int64_t end) {
              BackwardSources<kWidth>(shape, input, by_source, begin, end, attention, gradient,
                                      logits.data(), gradients.source);
            });
}

// Calls call.template operator()<width>() for the widths that there are kernels for.
template <typename Call>
void ForWidth(int64_t width, const Call& call) {
  switch (width) {
    case 8:
      return call(std::integral_constant<int, 8>());
    case 16:
      return call(std::integral_constant<int, 16>());
    case 32:
      return call(std::integral_constant<int, 32>());
    case 64:
      return call(std::integral_constant<int, 64>());
    default:
      return;
  }
}

}  // namespace

bool AttentionSupports(int64_t width) {
  return width == 8 || width == 16 || width == 32 || width == 64;
}

void AttentionForward(const AttentionShape& shape, const AttentionInput& input, int threads,
                      float* out, float* attention) {
  ForWidth(shape.width, [&](auto width) {
    Forward<decltype(width)::value>(shape, input, threads, out, attention);
  });
}

void AttentionBackward(const AttentionShape& shape, const AttentionInput& input, int threads,
                       const float* out, const float* attention, const float* gradient,
                       const AttentionGradients& gradients) {
  ForWidth(shape.width, [&](auto width) {
    Backward<decltype(width)::value>(shape, input, threads, out, attention, gradient, gradients);
  });
}

}  // namespace hlograph
