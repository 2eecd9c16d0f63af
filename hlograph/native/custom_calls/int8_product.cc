// Products of matrices of 8-bit integers, with sums of 32 bits.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

constexpr int64_t kLanes = 16;  // columns of a panel
constexpr int64_t kDepth = 4;   // neighbours along the contraction that are multiplied at once

// The right matrix by panels: for each of 16 columns, groups of four neighbours along the
// contraction, filled with zeros; and 128 times the sum of each column.
struct Panels {
  int64_t groups = 0, count = 0;
  std::vector<int8_t> elements;
  std::vector<int32_t> offsets;
};

// `by_columns` is true if the neighbours of a column lie together.
Panels PanelsOf(const int8_t* matrix, int64_t depth, int64_t columns, bool by_columns) {
  Panels panels;
  panels.groups = (depth + kDepth - 1) / kDepth;
  panels.count = (columns + kLanes - 1) / kLanes;
  panels.elements.assign(panels.count * panels.groups * kLanes * kDepth, 0);
  panels.offsets.assign(panels.count * kLanes, 0);
  for (int64_t column = 0; column < columns; ++column) {
    int8_t* const panel =
        panels.elements.data() + column / kLanes * panels.groups * kLanes * kDepth;
    uint32_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int8_t element = by_columns ? matrix[column * depth + k] : matrix[k * columns + column];
      panel[(k / kDepth * kLanes + column % kLanes) * kDepth + k % kDepth] = element;
      sum += static_cast<uint32_t>(static_cast<int32_t>(element));
    }
    panels.offsets[column] = static_cast<int32_t>(128 * sum);
  }
  return panels;
}

int32_t FourOf(const int8_t* row, int64_t k, int64_t depth) {
  int32_t four = 0;
  std::memcpy(&four, row + k, std::min(kDepth, depth - k));
  return four;
}

// Products of some rows with a panel, 16 columns wide.
using MultiplyRows = void (*)(const int8_t* rows, int64_t count, int64_t depth, const int8_t* panel,
                              const int32_t* offsets, int32_t* products);

#if defined(__x86_64__)

constexpr int64_t kRows = 8;

// vpdpbusd takes its left operand for unsigned: 128 is added to it, and the columns' sums times 128
// are subtracted. All sums are modulo 2^32, as those of XLA.
template <int64_t rows>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void MultiplyByVnni(
    const int8_t* matrix, int64_t depth, const int8_t* panel, const int32_t* offsets,
    int32_t* products) {
  const __m512i start = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_loadu_si512(offsets));
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i sums[rows];
  for (int64_t i = 0; i < rows; ++i) sums[i] = start;
  const int64_t whole = depth / kDepth;
  for (int64_t k = 0; k < whole; ++k) {
    const __m512i right = _mm512_loadu_si512(panel + k * kLanes * kDepth);
    for (int64_t i = 0; i < rows; ++i) {
      int32_t four;
      std::memcpy(&four, matrix + i * depth + k * kDepth, kDepth);
      sums[i] =
          _mm512_dpbusd_epi32(sums[i], _mm512_xor_si512(_mm512_set1_epi32(four), flip), right);
    }
  }
  if (whole * kDepth < depth) {
    const __m512i right = _mm512_loadu_si512(panel + whole * kLanes * kDepth);
    for (int64_t i = 0; i < rows; ++i) {
      const int32_t four = FourOf(matrix + i * depth, whole * kDepth, depth);
      sums[i] =
          _mm512_dpbusd_epi32(sums[i], _mm512_xor_si512(_mm512_set1_epi32(four), flip), right);
    }
  }
  for (int64_t i = 0; i < rows; ++i) _mm512_storeu_si512(products + i * kLanes, sums[i]);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void MultiplyRowsByVnni(
    const int8_t* matrix, int64_t count, int64_t depth, const int8_t* panel, const int32_t* offsets,
    int32_t* products) {
  if (count == kRows) return MultiplyByVnni<kRows>(matrix, depth, panel, offsets, products);
  for (int64_t i = 0; i < count; ++i) {
    MultiplyByVnni<1>(matrix + i * depth, depth, panel, offsets, products + i * kLanes);
  }
}

