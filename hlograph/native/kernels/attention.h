// GATv2 attention over edges grouped by target, fused into one pass.
//
// Brody, Alon and Yahav 2022, arXiv:2105.14491, equation 7, with an edge term:
// of row r with edges (s, l), head by head,
//   z = source[s] + target[r] + label[l],  a = softmax over edges of <weight, leaky(z)>,
//   out[r] = sum over edges of a * source[s].
// Knows neither XLA nor Python. Results do not depend on the number of threads.
#ifndef HLOGRAPH_NATIVE_KERNELS_ATTENTION_H_
#define HLOGRAPH_NATIVE_KERNELS_ATTENTION_H_

#include <cstdint>

namespace hlograph {

// Rows are heads * width floats, the heads one after the other.
struct AttentionShape {
  int64_t sources = 0;
  int64_t targets = 0;
  int64_t labels = 0;
  int64_t edges = 0;
  int64_t heads = 0;
  int64_t width = 0;  // of a head: 8, 16, 32 or 64
  float negative_slope = 0.2f;
};

struct AttentionInput {
  const float* source;         // [sources, heads * width]
  const float* target;         // [targets, heads * width]
  const float* label;          // [labels, heads * width]
  const float* weight;         // [heads * width]
  const int64_t* offsets;      // [targets + 1]: row r owns edges offsets[r] .. offsets[r + 1]
  const int32_t* edge_source;  // [edges]
  const int32_t* edge_label;   // [edges]
};

struct AttentionGradients {
  float* source;
  float* target;
  float* label;
  float* weight;
};

bool AttentionSupports(int64_t width);

// Writes out [targets, heads * width] and the attention of each edge, [edges, heads].
void AttentionForward(const AttentionShape& shape, const AttentionInput& input, int threads,
                      float* out, float* attention);

// Writes the gradients of all four inputs, given that of `out`.
void AttentionBackward(const AttentionShape& shape, const AttentionInput& input, int threads,
                       const float* out, const float* attention, const float* gradient,
                       const AttentionGradients& gradients);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_ATTENTION_H_
