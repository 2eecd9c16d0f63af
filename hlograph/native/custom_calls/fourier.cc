// Fourier transforms along some dimensions, of complex and of real numbers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "hlograph/native/custom_calls/fourier_kernels.h"
#include "hlograph/native/custom_calls/fourier_tables.h"
#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/processor.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

template <typename T>
const FourierKernels<T>& KernelsHere() {
  static const FourierKernels<T> kernels =
      HasWideVectors() ? WideFourierKernels<T>() : NarrowFourierKernels<T>();
  return kernels;
}

// An array of the call and its dimensions, of which the last one may be halved spectra.
struct Transform {
  FourierKind kind;
  bool is_inverse;
  std::vector<int64_t> dimensions;  // those that are transformed, the last one first
  std::vector<int64_t> sizes;       // of the result, but for the last one of rows
  int64_t given, length, kept;      // of the last dimension, if it is transformed
};

constexpr int64_t kMostLanes = 16;

int64_t Product(std::vector<int64_t>::const_iterator begin,
                std::vector<int64_t>::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<int64_t>());
}

// About how long a transform takes.
template <typename T>
double NanosecondsOf(int64_t length) {
  return 0.02 * sizeof(T) * length * (1 + std::log2(static_cast<double>(length)));
}

// Scratch space whose vectors lie in one line of the cache each.
template <typename T>
T* Aligned(const Scratch& scratch) {
  constexpr uintptr_t kLine = 64;
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(scratch.as<T>()) + kLine - 1) & -kLine);
}

template <typename T>
void TransformRows(ffi::ThreadPool pool, const Transform& transform, const T* x, T* y) {
  const FourierKernels<T>& kernels = KernelsHere<T>();
  const bool is_real = transform.kind != FourierKind::kComplex;
  const int64_t length = transform.length, lanes = kernels.lanes;
  const bool one_by_one = length % (lanes * lanes) == 0;
  const auto tables = FindFourierTables<T>(length, is_real, one_by_one ? lanes : 1);
  FourierWork<T> work{transform.kind, transform.is_inverse, length, T{1}, tables.get(), x, y};
  work.given = transform.given;
  work.kept = transform.kept;
  if (transform.is_inverse) work.scale = T{1} / static_cast<T>(length);
  const int64_t rows = Product(transform.sizes.begin(), transform.sizes.end() - 1);
  const int64_t group = one_by_one ? 1 : lanes;
  const double nanoseconds = group * NanosecondsOf<T>(length);
  ForPoolRanges(pool, (rows + group - 1) / group, nanoseconds, [&](int64_t number, int64_t end) {
    const Scratch scratch(
        (one_by_one ? ScratchOfRow(length, lanes) : ScratchOfLanes(length, lanes)) * sizeof(T));
    for (; number < end; ++number) {
      if (one_by_one) {
        kernels.row(work, number, Aligned<T>(scratch));
      } else {
        const int64_t row = number * lanes;
        kernels.rows(work, row, std::min(lanes, rows - row), Aligned<T>(scratch));
      }
    }
  });
}

// Columns that fill no vector are transformed beside those of other arrays, if they are few: of
// spectra of real numbers, one is left over.
template <typename T>
void TransformColumns(ffi::ThreadPool pool, const Transform& transform, int64_t dimension,
                      const T* x, T* y) {
  const FourierKernels<T>& kernels = KernelsHere<T>();
  const auto sizes = transform.sizes.begin();
  const int64_t length = sizes[dimension], lanes = kernels.lanes;
  const int64_t arrays = Product(sizes, sizes + dimension);
  const int64_t columns = Product(sizes + dimension + 1, transform.sizes.end());
  const auto tables = FindFourierTables<T>(length, false, 1);
  FourierWork<T> work{FourierKind::kComplex, transform.is_inverse, length, T{1}, tables.get()};
  if (transform.is_inverse) work.scale = T{1} / static_cast<T>(length);
  work.stride = 2 * columns;
  const int64_t rest = columns % lanes;
  const bool spreads = arrays > 1 && rest <= lanes / 2;
  const int64_t groups = columns / lanes + (spreads || rest == 0 ? 0 : 1);  // of an array
  const int64_t spread = spreads ? arrays * rest : 0;
  const auto transform_group = [&](int64_t group, T* scratch) {
    const int64_t column = group % groups * lanes;
    const int64_t first = 2 * (group / groups * length * columns + column);
    kernels.columns(work, x + first, y + first, std::min(lanes, columns - column), scratch);
  };
  const auto transform_spread = [&](int64_t first, T* scratch) {
    int64_t places[kMostLanes];
    const int64_t count = std::min(lanes, spread - first);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t array = (first + i) / rest, column = columns - rest + (first + i) % rest;
      places[i] = 2 * (array * length * columns + column);
    }
    kernels.spread_columns(work, x, y, places, count, scratch);
  };
  const int64_t all = arrays * groups + (spread + lanes - 1) / lanes;
  ForPoolRanges(pool, all, lanes * NanosecondsOf<T>(length), [&](int64_t number, int64_t end) {
    const Scratch scratch(ScratchOfLanes(length, lanes) * sizeof(T));
    for (; number < end; ++number) {
      if (number < arrays * groups) {
        transform_group(number, Aligned<T>(scratch));
      } else {
        transform_spread((number - arrays * groups) * lanes, Aligned<T>(scratch));
      }
    }
  });
}

