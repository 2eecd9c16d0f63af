// Layer normalisation followed by a fully connected layer, and the gradients of both.
//
// What lies between the two is never stored as a whole. Knows neither XLA nor Python. Results do
// not depend on the number of threads.
#ifndef HLOGRAPH_NATIVE_KERNELS_PROJECTION_H_
#define HLOGRAPH_NATIVE_KERNELS_PROJECTION_H_

#include <cstdint>

#include "hlograph/native/kernels/dense.h"

namespace hlograph {

struct Projection {
  LayerNorm norm;
  DenseLayer dense;
};

struct ProjectionGradients {
  float* rows;    // [count, inputs]
  float* scale;   // [inputs]
  float* shift;   // [inputs]
  float* weight;  // [outputs, inputs]
  float* bias;    // [outputs]
};

// Writes out [count, outputs].
void Project(const Projection& projection, const float* rows, int64_t count, int threads,
             float* out);

// Writes the gradients, given that of `out`.
void ProjectBackward(const Projection& projection, const float* rows, int64_t count, int threads,
                     const float* gradient, const ProjectionGradients& gradients);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_PROJECTION_H_
