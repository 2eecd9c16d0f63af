// The heads of an actor-critic: log-probabilities of actions, and the value of a state.
//
// Knows neither XLA nor Python. A row's results depend on that row alone, bit for bit.
#ifndef HLOGRAPH_NATIVE_KERNELS_HEADS_H_
#define HLOGRAPH_NATIVE_KERNELS_HEADS_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/kernels/dense.h"

namespace hlograph {

// Two layers with a tanh between them. The width of the hidden one is a multiple of 8.
struct Head {
  DenseLayer hidden;
  DenseLayer output;
};

// Rows [count, columns] of what the heads see, each from its first column on, and whether actions
// can be taken [count, actions]. One can in each row.
struct HeadInput {
  const float* rows;
  const bool* mask;
  int64_t count;
  int64_t columns;
};

// Writes out [count, outputs] of a head.
void ApplyHead(const Head& head, const HeadInput& input, float* out);

// Replaces logits [count, actions] by log-probabilities, with `masked` in place of the logits of
// actions that cannot be taken.
void LogSoftmax(const HeadInput& input, int64_t actions, float masked, float* logits);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_HEADS_H_
