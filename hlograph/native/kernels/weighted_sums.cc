#include "hlograph/native/kernels/weighted_sums.h"

#include <algorithm>
#include <cstdint>

#include "hlograph/native/kernels/lanes.h"
#include "hlograph/native/kernels/ranges.h"

namespace hlograph {
namespace {

// Adds weight * from[i] to to[i].
inline void AddScaled(float weight, const float* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) At(to + i) += weight * At(from + i);
  for (; i < count; ++i) to[i] += weight * from[i];
}

HLOGRAPH_FOR_EACH_PROCESSOR void SumRange(const WeightedEntries& entries, const float* values,
                                          int64_t columns, int64_t begin, int64_t end, float* out) {
  for (int64_t s = begin; s < end; ++s) {
    float* sum = out + s * columns;
    std::fill_n(sum, columns, 0.0f);
    for (int64_t p = entries.offsets[s]; p < entries.offsets[s + 1]; ++p) {
      AddScaled(entries.weight[p], values + entries.place[p] * columns, columns, sum);
    }
  }
}

HLOGRAPH_FOR_EACH_PROCESSOR void BackwardColumns(const WeightedEntries& entries,
                                                 const float* gradient, int64_t columns,
                                                 int64_t begin, int64_t end, float* to_values) {
  for (int64_t s = 0; s < entries.sums; ++s) {
    const float* from = gradient + s * columns + begin;
    for (int64_t p = entries.offsets[s]; p < entries.offsets[s + 1]; ++p) {
      float* to = to_values + entries.place[p] * columns + begin;
      AddScaled(entries.weight[p], from, end - begin, to);
    }
  }
}

}  // namespace

void WeightedSums(const WeightedEntries& entries, const float* values, int64_t columns, int threads,
                  float* out) {
  ForRanges(entries.sums, entries.offsets[entries.sums], threads, [&](int64_t begin, int64_t end) {
    SumRange(entries, values, columns, begin, end, out);
  });
}

void WeightedSumsBackward(const WeightedEntries& entries, const float* gradient, int64_t rows,
                          int64_t columns, int threads, float* to_values) {
  std::fill_n(to_values, rows * columns, 0.0f);
  // Threads have columns of their own: several sums add to one row.
  constexpr int64_t kTogether = 16;
  const int64_t groups = (columns + kTogether - 1) / kTogether;
  ForRanges(groups, entries.offsets[entries.sums], threads, [&](int64_t begin, int64_t end) {
    BackwardColumns(entries, gradient, columns, begin * kTogether,
                    std::min(end * kTogether, columns), to_values);
  });
}

}  // namespace hlograph
