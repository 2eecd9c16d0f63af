// Fourier transforms of rows and of columns, in vectors.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_FOURIER_KERNELS_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_FOURIER_KERNELS_H_

#include <cstdint>

#include "hlograph/native/custom_calls/fourier_tables.h"

namespace hlograph {

enum class FourierKind { kComplex, kFromReal, kToReal };

// Transforms of rows, or of columns. Complex numbers are real and imaginary parts in turns.
template <typename T>
struct FourierWork {
  FourierKind kind;
  bool is_inverse;
  int64_t length;  // of complex numbers, or half as many as there are real ones
  T scale;         // of results
  const FourierTables<T>* tables;
  // Of rows: the numbers of T that are read, after which zeros follow, and those that are written.
  const T* x = nullptr;
  T* y = nullptr;
  int64_t given = 0, kept = 0;
  int64_t stride = 0;  // of columns: numbers of T between their elements
};

// What a processor has for it.
template <typename T>
struct FourierKernels {
  int64_t lanes;
  // Transforms a row, whose length is a multiple of lanes * lanes. Tables are those of `lanes`.
  void (*row)(const FourierWork<T>& work, int64_t row, T* scratch);
  // Transforms up to `lanes` rows side by side.
  void (*rows)(const FourierWork<T>& work, int64_t row, int64_t count, T* scratch);
  // Transforms up to `lanes` columns of complex numbers side by side. They begin one beside the
  // other, or `places` numbers of T behind x and y.
  void (*columns)(const FourierWork<T>& work, const T* x, T* y, int64_t count, T* scratch);
  void (*spread_columns)(const FourierWork<T>& work, const T* x, T* y, const int64_t* places,
                         int64_t count, T* scratch);
};

template <typename T>
FourierKernels<T> WideFourierKernels();  // for AVX-512
template <typename T>
FourierKernels<T> NarrowFourierKernels();  // for AVX2

// The numbers of scratch space for a row, and for as many rows or columns as there are lanes.
constexpr int64_t ScratchOfRow(int64_t length, int64_t lanes) {
  return 6 * length + 2 * lanes + 64;
}
constexpr int64_t ScratchOfLanes(int64_t length, int64_t lanes) {
  return 4 * (length + 1) * lanes + 64;
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_FOURIER_KERNELS_H_
