// Arrays of numpy as arguments, and checks of their types and shapes.
#ifndef HLOGRAPH_NATIVE_BINDINGS_GRAPHS_ARRAYS_H_
#define HLOGRAPH_NATIVE_BINDINGS_GRAPHS_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "hlograph/native/kernels/dense.h"
#include "hlograph/native/kernels/lanes.h"
#include "hlograph/native/kernels/projection.h"

namespace hlograph {

namespace nb = nanobind;

template <typename T, int kRank>
struct ArrayOf;
template <typename T>
struct ArrayOf<T, 1> {
  using In = nb::ndarray<const T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
  using Out = nb::ndarray<T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
};
template <typename T>
struct ArrayOf<T, 2> {
  using In = nb::ndarray<const T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
  using Out = nb::ndarray<T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
};
template <typename T, int kRank>
using In = typename ArrayOf<T, kRank>::In;
template <typename T, int kRank>
using Out = typename ArrayOf<T, kRank>::Out;

template <typename Array>
int64_t Size(const Array& array, int axis) {
  return static_cast<int64_t>(array.shape(axis));
}

inline void Expect(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

template <typename Array>
bool HasShape(const Array& array, int64_t rows, int64_t columns) {
  return static_cast<int64_t>(array.shape(0)) == rows &&
         static_cast<int64_t>(array.shape(1)) == columns;
}

// A fully connected layer of its parameters.
inline DenseLayer Dense(const In<float, 2>& weight, const In<float, 1>& bias) {
  Expect(weight.shape(0) == bias.shape(0), "there must be a bias for each output");
  return {weight.data(), bias.data(), Size(weight, 0), Size(weight, 1)};
}

// Layer normalisation and a fully connected layer of their parameters.
inline Projection ProjectionOf(const In<float, 1>& scale, const In<float, 1>& shift, float epsilon,
                               const In<float, 2>& weight, const In<float, 1>& bias) {
  const int64_t width = Size(scale, 0);
  Expect(shift.shape(0) == scale.shape(0), "there must be a shift for each scale");
  Expect(width % kLanes == 0, "rows that are normalised must be a multiple of 8 wide");
  Expect(Size(weight, 1) == width, "a layer of another width than what is normalised");
  return {{scale.data(), shift.data(), width, epsilon}, Dense(weight, bias)};
}

// Refuses offsets that do not divide `entries` entries into lists.
inline void ExpectOffsets(const In<int64_t, 1>& offsets, int64_t entries) {
  const int64_t lists = static_cast<int64_t>(offsets.shape(0)) - 1;
  Expect(lists >= 0 && offsets.data()[0] == 0 && offsets.data()[lists] == entries,
         "offsets must run from 0 to the number of entries");
  bool rise = true;
  for (int64_t i = 0; i < lists; ++i) rise &= offsets.data()[i] <= offsets.data()[i + 1];
  Expect(rise, "offsets must not fall");
}

// Refuses numbers that are not those of a row.
template <typename Numbers>
void ExpectBelow(const Numbers& numbers, int64_t limit, const char* message) {
  bool holds = true;
  for (size_t i = 0; i < numbers.shape(0); ++i) {
    holds &= numbers.data()[i] >= 0 && numbers.data()[i] < limit;
  }
  Expect(holds, message);
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_BINDINGS_GRAPHS_ARRAYS_H_
