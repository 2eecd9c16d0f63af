// Cumulative sums, products and extremes along a dimension, from either end.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// Operations with their neutral elements, under the names that they have in HLO.
struct Add {
  static constexpr std::string_view kName = "add";
  template <typename T>
  static constexpr T kNeutral = 0;
  template <typename T>
  static T Of(T before, T next) {
    return before + next;
  }
};

struct Multiply {
  static constexpr std::string_view kName = "multiply";
  template <typename T>
  static constexpr T kNeutral = 1;
  template <typename T>
  static T Of(T before, T next) {
    return before * next;
  }
};

// Extremes of numbers among which one is NaN are NaN.
struct Maximum {
  static constexpr std::string_view kName = "maximum";
  template <typename T>
  static constexpr T kNeutral =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::lowest();
  template <typename T>
  static T Of(T before, T next) {
    return before > next || before != before ? before : next;
  }
};

struct Minimum {
  static constexpr std::string_view kName = "minimum";
  template <typename T>
  static constexpr T kNeutral =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::max();
  template <typename T>
  static T Of(T before, T next) {
    return before < next || before != before ? before : next;
  }
};

// An array as [outer, count, inner], of which `count` is cumulated, from the end if `reversed`.
struct CumulatedAxis {
  int64_t outer = 1, count = 1, inner = 1;
  bool reversed = false;
};

// Cumulates elements that lie `step`, 1 or -1, apart. A chain of operations waits for each: as many
// chains as a processor has under way go over neighbouring parts of a row, a short block at a time.
template <typename T, typename Operation, int step>
HLOGRAPH_FOR_EACH_CPU void CumulateRow(const T* x, T* y, int64_t count) {
  constexpr int64_t kChains = 8, kMostSteps = 32;
  T before = Operation::template kNeutral<T>;
  int64_t i = 0;
  for (int64_t steps; (steps = std::min(kMostSteps, (count - i) / kChains)) > 1;) {
    const T* const from = x + i * step;
    T* const to = y + i * step;
    T ends[kChains];
    for (int64_t chain = 0; chain < kChains; ++chain) {
      to[chain * steps * step] = ends[chain] = from[chain * steps * step];
    }
    for (int64_t k = 1; k < steps; ++k) {
      for (int64_t chain = 0; chain < kChains; ++chain) {
        const int64_t at = (chain * steps + k) * step;
        to[at] = ends[chain] = Operation::Of(ends[chain], from[at]);
      }
    }
    for (int64_t chain = 0; chain < kChains; ++chain) {
      T* const part = to + chain * steps * step;
      for (int64_t k = 0; k < steps; ++k) part[k * step] = Operation::Of(before, part[k * step]);
      before = Operation::Of(before, ends[chain]);
    }
    i += kChains * steps;
  }
  for (; i < count; ++i) y[i * step] = before = Operation::Of(before, x[i * step]);
}

// Cumulates columns side by side: rows of `width` elements lie `stride` apart.
template <typename T, typename Operation>
HLOGRAPH_FOR_EACH_CPU void CumulateColumns(const T* x, T* y, int64_t count, int64_t stride,
                                           int64_t width) {
  std::copy_n(x, width, y);
  for (int64_t i = 1; i < count; ++i) {
    const T* const before = y + (i - 1) * stride;
    const T* const next = x + i * stride;
    T* const result = y + i * stride;
    for (int64_t k = 0; k < width; ++k) result[k] = Operation::Of(before[k], next[k]);
  }
}

template <typename T, typename Operation>
void Cumulate(ffi::ThreadPool pool, const T* x, T* y, const CumulatedAxis& axis) {
  constexpr double kOfAnElement = 0.3;  // nanoseconds
  constexpr int64_t kWidth = 256;       // rows of so many elements stay in the first cache
  const int64_t last = axis.reversed ? (axis.count - 1) * axis.inner : 0;
  if (axis.inner == 1) {
    const auto cumulate =
        axis.reversed ? CumulateRow<T, Operation, -1> : CumulateRow<T, Operation, 1>;
    ForPoolRanges(pool, axis.outer, kOfAnElement * axis.count, [&](int64_t row, int64_t end) {
      for (; row < end; ++row) {
        cumulate(x + row * axis.count + last, y + row * axis.count + last, axis.count);
      }
    });
    return;
  }
  const int64_t blocks = (axis.inner + kWidth - 1) / kWidth;
  const double nanoseconds = kOfAnElement * axis.count * std::min(kWidth, axis.inner);
  ForPoolRanges(pool, axis.outer * blocks, nanoseconds, [&](int64_t number, int64_t end) {
    for (; number < end; ++number) {
      const int64_t column = number % blocks * kWidth;
      const int64_t first = number / blocks * axis.count * axis.inner + column + last;
      CumulateColumns<T, Operation>(x + first, y + first, axis.count,
                                    axis.reversed ? -axis.inner : axis.inner,
                                    std::min(kWidth, axis.inner - column));
    }
  });
}

// Returns true if the operation is one of those that there are.
template <typename T, typename... Operations>
bool CumulateBy(std::string_view operation, ffi::ThreadPool pool, const void* x, void* y,
                const CumulatedAxis& axis) {
  return (
      (operation == Operations::kName &&
       (Cumulate<T, Operations>(pool, static_cast<const T*>(x), static_cast<T*>(y), axis), true)) ||
      ...);
}

template <typename T>
ffi::Error CumulateArray(ffi::ThreadPool pool, const ffi::AnyBuffer& x, ffi::AnyBuffer& y,
                         const CumulatedAxis& axis, std::string_view operation) {
  const bool done = CumulateBy<T, Add, Multiply, Maximum, Minimum>(
      operation, pool, x.untyped_data(), y.untyped_data(), axis);
  return done ? ffi::Error::Success() : Refusal("expected a sum, a product or an extreme");
}

ffi::Error Cumulative(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y,
                      std::string_view operation, int64_t dimension, bool reversed) {
  using ffi::DataType;
  const auto sizes = x.dimensions();
  if (x.element_type() != y->element_type() || !HaveSameSizes(x, *y) || dimension < 0 ||
      dimension >= static_cast<int64_t>(sizes.size())) {
    return Refusal("expected an array, a result like it, and one of its dimensions");
  }
  if (x.element_count() == 0) return ffi::Error::Success();
  CumulatedAxis axis{.count = sizes[dimension], .reversed = reversed};
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
    if (i != dimension) (i < dimension ? axis.outer : axis.inner) *= sizes[i];
  }
  DataType type = x.element_type();
  const bool wraps_around = operation == Add::kName || operation == Multiply::kName;
  if (type == DataType::S32 && wraps_around) type = DataType::U32;
  return WithoutExceptions([&]() -> ffi::Error {
    switch (type) {
      case DataType::F32:
        return CumulateArray<float>(pool, x, *y, axis, operation);
      case DataType::F64:
        return CumulateArray<double>(pool, x, *y, axis, operation);
      case DataType::S32:
        return CumulateArray<int32_t>(pool, x, *y, axis, operation);
      case DataType::U32:
        return CumulateArray<uint32_t>(pool, x, *y, axis, operation);
      default:
        return Refusal("expected floats of 32 or 64 bits, or integers of 32");
    }
  });
}

XLA_FFI_DEFINE_HANDLER(kCumulative, Cumulative,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::string_view>("operation")
                           .Attr<int64_t>("dimension")
                           .Attr<bool>("reversed"));

const NativeKernel kCumulativeKernel("hlograph.kernel.cumulative", kCumulative);

}  // namespace
}  // namespace hlograph
