// Inner products of rows of complex numbers.
#include <complex>
#include <cstdint>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// Sums in lanes: products of the parts at even and odd places, so that no lane is moved while the
// rows are read. a and b are real and imaginary parts in turns.
template <typename T>
HLOGRAPH_FOR_EACH_CPU std::complex<T> InnerProduct(const T* a, const T* b, int64_t count,
                                                   bool conjugate) {
  constexpr int64_t kLanes = 32;
  T same[kLanes] = {}, crossed[kLanes] = {};
  const int64_t parts = 2 * count, whole = parts / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) same[lane] += a[i + lane] * b[i + lane];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      crossed[lane] += a[i + lane] * b[i + (lane ^ 1)];
    }
  }
  for (int64_t i = whole; i < parts; ++i) {
    same[i - whole] += a[i] * b[i];
    crossed[i - whole] += a[i] * b[i ^ 1];
  }
  // real * real and imaginary * imaginary; real * imaginary and imaginary * real.
  T reals = 0, imaginaries = 0, forward = 0, backward = 0;
  for (int64_t lane = 0; lane < kLanes; lane += 2) {
    reals += same[lane];
    imaginaries += same[lane + 1];
    forward += crossed[lane];
    backward += crossed[lane + 1];
  }
  return conjugate ? std::complex<T>(reals + imaginaries, forward - backward)
                   : std::complex<T>(reals - imaginaries, forward + backward);
}

template <typename T>
void MultiplyRows(ffi::ThreadPool pool, const ffi::AnyBuffer& left, const ffi::AnyBuffer& right,
                  ffi::AnyBuffer& result, bool conjugate) {
  const MatrixSizes sizes = MatrixOf(left);
  const auto* const a = static_cast<const T*>(left.untyped_data());
  const auto* const b = static_cast<const T*>(right.untyped_data());
  auto* const products = static_cast<std::complex<T>*>(result.untyped_data());
  ForPoolRanges(pool, sizes.rows, 0.5 * sizes.columns, [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      const int64_t first = 2 * row * sizes.columns;
      products[row] = InnerProduct<T>(a + first, b + first, sizes.columns, conjugate);
    }
  });
}

ffi::Error ComplexRows(ffi::ThreadPool pool, ffi::AnyBuffer left, ffi::AnyBuffer right,
                       ffi::Result<ffi::AnyBuffer> result, bool conjugate) {
  if (left.element_type() != right.element_type() ||
      left.element_type() != result->element_type() || !HaveSameSizes(left, right) ||
      static_cast<int64_t>(result->element_count()) != MatrixOf(left).rows) {
    return Refusal("expected two arrays of the same type and sizes, and a number for each row");
  }
  if (left.element_type() == ffi::C64) {
    return WithinMemory([&] { MultiplyRows<float>(pool, left, right, *result, conjugate); });
  }
  if (left.element_type() == ffi::C128) {
    return WithinMemory([&] { MultiplyRows<double>(pool, left, right, *result, conjugate); });
  }
  return Refusal("expected complex numbers");
}

XLA_FFI_DEFINE_HANDLER(kComplexRows, ComplexRows,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<bool>("conjugate"));

const NativeKernel kComplexRowsKernel("hlograph.kernel.complex_rows", kComplexRows);

}  // namespace
}  // namespace hlograph
