// Sorts of rows of values, by NumPy's sorts of integers.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/numpy_sorts.h"
#include "hlograph/native/custom_calls/ordered_keys.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// The values of a row that are equal to values of other bits, in the canonical order.
struct UnlikeValues {
  int64_t nans = 0;        // their number
  bool has_zeros = false;  // other than 0
};

template <Coding coding, typename Integer>
HLOGRAPH_FOR_EACH_CPU void FlipBits(const Integer* bits, Integer* keys, int64_t count) {
  for (int64_t i = 0; i < count; ++i) keys[i] = Flipped<coding>(bits[i]);
}

// Writes the keys of floats in the canonical order: all NaNs have the greatest.
template <typename Integer>
HLOGRAPH_FOR_EACH_CPU UnlikeValues FlipCanonically(const Integer* bits, Integer* keys,
                                                   int64_t count, Integer infinity) {
  Integer has_nans = 0, has_zeros = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Integer is_nan = IsNanOfBits(bits[i], infinity);
    has_nans |= is_nan;
    const bool is_zero = IsZeroOfBits(bits[i], infinity);
    has_zeros |= static_cast<Integer>(is_zero && bits[i] != 0);
    const Integer key = is_zero ? Integer{0} : Flipped<Coding::kFloat>(bits[i]);
    keys[i] = is_nan ? std::numeric_limits<Integer>::max() : key;
  }
  UnlikeValues unlike;
  if (has_nans) {
    for (int64_t i = 0; i < count; ++i) unlike.nans += IsNanOfBits(bits[i], infinity);
  }
  unlike.has_zeros = has_zeros != 0;
  return unlike;
}

// Writes the bits for which `is_chosen` is true, in their order.
template <typename Integer, typename Chosen>
void CopyChosen(const Integer* bits, int64_t count, const Chosen& is_chosen, Integer* result) {
  for (int64_t i = 0; i < count; ++i) {
    if (is_chosen(bits[i])) *result++ = bits[i];
  }
}

// Puts values that are equal, of other bits, into the order in which they were: the sort is stable.
template <typename Integer>
void RestoreOrder(const Integer* bits, Integer* sorted, int64_t count, UnlikeValues unlike,
                  Integer infinity, bool descending) {
  if (unlike.nans > 0) {
    CopyChosen(
        bits, count, [=](Integer value) { return IsNanOfBits(value, infinity); },
        descending ? sorted : sorted + count - unlike.nans);
  }
  if (unlike.has_zeros) {
    const auto is_zero = [=](Integer value) { return IsZeroOfBits(value, infinity); };
    Integer* zeros = sorted;
    while (!is_zero(*zeros)) ++zeros;
    CopyChosen(bits, count, is_zero, zeros);
  }
}

template <Coding coding, typename Integer>
void SortRow(const Integer* bits, Integer* sorted, int64_t count, bool descending, bool canonical,
             Integer infinity) {
  UnlikeValues unlike;
  if (coding == Coding::kFloat && canonical) {
    unlike = FlipCanonically(bits, sorted, count, infinity);
  } else {
    FlipBits<coding>(bits, sorted, count);
  }
  SortIntegers(sorted, count);
  FlipBits<coding>(sorted, sorted, count);
  if (descending) std::reverse(sorted, sorted + count);
  RestoreOrder(bits, sorted, count, unlike, infinity, descending);
}

template <typename Integer>
void SortRows(ffi::ThreadPool pool, const ffi::AnyBuffer& values, ffi::AnyBuffer& sorted,
              KeyType type, bool descending, bool canonical) {
  const MatrixSizes sizes = MatrixOf(values);
  const auto* const bits = values.reinterpret_data<const Integer>();
  auto* const result = sorted.reinterpret_data<Integer>();
  WithCoding(type.coding, [&](auto coding) {
    ForPoolRanges(pool, sizes.rows, NanosecondsOfSort(sizes.columns),
                  [&](int64_t row, int64_t end) {
                    for (; row < end; ++row) {
                      const int64_t first = row * sizes.columns;
                      SortRow<coding.value>(bits + first, result + first, sizes.columns, descending,
                                            canonical, static_cast<Integer>(type.infinity));
                    }
                  });
  });
}

ffi::Error Sort(ffi::ThreadPool pool, ffi::AnyBuffer values, ffi::Result<ffi::AnyBuffer> sorted,
                bool descending, bool canonical) {
  const std::optional<KeyType> type = KeyTypeOf(values.element_type());
  if (!type.has_value()) return Refusal("expected numbers of 16, 32 or 64 bits to sort");
  if (sorted->element_type() != values.element_type() || !HaveSameSizes(values, *sorted)) {
    return Refusal("expected a result of the type and sizes of the values to sort");
  }
  return WithoutExceptions([&] {
    if (type->bits == 16) SortRows<int16_t>(pool, values, *sorted, *type, descending, canonical);
    if (type->bits == 32) SortRows<int32_t>(pool, values, *sorted, *type, descending, canonical);
    if (type->bits == 64) SortRows<int64_t>(pool, values, *sorted, *type, descending, canonical);
  });
}

XLA_FFI_DEFINE_HANDLER(kSort, Sort,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<bool>("descending")
                           .Attr<bool>("canonical"));

const NativeKernel kSortKernel("hlograph.kernel.sort", kSort, /*needs_numpy=*/true);

}  // namespace
}  // namespace hlograph
