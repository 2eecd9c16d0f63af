#include "hlograph/native/custom_calls/product_tiles.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hlograph/native/custom_calls/processor.h"

namespace hlograph {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
#define HLOGRAPH_AVX512 __attribute__((target("arch=x86-64-v4")))
#define HLOGRAPH_AVX2 __attribute__((target("arch=x86-64-v3")))
#define HLOGRAPH_INLINE __attribute__((always_inline)) inline

template <typename T, int bytes>
struct VectorOf {
  using Type __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias)) = T;
};

constexpr int64_t kTileRows = 6;
constexpr int kWideBytes = 64, kNarrowBytes = 32;  // of a vector with AVX-512 and with AVX2
constexpr int kWide = 4, kNarrow = 2;              // vectors of a panel's row, at most

// Sums of a tile stay in registers for the whole depth.
template <typename T, int bytes, bool by_column, int rows, int vectors>
HLOGRAPH_INLINE void MultiplyTile(const TileProducts<T>& tiles, int64_t row, T* products,
                                  int64_t stride) {
  using Vector = typename VectorOf<T, bytes>::Type;
  constexpr int64_t kLanes = bytes / sizeof(T);
  Vector sums[rows][vectors];
  for (int i = 0; i < rows; ++i) {
    for (int v = 0; v < vectors; ++v) {
      sums[i][v] = Vector{};
    }
  }
  const T* panel = tiles.panel;
  for (const Run& run : tiles.depth) {
    const T* left[rows];
    for (int i = 0; i < rows; ++i) left[i] = tiles.left + tiles.rows[row + i] + run.first;
    for (int64_t k = 0; k < run.count; ++k, panel += vectors * kLanes) {
      for (int v = 0; v < vectors; ++v) {
        const Vector right = *reinterpret_cast<const Vector*>(panel + v * kLanes);
        for (int i = 0; i < rows; ++i) {
          const T* const element = left[i] + k * tiles.step;
          if constexpr (by_column) {
            sums[i][v] += *reinterpret_cast<const Vector*>(element + v * kLanes) * right;
          } else {
            sums[i][v] += *element * right;
          }
        }
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int v = 0; v < vectors; ++v) {
      auto* const product = reinterpret_cast<Vector*>(products + i * stride + v * kLanes);
      *product = tiles.adds ? *product + sums[i][v] : sums[i][v];
    }
  }
}

// Multiplies a tile whose products may be fewer than the columns of the panel.
template <typename T, int bytes, bool by_column, int rows, int vectors>
HLOGRAPH_INLINE void MultiplyColumns(const TileProducts<T>& tiles, int64_t row) {
  constexpr int64_t kColumns = vectors * bytes / sizeof(T);
  T* const products = tiles.products + row * tiles.stride;
  if (tiles.columns == kColumns) {
    return MultiplyTile<T, bytes, by_column, rows, vectors>(tiles, row, products, tiles.stride);
  }
  T whole[rows * kColumns] = {};
  for (int i = 0; i < rows && tiles.adds; ++i) {
    std::copy_n(products + i * tiles.stride, tiles.columns, whole + i * kColumns);
  }
  MultiplyTile<T, bytes, by_column, rows, vectors>(tiles, row, whole, kColumns);
  for (int i = 0; i < rows; ++i) {
    std::copy_n(whole + i * kColumns, tiles.columns, products + i * tiles.stride);
  }
}

template <typename T, int bytes, bool by_column, int vectors>
HLOGRAPH_INLINE void MultiplyRows(const TileProducts<T>& tiles, int64_t begin, int64_t end) {
  int64_t row = begin;
  for (; row + kTileRows <= end; row += kTileRows) {
    MultiplyColumns<T, bytes, by_column, kTileRows, vectors>(tiles, row);
  }
  for (; row + 4 <= end; row += 4) MultiplyColumns<T, bytes, by_column, 4, vectors>(tiles, row);
  for (; row + 2 <= end; row += 2) MultiplyColumns<T, bytes, by_column, 2, vectors>(tiles, row);
  if (row < end) MultiplyColumns<T, bytes, by_column, 1, vectors>(tiles, row);
}

template <typename T, int bytes, bool by_column>
HLOGRAPH_INLINE void MultiplyPanel(const TileProducts<T>& tiles, int64_t begin, int64_t end) {
  constexpr int kVectors = bytes == kWideBytes ? kWide : kNarrow;
  const int64_t vectors = PanelWidth<T>(tiles.columns) * sizeof(T) / bytes;
  if (vectors == 1) return MultiplyRows<T, bytes, by_column, 1>(tiles, begin, end);
  if (vectors == 2) return MultiplyRows<T, bytes, by_column, 2>(tiles, begin, end);
  if (vectors == 3)
    return MultiplyRows<T, bytes, by_column, std::min(3, kVectors)>(tiles, begin, end);
  MultiplyRows<T, bytes, by_column, kVectors>(tiles, begin, end);
}

template <typename T>
HLOGRAPH_AVX512 void MultiplyWide(const TileProducts<T>& tiles, int64_t begin, int64_t end) {
  if (tiles.by_column) return MultiplyPanel<T, kWideBytes, true>(tiles, begin, end);
  MultiplyPanel<T, kWideBytes, false>(tiles, begin, end);
}

template <typename T>
HLOGRAPH_AVX2 void MultiplyNarrow(const TileProducts<T>& tiles, int64_t begin, int64_t end) {
  if (tiles.by_column) return MultiplyPanel<T, kNarrowBytes, true>(tiles, begin, end);
  MultiplyPanel<T, kNarrowBytes, false>(tiles, begin, end);
}

}  // namespace

template <typename T>
int64_t PanelWidth(int64_t columns) {
  const int64_t lanes = (HasWideVectors() ? kWideBytes : kNarrowBytes) / sizeof(T);
  const int64_t vectors = HasWideVectors() ? kWide : kNarrow;
  return std::min((columns + lanes - 1) / lanes, vectors) * lanes;
}

template <typename T>
void MultiplyTiles(const TileProducts<T>& tiles, int64_t begin, int64_t end) {
  (HasWideVectors() ? MultiplyWide<T> : MultiplyNarrow<T>)(tiles, begin, end);
}

#else

}  // namespace

template <typename T>
int64_t PanelWidth(int64_t) {
  return 64 / sizeof(T);
}

template <typename T>
void MultiplyTiles(const TileProducts<T>&, int64_t, int64_t) {}

#endif

template int64_t PanelWidth<float>(int64_t);
template int64_t PanelWidth<double>(int64_t);
template void MultiplyTiles(const TileProducts<float>&, int64_t, int64_t);
template void MultiplyTiles(const TileProducts<double>&, int64_t, int64_t);

}  // namespace hlograph
