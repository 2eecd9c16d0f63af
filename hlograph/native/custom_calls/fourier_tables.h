// What Fourier transforms of a length have in common: how they are taken apart, and roots of unity.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_FOURIER_TABLES_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_FOURIER_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace hlograph {

// One pass of Stockham's algorithm: transforms of `radix` elements, at `blocks` places of parts
// that are `stride` elements long. Factors are complex: radix - 1 for each block.
template <typename T>
struct FourierPass {
  int radix;
  int64_t blocks, stride;
  std::vector<T> factors;
};

// The passes of a transform of that many elements, of which each may be a vector.
template <typename T>
struct FourierPasses {
  explicit FourierPasses(int64_t length);

  int64_t length;
  std::vector<FourierPass<T>> passes;
};

// Tables for transforms of `length` complex numbers, or of twice as many real ones if `is_real`.
//
// If `lanes` is more than one, a row is [length / lanes, lanes]: columns are transformed, and then
// rows of `lanes` elements.
template <typename T>
struct FourierTables {
  FourierTables(int64_t length, bool is_real, int64_t lanes);

  FourierPasses<T> passes;    // of length / lanes elements
  FourierPasses<T> of_lanes;  // of `lanes` elements
  std::vector<T> between;     // real parts for all lanes, then imaginary ones, for each row
  std::vector<T> real_roots, imaginary_roots;  // of real transforms: exp(-pi i k / length)
};

// Returns tables that were made before, if they are kept.
template <typename T>
std::shared_ptr<const FourierTables<T>> FindFourierTables(int64_t length, bool is_real,
                                                          int64_t lanes);

// Returns true for products of twos, threes and fives.
bool IsFourierLength(int64_t length);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_FOURIER_TABLES_H_
