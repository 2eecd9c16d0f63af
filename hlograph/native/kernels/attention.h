// A residual layer of GATv2 attention over edges grouped by target, fused into one pass.
//
// Brody, Alon and Yahav 2022, arXiv:2105.14491, equation 7, with an edge term. Nodes are given as
// they are and projected, as sources and as targets. Row r is node own[r] after the layer; with
// edges (s, l), head by head,
//   z = source[s] + target[own[r]] + label[l],  a = softmax over edges of <weight, leaky(z)>,
//   attended[r] = sum over edges of a * source[s],
//   out[r] = nodes[own[r]] + gelu(attended[r] + bias).
// Knows neither XLA nor Python. Results do not depend on the number of threads.
#ifndef HLOGRAPH_NATIVE_KERNELS_ATTENTION_H_
#define HLOGRAPH_NATIVE_KERNELS_ATTENTION_H_

#include <cstdint>

namespace hlograph {

// Rows are heads * width floats, the heads one after the other.
struct AttentionShape {
  int64_t nodes = 0;
  int64_t rows = 0;
  int64_t labels = 0;
  int64_t edges = 0;
  int64_t heads = 0;
  int64_t width = 0;  // of a head: 8, 16, 32 or 64
  float negative_slope = 0.2f;
};

struct AttentionInput {
  const float* nodes;          // [nodes, heads * width]
  const float* projected;      // [nodes, 2 * heads * width]: as source, then as target
  const float* label;          // [labels, heads * width]
  const float* weight;         // [heads * width]
  const float* bias;           // [heads * width]
  const int64_t* own;          // [rows]
  const int64_t* offsets;      // [rows + 1]: row r owns edges offsets[r] .. offsets[r + 1]
  const int32_t* edge_source;  // [edges]
  const int32_t* edge_label;   // [edges]
};

struct AttentionOutput {
  float* out;       // [rows, heads * width]
  float* attended;  // [rows, heads * width]
  float* shares;    // [edges, heads]: the weight of each edge
};

// What the gradients need of it.
struct AttentionTrace {
  const float* attended;
  const float* shares;
};

struct AttentionGradients {
  float* nodes;
  float* projected;
  float* label;
  float* weight;
  float* bias;
};

// Edges by which the rows of sources are fetched ahead.
inline constexpr int64_t kEdgesAhead = 8;

bool AttentionSupports(int64_t width);

void AttentionForward(const AttentionShape& shape, const AttentionInput& input, int threads,
                      const AttentionOutput& output);

// Writes the gradients of the inputs, given what AttentionForward wrote and the gradient of `out`.
void AttentionBackward(const AttentionShape& shape, const AttentionInput& input, int threads,
                       const AttentionTrace& trace, const float* gradient,
                       const AttentionGradients& gradients);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_ATTENTION_H_