// Sixteen bits hold the sum of a product's pair of neighbours only if they are widened first.
__attribute__((target("avx2"))) void MultiplyRowsByAvx2(const int8_t* matrix, int64_t count,
                                                        int64_t depth, const int8_t* panel,
                                                        const int32_t* /*offsets*/,
                                                        int32_t* products) {
  const int64_t groups = (depth + kDepth - 1) / kDepth;
  for (int64_t i = 0; i < count; ++i) {
    const int8_t* const row = matrix + i * depth;
    // Lanes of pairs: each column has two of them.
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
    for (int64_t k = 0; k < groups; ++k) {
      const __m128i four = _mm_set1_epi32(FourOf(row, k * kDepth, depth));
      const __m256i left = _mm256_cvtepi8_epi16(four);
      for (int64_t part = 0; part < 4; ++part) {
        const __m128i right = _mm_loadu_si128(
            reinterpret_cast<const __m128i*>(panel + (k * kLanes + part * 4) * kDepth));
        sums[part] =
            _mm256_add_epi32(sums[part], _mm256_madd_epi16(left, _mm256_cvtepi8_epi16(right)));
      }
    }
    for (int64_t part = 0; part < 4; ++part) {
      int32_t pairs[8];
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(pairs), sums[part]);
      for (int64_t lane = 0; lane < 4; ++lane) {
        products[i * kLanes + part * 4 + lane] = pairs[2 * lane] + pairs[2 * lane + 1];
      }
    }
  }
}

MultiplyRows FindMultiply() {
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return MultiplyRowsByVnni;
  }
  return __builtin_cpu_supports("avx2") ? MultiplyRowsByAvx2 : nullptr;
}

#else

constexpr int64_t kRows = 8;
MultiplyRows FindMultiply() { return nullptr; }

#endif

// Matrices of `depth` columns, left, and `columns`, right: of more dimensions, the left one is that
// of all its rows.
ffi::Error Int8Product(ffi::ThreadPool pool, ffi::AnyBuffer left, ffi::AnyBuffer right,
                       ffi::Result<ffi::Buffer<ffi::S32>> result, bool by_columns) {
  static const MultiplyRows multiply = FindMultiply();
  if (multiply == nullptr) return Refusal("expected a processor with AVX2");
  if (left.element_type() != ffi::S8 || right.element_type() != ffi::S8 ||
      right.dimensions().size() != 2) {
    return Refusal("expected matrices of signed integers of 8 bits");
  }
  const MatrixSizes sizes = MatrixOf(left);
  const int64_t depth = right.dimensions()[by_columns ? 1 : 0];
  const int64_t columns = right.dimensions()[by_columns ? 0 : 1];
  if (sizes.columns != depth ||
      static_cast<int64_t>(result->element_count()) != sizes.rows * columns) {
    return Refusal("expected matrices and a result of sizes that fit");
  }
  const auto* const rows = left.reinterpret_data<const int8_t>();
  const Panels panels =
      PanelsOf(right.reinterpret_data<const int8_t>(), depth, columns, by_columns);
  int32_t* const products = result->typed_data();
  const int64_t blocks = (sizes.rows + kRows - 1) / kRows;
  const double nanoseconds = 0.01 * kRows * depth * columns;
  ForPoolRanges(pool, blocks, nanoseconds, [&](int64_t block, int64_t end) {
    int32_t part[kRows * kLanes];
    const int64_t first = block * kRows, last = std::min(end * kRows, sizes.rows);
    for (int64_t panel = 0; panel < panels.count; ++panel) {
      const int64_t width = std::min(kLanes, columns - panel * kLanes);
      for (int64_t row = first; row < last; row += kRows) {
        const int64_t count = std::min(kRows, last - row);
        multiply(rows + row * depth, count, depth,
                 panels.elements.data() + panel * panels.groups * kLanes * kDepth,
                 panels.offsets.data() + panel * kLanes, part);
        for (int64_t i = 0; i < count; ++i) {
          std::memcpy(products + (row + i) * columns + panel * kLanes, part + i * kLanes,
                      width * sizeof(int32_t));
        }
      }
    }
  });
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(kInt8Product, Int8Product,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<bool>("by_columns"));

const NativeKernel kInt8ProductKernel("hlograph.kernel.int8_product", kInt8Product);

}  // namespace
}  // namespace hlograph
