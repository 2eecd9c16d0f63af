// Tiles of products of matrices of floats, of which the left one is read where it lies.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_PRODUCT_TILES_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_PRODUCT_TILES_H_

#include <cstdint>
#include <vector>

namespace hlograph {

// Neighbouring elements of the depth: where the first one is in a row of the left matrix, and
// their number.
struct Run {
  int64_t first, count;
};

// Products of rows of the left matrix, each from its first element on, with a panel: a row of
// PanelWidth(columns) for each element of the depth. If `by_column`, as many elements of a row are
// read for each one of the depth.
template <typename T>
struct TileProducts {
  const T* left;
  const std::vector<int64_t>& rows;  // where each row begins
  const std::vector<Run>& depth;
  int64_t step;  // from an element of a run to the next one
  const T* panel;
  int64_t columns;  // no more than a panel has
  T* products;
  int64_t stride;  // of rows of products
  bool adds;       // to the products that there are
  bool by_column;  // each column of the panel has elements of its own, which lie side by side
};

// Returns the number of columns of a panel on this processor: those asked for and some more up to a
// whole vector, or the most that a panel has.
template <typename T>
int64_t PanelWidth(int64_t columns);

// Multiplies the rows from `begin` to before `end`.
template <typename T>
void MultiplyTiles(const TileProducts<T>& tiles, int64_t begin, int64_t end);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_PRODUCT_TILES_H_
