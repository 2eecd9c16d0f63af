#include "hlograph/native/custom_calls/int8_tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>

// GCC 12 takes the undefined operands of its own intrinsics for variables that are not initialized.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace hlograph {

#if defined(__x86_64__)

namespace {

#define HLOGRAPH_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

constexpr int64_t kTileRows = 6;  // whose sums stay in registers
constexpr int64_t kLanes = 16;
constexpr int64_t kVectors = kPanelColumns / kLanes;
constexpr int64_t kBytes = 64;  // of a vector

__mmask64 FirstBytes(int64_t count) {
  return count >= kBytes ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

// Packs four rows of up to 64 columns.
HLOGRAPH_VNNI void PackGroup(const RightPart& part, int64_t column, int64_t row, uint8_t* group) {
  const __mmask64 columns = FirstBytes(part.columns - column);
  __m512i rows[kInt8Group];
  for (int64_t i = 0; i < kInt8Group; ++i) {
    const bool is_there = row + i < part.depth;
    rows[i] = _mm512_maskz_loadu_epi8(is_there ? columns : 0,
                                      part.first + (is_there ? row + i : 0) * part.stride + column);
    rows[i] = _mm512_xor_si512(rows[i], _mm512_set1_epi8(-128));
  }
  const __m512i low[] = {_mm512_unpacklo_epi8(rows[0], rows[1]),
                         _mm512_unpacklo_epi8(rows[2], rows[3])};
  const __m512i high[] = {_mm512_unpackhi_epi8(rows[0], rows[1]),
                          _mm512_unpackhi_epi8(rows[2], rows[3])};
  // Four columns of each sixteen.
  const __m512i a = _mm512_unpacklo_epi16(low[0], low[1]);
  const __m512i b = _mm512_unpackhi_epi16(low[0], low[1]);
  const __m512i c = _mm512_unpacklo_epi16(high[0], high[1]);
  const __m512i d = _mm512_unpackhi_epi16(high[0], high[1]);
  const __m512i ab_front = _mm512_shuffle_i32x4(a, b, 0x44),
                ab_back = _mm512_shuffle_i32x4(a, b, 0xee);
  const __m512i cd_front = _mm512_shuffle_i32x4(c, d, 0x44),
                cd_back = _mm512_shuffle_i32x4(c, d, 0xee);
  _mm512_store_si512(group, _mm512_shuffle_i32x4(ab_front, cd_front, 0x88));
  _mm512_store_si512(group + kBytes, _mm512_shuffle_i32x4(ab_front, cd_front, 0xdd));
  _mm512_store_si512(group + 2 * kBytes, _mm512_shuffle_i32x4(ab_back, cd_back, 0x88));
  _mm512_store_si512(group + 3 * kBytes, _mm512_shuffle_i32x4(ab_back, cd_back, 0xdd));
}

// Packs 64 elements of up to 16 columns: 16 groups of one vector.
HLOGRAPH_VNNI void PackColumns(const RightPart& part, int64_t column, int64_t row,
                               uint8_t* vectors) {
  const __mmask64 there = FirstBytes(part.depth - row);
  __m512i from[kLanes], to[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    const bool is_there = column + i < part.columns;
    from[i] = _mm512_maskz_loadu_epi8(is_there ? there : 0,
                                      part.first + (is_there ? column + i : 0) * part.stride + row);
    from[i] = _mm512_xor_si512(from[i], _mm512_set1_epi8(-128));
  }
  for (int64_t i = 0; i < kLanes; i += 2) {
    to[i] = _mm512_unpacklo_epi32(from[i], from[i + 1]);
    to[i + 1] = _mm512_unpackhi_epi32(from[i], from[i + 1]);
  }
  for (int64_t i = 0; i < kLanes; i += 4) {
    from[i] = _mm512_unpacklo_epi64(to[i], to[i + 2]);
    from[i + 1] = _mm512_unpackhi_epi64(to[i], to[i + 2]);
    from[i + 2] = _mm512_unpacklo_epi64(to[i + 1], to[i + 3]);
    from[i + 3] = _mm512_unpackhi_epi64(to[i + 1], to[i + 3]);
  }
  for (int64_t i = 0; i < 4; ++i) {
    const __m512i even_front = _mm512_shuffle_i32x4(from[i], from[i + 4], 0x88);
    const __m512i odd_front = _mm512_shuffle_i32x4(from[i], from[i + 4], 0xdd);
    const __m512i even_back = _mm512_shuffle_i32x4(from[i + 8], from[i + 12], 0x88);
    const __m512i odd_back = _mm512_shuffle_i32x4(from[i + 8], from[i + 12], 0xdd);
    to[i] = _mm512_shuffle_i32x4(even_front, even_back, 0x88);
    to[i + 4] = _mm512_shuffle_i32x4(odd_front, odd_back, 0x88);
    to[i + 8] = _mm512_shuffle_i32x4(even_front, even_back, 0xdd);
    to[i + 12] = _mm512_shuffle_i32x4(odd_front, odd_back, 0xdd);
  }
  const int64_t groups = std::min(kLanes, PartsOf(part.depth - row, kInt8Group));
  for (int64_t i = 0; i < groups; ++i) {
    _mm512_store_si512(vectors + i * kVectors * kBytes, to[i]);
  }
}

// Multiplies rows with the first columns of a panel. The instruction is written out because GCC 12
// copies the sums before each intrinsic, and has too few registers then.
template <int64_t rows, int64_t vectors>
HLOGRAPH_VNNI void MultiplyTile(const RowsByPanel& work, int64_t row) {
  const __mmask16 last = FirstBytes(work.columns - (vectors - 1) * kLanes);
  int32_t* const products = work.products + row * work.product_stride;
  __m512i sums[rows][vectors];
#pragma GCC unroll 6
  for (int64_t i = 0; i < rows; ++i) {
    const __m512i excess = _mm512_set1_epi32(work.excess[row + i]);
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) {
      const __mmask16 there = v + 1 < vectors ? 0xffff : last;
      sums[i][v] = _mm512_sub_epi32(
          _mm512_maskz_loadu_epi32(work.adds ? there : 0,
                                   products + i * work.product_stride + v * kLanes),
          excess);
    }
  }
  const int8_t* left = work.left + row * work.left_stride;
  const uint8_t* panel = work.panel;
  for (int64_t k = 0; k < work.groups; ++k, left += kInt8Group, panel += kVectors * kBytes) {
    __m512i columns[vectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) columns[v] = _mm512_load_si512(panel + v * kBytes);
#pragma GCC unroll 6
    for (int64_t i = 0; i < rows; ++i) {
      int32_t four;
      std::memcpy(&four, left + i * work.left_stride, kInt8Group);
      const __m512i group = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sums[i][v]) : "v"(columns[v]), "v"(group));
      }
    }
  }
