// Cholesky and LU factorizations of batches of small matrices, as LAPACK's potrf and getrf.
#include <cmath>
#include <cstdint>
#include <limits>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/small_matrices.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

template <typename T>
inline __attribute__((always_inline)) T* At(T* lanes, int64_t columns, int64_t i, int64_t j) {
  return lanes + (i * columns + j) * kLanes;
}

// The product with the inverse of a pivot. As in OpenBLAS, which jaxlib calls, that of 0 is 0, of
// infinities and NaNs, too.
template <typename T>
inline __attribute__((always_inline)) T Scaled(T number, T inverse) {
  return inverse == 0 ? T{0} : number * inverse;
}

// Writes the lower factor in the place of the lower triangle, or the upper one in that of the
// upper. `info` is the number of the first pivot that is 0 or negative, counted from 1; 0 if none
// is. A NaN is no such pivot, as for OpenBLAS.
template <typename T>
HLOGRAPH_FOR_EACH_CPU void FactorCholesky(const T* matrices, int64_t count, int64_t n,
                                          bool is_lower, T* factors, int32_t* info) {
  alignas(64) T lanes[kMostRows * kMostRows * kLanes];
  alignas(64) int32_t failed[kLanes] = {};
  ReadLanes(matrices, count, n * n, lanes);
  // Of the upper triangle, element (i, j) is at (j, i).
  const auto at = [&](int64_t i, int64_t j) {
    return is_lower ? At(lanes, n, i, j) : At(lanes, n, j, i);
  };
  for (int64_t j = 0; j < n; ++j) {
    T* const diagonal = at(j, j);
    for (int64_t k = 0; k < j; ++k) {
      const T* const left = at(j, k);
      for (int64_t lane = 0; lane < kLanes; ++lane) diagonal[lane] -= left[lane] * left[lane];
    }
    alignas(64) T inverse[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const bool fails = diagonal[lane] <= 0 && failed[lane] == 0;
      failed[lane] = fails ? static_cast<int32_t>(j + 1) : failed[lane];
      diagonal[lane] = std::sqrt(diagonal[lane]);
      inverse[lane] = 1 / diagonal[lane];
    }
    for (int64_t i = j + 1; i < n; ++i) {
      T* const element = at(i, j);
      for (int64_t k = 0; k < j; ++k) {
        const T* const one = at(i, k);
        const T* const two = at(j, k);
        for (int64_t lane = 0; lane < kLanes; ++lane) element[lane] -= one[lane] * two[lane];
      }
      for (int64_t lane = 0; lane < kLanes; ++lane)
        element[lane] = Scaled(element[lane], inverse[lane]);
    }
  }
  WriteLanes(lanes, count, n * n, factors);
  for (int64_t lane = 0; lane < count; ++lane) info[lane] = failed[lane];
}

// Writes the factors of a matrix with its rows in the order of the pivots; row j was exchanged with
// row pivots[j], counted from 1. `info` is the number of the first pivot that is 0. As in OpenBLAS,
// nothing is divided by a pivot that is 0, subnormal or NaN.
template <typename T>
HLOGRAPH_FOR_EACH_CPU void FactorLu(const T* matrices, int64_t count, int64_t n, T* factors,
                                    int32_t* pivots, int32_t* info) {
  alignas(64) T lanes[kMostRows * kMostRows * kLanes];
  alignas(64) int32_t chosen[kMostRows * kLanes];
  constexpr T kLeast = std::numeric_limits<T>::min();
  alignas(64) int32_t failed[kLanes] = {};
  ReadLanes(matrices, count, n * n, lanes);
  for (int64_t j = 0; j < n; ++j) {
    alignas(64) T greatest[kLanes];
    int32_t* const pivot = chosen + j * kLanes;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      greatest[lane] = std::abs(At(lanes, n, j, j)[lane]);
      pivot[lane] = static_cast<int32_t>(j);
    }
    for (int64_t i = j + 1; i < n; ++i) {
      const T* const element = At(lanes, n, i, j);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const T size = std::abs(element[lane]);
        pivot[lane] = size > greatest[lane] ? static_cast<int32_t>(i) : pivot[lane];
        greatest[lane] = size > greatest[lane] ? size : greatest[lane];
      }
    }
    for (int64_t i = j + 1; i < n; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        T* const upper = At(lanes, n, j, k);
        T* const lower = At(lanes, n, i, k);
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const bool is_chosen = pivot[lane] == i;
          const T one = upper[lane], two = lower[lane];
          upper[lane] = is_chosen ? two : one;
          lower[lane] = is_chosen ? one : two;
        }
      }
    }
    alignas(64) T inverse[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const T diagonal = At(lanes, n, j, j)[lane];
      failed[lane] =
          diagonal == 0 && failed[lane] == 0 ? static_cast<int32_t>(j + 1) : failed[lane];
      inverse[lane] = std::abs(diagonal) >= kLeast ? 1 / diagonal : T{1};
    }
    for (int64_t i = j + 1; i < n; ++i) {
      T* const factor = At(lanes, n, i, j);
      for (int64_t lane = 0; lane < kLanes; ++lane)
        factor[lane] = Scaled(factor[lane], inverse[lane]);
      for (int64_t k = j + 1; k < n; ++k) {
        const T* const upper = At(lanes, n, j, k);
        T* const element = At(lanes, n, i, k);
        for (int64_t lane = 0; lane < kLanes; ++lane) element[lane] -= factor[lane] * upper[lane];
      }
    }
  }
  WriteLanes(lanes, count, n * n, factors);
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int64_t j = 0; j < n; ++j) pivots[lane * n + j] = chosen[j * kLanes + lane] + 1;
    info[lane] = failed[lane];
  }
}

