// Loops that search for the places of many values among edges, as jnp.searchsorted does.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_BINARY_SEARCH_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_BINARY_SEARCH_H_

#include <cstdint>
#include <optional>

#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// Hops to operands that FindBinarySearch reads.
inline constexpr int kBinarySearchReach = 7;

// A loop that halves, for each value, the range of edges among which its place is.
struct BinarySearch {
  int64_t low = 0, high = 0;      // elements: the ends of the ranges
  int64_t edges = 0, values = 0;  // elements that do not change
  int64_t steps = 0;
  bool includes_equal = false;  // whether equal edges come before a value
  // Whether NaNs are equal and greater than all numbers. If not, each comparison with one is false.
  bool orders_nans = false;
};

// Returns the search of a loop of which only the places are used: of numbers that have one zero, at
// least 16 bits and the type of the edges. The edges are a vector, or have one for each index of
// leading dimensions that values have, too.
std::optional<BinarySearch> FindBinarySearch(const Instruction* loop);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_BINARY_SEARCH_H_
