// NumPy's vectorized sorts of integers, by the functions of its data types.
//
// They are public since NumPy 1 (PyArray_ArrFuncs), and choose the code for the processor
// themselves. For these types they use neither the array that they could be given nor Python.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_NUMPY_SORTS_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_NUMPY_SORTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hlograph {

// Loads the functions. Returns false if NumPy has none of them; needs the GIL.
bool LoadNumpySorts();

// Sort integers in place.
void SortIntegers(int16_t* values, int64_t count);
void SortIntegers(int32_t* values, int64_t count);
void SortIntegers(int64_t* values, int64_t count);

// Orders positions by the integers there, equal ones in any order. `positions` are 0, 1, 2, ...
void SortPositions(const int64_t* values, int64_t* positions, int64_t count);

// About what sorting so many integers of 32 bits takes on one thread.
inline double NanosecondsOfSort(int64_t count) {
  return 0.4 * count * std::log2(std::max<double>(count, 2));
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_NUMPY_SORTS_H_