template <typename T>
void TransformArray(ffi::ThreadPool pool, const Transform& transform, const ffi::AnyBuffer& x,
                    ffi::AnyBuffer& y) {
  const T* from = static_cast<const T*>(x.untyped_data());
  T* const to = static_cast<T*>(y.untyped_data());
  const int64_t last = static_cast<int64_t>(transform.sizes.size()) - 1;
  for (const int64_t dimension : transform.dimensions) {
    if (dimension == last) {
      TransformRows(pool, transform, from, to);
    } else {
      TransformColumns(pool, transform, dimension, from, to);
    }
    from = to;
  }
}

// Returns true if these are dimensions of the result, each once, and those before the last one have
// lengths of transforms; describes them.
bool DescribeDimensions(const ffi::AnyBuffer& y, ffi::Span<const int64_t> dimensions,
                        Transform& transform) {
  const auto sizes = y.dimensions();
  const int64_t last = static_cast<int64_t>(sizes.size()) - 1;
  transform.sizes.assign(sizes.begin(), sizes.end());
  transform.dimensions.assign(dimensions.begin(), dimensions.end());
  auto& sorted = transform.dimensions;
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted.empty() || sorted.front() > last || sorted.back() < 0 ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return false;
  }
  return std::all_of(sorted.begin(), sorted.end(), [&](int64_t dimension) {
    return dimension == last || IsFourierLength(sizes[dimension]);
  });
}

// Returns true if rows of `from` elements become rows of `to` in a transform, and describes it.
bool DescribeRows(int64_t from, int64_t to, Transform& transform) {
  switch (transform.kind) {
    case FourierKind::kComplex:
      transform.length = to;
      transform.given = 2 * from;
      transform.kept = 2 * to;
      break;
    case FourierKind::kFromReal:
      transform.length = to - 1;
      transform.given = from;
      transform.kept = 2 * to;
      break;
    case FourierKind::kToReal:
      if (transform.dimensions.size() > 1 || to > 2 * (from - 1)) return false;
      transform.length = from - 1;
      transform.given = 2 * from;
      transform.kept = to;
      return IsFourierLength(transform.length);
  }
  return transform.given <= 2 * transform.length && IsFourierLength(transform.length);
}

// Returns true if the arrays and dimensions are of a transform, and describes it.
bool Describe(const ffi::AnyBuffer& x, const ffi::AnyBuffer& y, ffi::Span<const int64_t> dimensions,
              Transform& transform) {
  const auto from = x.dimensions(), to = y.dimensions();
  if (from.size() != to.size() || !DescribeDimensions(y, dimensions, transform)) return false;
  const size_t last = to.size() - 1;
  if (!std::equal(from.begin(), from.begin() + last, to.begin())) return false;
  if (transform.dimensions.front() == static_cast<int64_t>(last)) {
    return DescribeRows(from[last], to[last], transform);
  }
  return transform.kind == FourierKind::kComplex && from[last] == to[last];
}

ffi::Error Fourier(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y,
                   ffi::Span<const int64_t> dimensions, bool inverse) {
  if (!HasFusedMultiplyAdd()) return Refusal("expected a processor with AVX2");
  const ffi::DataType from = x.element_type(), to = y->element_type();
  const bool is_double = to == ffi::F64 || to == ffi::C128;
  const ffi::DataType real = is_double ? ffi::F64 : ffi::F32;
  const ffi::DataType complex = is_double ? ffi::C128 : ffi::C64;
  Transform transform{};
  transform.is_inverse = inverse;
  transform.kind = from == real ? FourierKind::kFromReal
                   : to == real ? FourierKind::kToReal
                                : FourierKind::kComplex;
  if ((from != real && from != complex) || (to != real && to != complex) ||
      (from == real && to == real) || (from == real && inverse) || (to == real && !inverse)) {
    return Refusal("expected complex numbers, spectra of real numbers, or real numbers of spectra");
  }
  if (!Describe(x, *y, dimensions, transform)) {
    return Refusal(
        "expected dimensions of a Fourier transform whose sizes are products of 2, 3 and 5");
  }
  if (y->element_count() == 0) return ffi::Error::Success();
  return WithoutExceptions([&] {
    if (is_double) return TransformArray<double>(pool, transform, x, *y);
    TransformArray<float>(pool, transform, x, *y);
  });
}

XLA_FFI_DEFINE_HANDLER(kFourier, Fourier,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<ffi::Span<const int64_t>>("dimensions")
                           .Attr<bool>("inverse"));

const NativeKernel kFourierKernel("hlograph.kernel.fourier", kFourier,
                                  /*needs_numpy=*/false, HasFusedMultiplyAdd);

}  // namespace
}  // namespace hlograph
