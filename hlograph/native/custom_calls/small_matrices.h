// Batches of small matrices, one in each lane of vectors.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_SMALL_MATRICES_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_SMALL_MATRICES_H_

#include <algorithm>
#include <cstdint>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {

constexpr int64_t kMostRows = 8;  // of a small matrix
constexpr int64_t kLanes = 16;    // matrices that are worked on at once

// Element (i, j) of each of the matrices of a group: lanes[(i * columns + j) * kLanes + lane].
//
// Reads `elements` numbers of each of `count` matrices that lie one behind the other. Lanes without
// a matrix get the numbers of the first.
template <typename T>
inline __attribute__((always_inline)) void ReadLanes(const T* matrices, int64_t count,
                                                     int64_t elements, T* lanes) {
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const T* const matrix = matrices + (lane < count ? lane : 0) * elements;
    for (int64_t k = 0; k < elements; ++k) lanes[k * kLanes + lane] = matrix[k];
  }
}

template <typename T>
inline __attribute__((always_inline)) void WriteLanes(const T* lanes, int64_t count,
                                                      int64_t elements, T* matrices) {
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int64_t k = 0; k < elements; ++k) matrices[lane * elements + k] = lanes[k * kLanes + lane];
  }
}

// Calls work(first, count) for groups of at most kLanes of a batch, on several threads.
template <typename Work>
void ForGroups(xla::ffi::ThreadPool pool, int64_t batch, double nanoseconds, const Work& work) {
  const int64_t groups = (batch + kLanes - 1) / kLanes;
  ForPoolRanges(pool, groups, kLanes * nanoseconds, [&](int64_t group, int64_t end) {
    for (; group < end; ++group) {
      work(group * kLanes, std::min(kLanes, batch - group * kLanes));
    }
  });
}

// The sizes of a batch of matrices: those of the last two dimensions, and the number of matrices.
struct BatchSizes {
  int64_t batch = 0, rows = 0, columns = 0;
};

inline BatchSizes BatchOf(const xla::ffi::AnyBuffer& buffer) {
  const auto sizes = buffer.dimensions();
  if (sizes.size() < 2) return {};
  BatchSizes result{1, sizes[sizes.size() - 2], sizes[sizes.size() - 1]};
  for (size_t i = 0; i + 2 < sizes.size(); ++i) result.batch *= sizes[i];
  return result;
}

// Returns true for square matrices of at most kMostRows rows.
inline bool AreSmallSquares(const BatchSizes& sizes) {
  return sizes.rows == sizes.columns && sizes.rows >= 1 && sizes.rows <= kMostRows;
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_SMALL_MATRICES_H_
