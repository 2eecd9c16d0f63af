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

// The right matrix by panels of 16 columns: groups of four neighbours along the contraction, filled
// up with zeros. 128 is added to the elements, which are unsigned then.
struct Panels {
  int64_t groups = 0, count = 0;
  std::vector<uint8_t> elements;

  const uint8_t* panel(int64_t number) const {
    return elements.data() + number * groups * kLanes * kDepth;
  }
};

// `by_columns` is true if the neighbours of a column lie together.
Panels PanelsOf(ffi::ThreadPool pool, const int8_t* matrix, int64_t depth, int64_t columns,
                bool by_columns) {
  Panels panels;
  panels.groups = (depth + kDepth - 1) / kDepth;
  panels.count = (columns + kLanes - 1) / kLanes;
  panels.elements.assign(panels.count * panels.groups * kLanes * kDepth, 0);
  ForPoolRanges(pool, panels.count, 0.5 * depth * kLanes, [&](int64_t panel, int64_t end) {
    for (; panel < end; ++panel) {
      const int64_t first = panel * kLanes, width = std::min(kLanes, columns - first);
      uint8_t* const elements = panels.elements.data() + first * panels.groups * kDepth;
      for (int64_t k = 0; k < depth; ++k) {
        uint8_t* const group = elements + k / kDepth * kLanes * kDepth + k % kDepth;
        const int8_t* const from = matrix + (by_columns ? first * depth + k : k * columns + first);
        const int64_t stride = by_columns ? depth : 1;
        for (int64_t lane = 0; lane < width; ++lane) {
          group[lane * kDepth] = static_cast<uint8_t>(from[lane * stride]) ^ 0x80;
        }
      }
    }
  });
  return panels;
}

// Some rows of the left matrix, filled up with zeros to whole groups; and 128 times their sums,
// which is what the panels add too much.
struct RowBlock {
  static constexpr int64_t kRows = 8;

  explicit RowBlock(int64_t groups)
      : width(groups * kDepth), elements(kRows * width, 0), excess(kRows, 0) {}

  void Read(const int8_t* rows, int64_t count, int64_t depth) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(elements.data() + i * width, rows + i * depth, depth);
      uint32_t sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += static_cast<uint32_t>(int32_t{rows[i * depth + k]});
      excess[i] = static_cast<int32_t>(128u * sum);
    }
  }

  const int64_t width;
  std::vector<int8_t> elements;
  std::vector<int32_t> excess;
};

#if defined(__x86_64__)

// Writes the products of a block with panels that follow each other. All sums are modulo 2^32, as
// those of XLA.
template <int64_t panels>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void MultiplyByVnni(
    const RowBlock& block, const uint8_t* right, int32_t* products) {
  constexpr int64_t kRows = RowBlock::kRows;
  const int64_t groups = block.width / kDepth;
  __m512i sums[kRows][panels];
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t p = 0; p < panels; ++p) sums[i][p] = _mm512_setzero_si512();
  }
  const int8_t* const left = block.elements.data();
  for (int64_t k = 0; k < groups; ++k) {
    __m512i columns[panels];
    for (int64_t p = 0; p < panels; ++p) {
      columns[p] = _mm512_loadu_si512(right + (p * groups + k) * kLanes * kDepth);
    }
    for (int64_t i = 0; i < kRows; ++i) {
      int32_t four;
      std::memcpy(&four, left + i * block.width + k * kDepth, kDepth);
      const __m512i row = _mm512_set1_epi32(four);
      for (int64_t p = 0; p < panels; ++p) {
        sums[i][p] = _mm512_dpbusd_epi32(sums[i][p], columns[p], row);
      }
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    const __m512i excess = _mm512_set1_epi32(block.excess[i]);
    for (int64_t p = 0; p < panels; ++p) {
      _mm512_storeu_si512(products + (i * panels + p) * kLanes,
                          _mm512_sub_epi32(sums[i][p], excess));
    }
  }
}

bool HasVnni() {
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

#else

template <int64_t panels>
void MultiplyByVnni(const RowBlock&, const uint8_t*, int32_t*) {}
bool HasVnni() { return false; }

#endif

// Matrices of `depth` columns, left, and `columns`, right: of more dimensions, the left one is that
// of all its rows.
ffi::Error Int8Product(ffi::ThreadPool pool, ffi::AnyBuffer left, ffi::AnyBuffer right,
                       ffi::Result<ffi::Buffer<ffi::S32>> result, bool by_columns) {
  if (!HasVnni()) return Refusal("expected a processor with AVX-512 VNNI");
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
  return WithoutExceptions([&] {
    const Panels panels =
        PanelsOf(pool, right.reinterpret_data<const int8_t>(), depth, columns, by_columns);
    int32_t* const products = result->typed_data();
    const int64_t blocks = (sizes.rows + RowBlock::kRows - 1) / RowBlock::kRows;
    const double nanoseconds = 0.01 * RowBlock::kRows * depth * columns;
    ForPoolRanges(pool, blocks, nanoseconds, [&](int64_t number, int64_t end) {
      RowBlock block(panels.groups);
      int32_t part[RowBlock::kRows * 2 * kLanes];
      for (; number < end; ++number) {
        const int64_t row = number * RowBlock::kRows;
        const int64_t count = std::min(RowBlock::kRows, sizes.rows - row);
        block.Read(rows + row * depth, count, depth);
        for (int64_t panel = 0; panel < panels.count; panel += 2) {
          const bool two = panel + 1 < panels.count;
          two ? MultiplyByVnni<2>(block, panels.panel(panel), part)
              : MultiplyByVnni<1>(block, panels.panel(panel), part);
          const int64_t stride = two ? 2 * kLanes : kLanes, first = panel * kLanes;
          const int64_t width = std::min(stride, columns - first);
          for (int64_t i = 0; i < count; ++i) {
            std::memcpy(products + (row + i) * columns + first, part + i * stride,
                        width * sizeof(int32_t));
          }
        }
      }
    });
  });
}

XLA_FFI_DEFINE_HANDLER(kInt8Product, Int8Product,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<bool>("by_columns"));

const NativeKernel kInt8ProductKernel("hlograph.kernel.int8_product", kInt8Product,
                                      /*needs_numpy=*/false, HasVnni);

}  // namespace
}  // namespace hlograph
