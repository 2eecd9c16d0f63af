// The terms of attention pooling, and of soft counts, that depend on a node alone.
//
// A row is heads * width values, then `kinds` logits of kinds, then gates up to `columns`: first
// one for each head. With w = exp(limit * tanh(gate / limit)), the terms of a row are
//   w of the head times each value, the sigmoid of each kind's logit, and w of each gate.
// A further gate whose logit is 0 has the term 1, and so counts nodes.
// Knows neither XLA nor Python. Results do not depend on the number of threads.
#ifndef HLOGRAPH_NATIVE_KERNELS_POOLING_H_
#define HLOGRAPH_NATIVE_KERNELS_POOLING_H_

#include <cstdint>

namespace hlograph {

struct PoolingShape {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t heads = 0;
  int64_t width = 0;  // of a head
  int64_t kinds = 0;
  float limit = 10.0f;
};

// True if all parts of a row begin at multiples of a vector register.
bool PoolingSupports(const PoolingShape& shape);

// Writes the terms [rows, columns].
void PoolingTerms(const PoolingShape& shape, const float* projected, int threads, float* terms);

// Writes the gradient of `projected` [rows, columns], given the terms and their gradient.
void PoolingBackward(const PoolingShape& shape, const float* projected, const float* terms,
                     const float* gradient, int threads, float* to_projected);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_POOLING_H_