double NanosecondsOf(int64_t n) { return 2.0 + 0.05 * n * n * n + 0.5 * n * n; }

template <typename T>
void FactorAllCholesky(ffi::ThreadPool pool, const ffi::AnyBuffer& matrices, bool is_lower,
                       ffi::AnyBuffer& factors, int32_t* info) {
  const BatchSizes sizes = BatchOf(matrices);
  const int64_t elements = sizes.rows * sizes.columns;
  ForGroups(pool, sizes.batch, NanosecondsOf(sizes.rows), [&](int64_t first, int64_t count) {
    FactorCholesky(matrices.typed_data<T>() + first * elements, count, sizes.rows, is_lower,
                   factors.typed_data<T>() + first * elements, info + first);
  });
}

template <typename T>
void FactorAllLu(ffi::ThreadPool pool, const ffi::AnyBuffer& matrices, ffi::AnyBuffer& factors,
                 int32_t* pivots, int32_t* info) {
  const BatchSizes sizes = BatchOf(matrices);
  const int64_t elements = sizes.rows * sizes.columns;
  ForGroups(pool, sizes.batch, NanosecondsOf(sizes.rows), [&](int64_t first, int64_t count) {
    FactorLu(matrices.typed_data<T>() + first * elements, count, sizes.rows,
             factors.typed_data<T>() + first * elements, pivots + first * sizes.rows, info + first);
  });
}

ffi::Error SmallCholesky(ffi::ThreadPool pool, ffi::AnyBuffer matrices,
                         ffi::Result<ffi::AnyBuffer> factors,
                         ffi::Result<ffi::Buffer<ffi::S32>> info, bool is_lower) {
  const BatchSizes sizes = BatchOf(matrices);
  if (!AreSmallSquares(sizes) || factors->element_type() != matrices.element_type() ||
      !HaveSameSizes(matrices, *factors) ||
      static_cast<int64_t>(info->element_count()) != sizes.batch) {
    return Refusal("expected square matrices of at most 8 rows, factors and a number for each");
  }
  if (matrices.element_type() == ffi::F32) {
    return WithoutExceptions(
        [&] { FactorAllCholesky<float>(pool, matrices, is_lower, *factors, info->typed_data()); });
  }
  if (matrices.element_type() == ffi::F64) {
    return WithoutExceptions(
        [&] { FactorAllCholesky<double>(pool, matrices, is_lower, *factors, info->typed_data()); });
  }
  return Refusal("expected floats of 32 or 64 bits");
}

ffi::Error SmallLu(ffi::ThreadPool pool, ffi::AnyBuffer matrices,
                   ffi::Result<ffi::AnyBuffer> factors, ffi::Result<ffi::Buffer<ffi::S32>> pivots,
                   ffi::Result<ffi::Buffer<ffi::S32>> info) {
  const BatchSizes sizes = BatchOf(matrices);
  if (!AreSmallSquares(sizes) || factors->element_type() != matrices.element_type() ||
      !HaveSameSizes(matrices, *factors) ||
      static_cast<int64_t>(pivots->element_count()) != sizes.batch * sizes.rows ||
      static_cast<int64_t>(info->element_count()) != sizes.batch) {
    return Refusal("expected square matrices of at most 8 rows, factors, pivots and a number");
  }
  if (matrices.element_type() == ffi::F32) {
    return WithoutExceptions([&] {
      FactorAllLu<float>(pool, matrices, *factors, pivots->typed_data(), info->typed_data());
    });
  }
  if (matrices.element_type() == ffi::F64) {
    return WithoutExceptions([&] {
      FactorAllLu<double>(pool, matrices, *factors, pivots->typed_data(), info->typed_data());
    });
  }
  return Refusal("expected floats of 32 or 64 bits");
}

XLA_FFI_DEFINE_HANDLER(kSmallCholesky, SmallCholesky,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<bool>("is_lower"));
XLA_FFI_DEFINE_HANDLER(kSmallLu, SmallLu,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Ret<ffi::Buffer<ffi::S32>>());

const NativeKernel kSmallCholeskyKernel("hlograph.kernel.small_cholesky", kSmallCholesky);
const NativeKernel kSmallLuKernel("hlograph.kernel.small_lu", kSmallLu);

}  // namespace
}  // namespace hlograph
