// Sums of rows that several sums share: out[s] = sum of weight[p] * values[place[p]] over the
// entries p of sum s.
//
// Knows neither XLA nor Python. Results do not depend on the number of threads.
#ifndef HLOGRAPH_NATIVE_KERNELS_WEIGHTED_SUMS_H_
#define HLOGRAPH_NATIVE_KERNELS_WEIGHTED_SUMS_H_

#include <cstdint>

namespace hlograph {

struct WeightedEntries {
  int64_t sums;
  const int64_t* offsets;  // [sums + 1]: sum s has the entries offsets[s] .. offsets[s + 1]
  const int32_t* place;    // [entries]
  const float* weight;     // [entries]
};

// Writes out [sums, columns], given values [rows, columns].
void WeightedSums(const WeightedEntries& entries, const float* values, int64_t columns, int threads,
                  float* out);

// Writes the gradient of the values [rows, columns], given that of `out`.
void WeightedSumsBackward(const WeightedEntries& entries, const float* gradient, int64_t rows,
                          int64_t columns, int threads, float* to_values);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_WEIGHTED_SUMS_H_
