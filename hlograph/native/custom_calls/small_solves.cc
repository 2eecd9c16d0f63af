// Solutions of batches of small triangular systems, as BLAS's trsm with matrices at its left.
#include <cstdint>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/small_matrices.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// How the matrices of systems are read.
struct Triangle {
  bool is_lower = false;
  bool is_transposed = false;
  bool has_unit_diagonal = false;
};

constexpr int64_t kMostColumns = 8;  // right sides that are solved at once

// Solves for columns from `begin` to before `end` of each right side.
template <typename T>
HLOGRAPH_FOR_EACH_CPU void SolveColumns(const T* matrices, const T* right, int64_t count, int64_t n,
                                        int64_t columns, int64_t begin, int64_t end,
                                        Triangle triangle, T* solutions) {
  alignas(64) T a[kMostRows * kMostRows * kLanes];
  alignas(64) T x[kMostRows * kMostColumns * kLanes];
  ReadLanes(matrices, count, n * n, a);
  const int64_t width = end - begin;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const T* const own = right + (lane < count ? lane : 0) * n * columns;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        x[(i * width + c) * kLanes + lane] = own[i * columns + begin + c];
      }
    }
  }
  const bool forward = triangle.is_lower != triangle.is_transposed;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    // As OpenBLAS, which jaxlib calls, does: of large numbers, the inverse is flushed to zero.
    alignas(64) T inverse[kLanes];
    const T* const diagonal = a + (i * n + i) * kLanes;
    for (int64_t lane = 0; lane < kLanes; ++lane) inverse[lane] = 1 / diagonal[lane];
    for (int64_t c = 0; c < width; ++c) {
      T* const own = x + (i * width + c) * kLanes;
      for (int64_t before = 0; before < step; ++before) {
        const int64_t k = forward ? before : n - 1 - before;
        const T* const factor = a + (triangle.is_transposed ? k * n + i : i * n + k) * kLanes;
        const T* const other = x + (k * width + c) * kLanes;
        for (int64_t lane = 0; lane < kLanes; ++lane) own[lane] -= factor[lane] * other[lane];
      }
      if (triangle.has_unit_diagonal) continue;
      for (int64_t lane = 0; lane < kLanes; ++lane) own[lane] *= inverse[lane];
    }
  }
  for (int64_t lane = 0; lane < count; ++lane) {
    T* const own = solutions + lane * n * columns;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        own[i * columns + begin + c] = x[(i * width + c) * kLanes + lane];
      }
    }
  }
}

template <typename T>
void SolveAll(ffi::ThreadPool pool, const ffi::AnyBuffer& matrices, const ffi::AnyBuffer& right,
              Triangle triangle, ffi::AnyBuffer& solutions) {
  const BatchSizes sizes = BatchOf(right);
  const int64_t n = sizes.rows, columns = sizes.columns;
  const double nanoseconds = 2 + 0.5 * n * (n + columns) + 0.05 * n * n * columns;
  ForGroups(pool, sizes.batch, nanoseconds, [&](int64_t first, int64_t count) {
    for (int64_t begin = 0; begin < columns; begin += kMostColumns) {
      SolveColumns(matrices.typed_data<T>() + first * n * n,
                   right.typed_data<T>() + first * n * columns, count, n, columns, begin,
                   std::min(begin + kMostColumns, columns), triangle,
                   solutions.typed_data<T>() + first * n * columns);
    }
  });
}

ffi::Error SmallSolve(ffi::ThreadPool pool, ffi::AnyBuffer matrices, ffi::AnyBuffer right,
                      ffi::Result<ffi::AnyBuffer> solutions, bool is_lower, bool is_transposed,
                      bool has_unit_diagonal) {
  const BatchSizes sizes = BatchOf(matrices), systems = BatchOf(right);
  if (!AreSmallSquares(sizes) || systems.rows != sizes.rows || systems.batch != sizes.batch ||
      right.element_type() != matrices.element_type() ||
      solutions->element_type() != matrices.element_type() || !HaveSameSizes(right, *solutions)) {
    return Refusal("expected square matrices of at most 8 rows, and right sides of as many");
  }
  const Triangle triangle{is_lower, is_transposed, has_unit_diagonal};
  if (matrices.element_type() == ffi::F32) {
    return WithoutExceptions([&] { SolveAll<float>(pool, matrices, right, triangle, *solutions); });
  }
  if (matrices.element_type() == ffi::F64) {
    return WithoutExceptions(
        [&] { SolveAll<double>(pool, matrices, right, triangle, *solutions); });
  }
  return Refusal("expected floats of 32 or 64 bits");
}

XLA_FFI_DEFINE_HANDLER(kSmallSolve, SmallSolve,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<bool>("is_lower")
                           .Attr<bool>("is_transposed")
                           .Attr<bool>("has_unit_diagonal"));

const NativeKernel kSmallSolveKernel("hlograph.kernel.small_solve", kSmallSolve);

}  // namespace
}  // namespace hlograph
