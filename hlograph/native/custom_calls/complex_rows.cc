// Inner products of rows of complex numbers.
#include <complex>
#include <cstdint>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// Sums in lanes, one for an element in turns. Products of parts are subtracted element by element,
// as XLA does: of sums that overflow, the difference would be NaN. a and b are real and imaginary
// parts in turns; a is conjugated if `conjugate` is true.
template <typename T, bool conjugate>
HLOGRAPH_FOR_EACH_CPU std::complex<T> InnerProduct(const T* a, const T* b, int64_t count) {
  constexpr int64_t kLanes = 16;
  constexpr T kSign = conjugate ? -1 : 1;  // of the imaginary parts of a
  T reals[kLanes] = {}, imaginaries[kLanes] = {};
  const auto add = [&](int64_t element, int64_t lane) {
    const T a_real = a[2 * element], a_imaginary = kSign * a[2 * element + 1];
    const T b_real = b[2 * element], b_imaginary = b[2 * element + 1];
    reals[lane] += a_real * b_real - a_imaginary * b_imaginary;
    imaginaries[lane] += a_real * b_imaginary + a_imaginary * b_real;
  };
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (int64_t i = whole; i < count; ++i) add(i, i - whole);
  T real = 0, imaginary = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    real += reals[lane];
    imaginary += imaginaries[lane];
  }
  return {real, imaginary};
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
      products[row] = conjugate ? InnerProduct<T, true>(a + first, b + first, sizes.columns)
                                : InnerProduct<T, false>(a + first, b + first, sizes.columns);
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
    return WithoutExceptions([&] { MultiplyRows<float>(pool, left, right, *result, conjugate); });
  }
  if (left.element_type() == ffi::C128) {
    return WithoutExceptions([&] { MultiplyRows<double>(pool, left, right, *result, conjugate); });
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