#pragma GCC unroll 6
  for (int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) {
      const __mmask16 there = v + 1 < vectors ? 0xffff : last;
      _mm512_mask_storeu_epi32(products + i * work.product_stride + v * kLanes, there, sums[i][v]);
    }
  }
}

using TileFunction = void (*)(const RowsByPanel&, int64_t row);

template <int64_t... numbers>
TileFunction TileOf(int64_t rows, int64_t vectors, std::integer_sequence<int64_t, numbers...>) {
  static constexpr TileFunction kTiles[] = {
      MultiplyTile<numbers / kVectors + 1, numbers % kVectors + 1>...};
  return kTiles[(rows - 1) * kVectors + vectors - 1];
}

}  // namespace

bool HasVnni() {
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

void PackPanels(const RightPart& part, uint8_t* panels) {
  const int64_t depth = RoundedUp(part.depth, kInt8Group);
  if (!part.by_columns) {
    for (int64_t row = 0; row < depth; row += kInt8Group) {
      for (int64_t column = 0; column < part.columns; column += kPanelColumns) {
        PackGroup(part, column, row, panels + column * depth + row * kPanelColumns);
      }
    }
    return;
  }
  for (int64_t column = 0; column < part.columns; column += kLanes) {
    uint8_t* const panel = panels + column / kPanelColumns * kPanelColumns * depth +
                           column % kPanelColumns * kInt8Group;
    for (int64_t row = 0; row < depth; row += kBytes) {
      PackColumns(part, column, row, panel + row * kPanelColumns);
    }
  }
}

HLOGRAPH_VNNI void SumRows(const int8_t* first, int64_t stride, int64_t rows, int64_t depth,
                           int32_t* sums) {
  for (int64_t i = 0; i < rows; ++i) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t k = 0; k < depth; k += kBytes) {
      const __m512i elements =
          _mm512_maskz_loadu_epi8(FirstBytes(depth - k), first + i * stride + k);
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), elements);
    }
    sums[i] = _mm512_reduce_add_epi32(sum);
  }
}

void MultiplyRows(const RowsByPanel& work) {
  const int64_t tiles = PartsOf(work.rows, kTileRows);
  const int64_t vectors = PartsOf(work.columns, kLanes);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t row = tile * work.rows / tiles, end = (tile + 1) * work.rows / tiles;
    TileOf(end - row, vectors, std::make_integer_sequence<int64_t, kTileRows * kVectors>())(work,
                                                                                            row);
  }
}

#else

bool HasVnni() { return false; }
void PackPanels(const RightPart&, uint8_t*) {}
void SumRows(const int8_t*, int64_t, int64_t, int64_t, int32_t*) {}
void MultiplyRows(const RowsByPanel&) {}

#endif

}  // namespace hlograph
