// Stable sorts of rows by a key, with positions and other arrays that go along.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/numpy_sorts.h"
#include "hlograph/native/custom_calls/ordered_keys.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// Bits in the canonical order have one key for both zeros, and one for all NaNs.
template <Coding coding, typename Integer>
inline __attribute__((always_inline)) Integer KeyOf(Integer bits, bool descending, bool canonical,
                                                    Integer infinity) {
  Integer key = Flipped<coding>(bits);
  if (coding == Coding::kFloat && canonical) {
    key = IsZeroOfBits(bits, infinity) ? 0 : key;
    key = IsNanOfBits(bits, infinity) ? std::numeric_limits<Integer>::max() : key;
  }
  return descending ? ~key : key;
}

// Writes integers of a key of at most 32 bits and a position: their order is stable.
template <Coding coding, typename Integer>
HLOGRAPH_FOR_EACH_CPU void PackKeys(const Integer* bits, int64_t* packed, int64_t count,
                                    bool descending, bool canonical, Integer infinity) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t key = KeyOf<coding>(bits[i], descending, canonical, infinity);
    packed[i] = key * (int64_t{1} << 32) + i;
  }
}

template <Coding coding, typename Integer>
void OrderRow(const Integer* bits, int64_t* packed, int32_t* positions, int64_t count,
              bool descending, bool canonical, Integer infinity) {
  PackKeys<coding>(bits, packed, count, descending, canonical, infinity);
  SortIntegers(packed, count);
  for (int64_t i = 0; i < count; ++i) positions[i] = static_cast<int32_t>(packed[i]);
}

// Keys of 64 bits leave no room for positions. Those of equal keys are sorted afterwards.
template <Coding coding>
void OrderRow(const int64_t* bits, int64_t* scratch, int32_t* positions, int64_t count,
              bool descending, bool canonical, int64_t infinity) {
  int64_t* const keys = scratch;
  int64_t* const order = scratch + count;
  for (int64_t i = 0; i < count; ++i) {
    keys[i] = KeyOf<coding>(bits[i], descending, canonical, infinity);
    order[i] = i;
  }
  SortPositions(keys, order, count);
  for (int64_t first = 0; first < count;) {
    int64_t last = first + 1;
    while (last < count && keys[order[last]] == keys[order[first]]) ++last;
    if (last - first > 1) SortIntegers(order + first, last - first);
    first = last;
  }
  for (int64_t i = 0; i < count; ++i) positions[i] = static_cast<int32_t>(order[i]);
}

template <typename Element>
void TakeElements(const void* row, const int32_t* positions, void* result, int64_t count) {
  const auto* const elements = static_cast<const Element*>(row);
  auto* const taken = static_cast<Element*>(result);
  for (int64_t i = 0; i < count; ++i) taken[i] = elements[positions[i]];
}

// Writes the elements of a row of some bytes each, by position.
void Take(const char* row, const int32_t* positions, char* result, int64_t count, int64_t width) {
  if (width == 1) TakeElements<int8_t>(row, positions, result, count);
  if (width == 2) TakeElements<int16_t>(row, positions, result, count);
  if (width == 4) TakeElements<int32_t>(row, positions, result, count);
  if (width == 8) TakeElements<int64_t>(row, positions, result, count);
}

// A result: elements of an operand, or positions where `from` is null.
struct Carried {
  const char* from = nullptr;
  char* to = nullptr;
  int64_t width = 0;
};

template <typename Integer>
void OrderRows(ffi::ThreadPool pool, const ffi::AnyBuffer& key, KeyType type, bool descending,
               bool canonical, const std::vector<Carried>& results) {
  const MatrixSizes sizes = MatrixOf(key);
  const auto* const bits = key.reinterpret_data<const Integer>();
  const int64_t count = sizes.columns;
  WithCoding(type.coding, [&](auto coding) {
    ForPoolRanges(pool, sizes.rows, 3 * NanosecondsOfSort(count), [&](int64_t row, int64_t end) {
      const Scratch scratch(count * (2 * sizeof(int64_t) + sizeof(int32_t)));
      auto* const integers = scratch.as<int64_t>();
      auto* const positions = reinterpret_cast<int32_t*>(integers + 2 * count);
      for (; row < end; ++row) {
        OrderRow<coding.value>(bits + row * count, integers, positions, count, descending,
                               canonical, static_cast<Integer>(type.infinity));
        for (const Carried& result : results) {
          char* const to = result.to + row * count * result.width;
          if (result.from == nullptr) {
            std::memcpy(to, positions, count * sizeof(int32_t));
          } else {
            Take(result.from + row * count * result.width, positions, to, count, result.width);
          }
        }
      }
    });
  });
}

// Finds the elements of each result: those of operand sources[i], or positions if it is negative.
ffi::Error FindCarried(const ffi::AnyBuffer& key, const ffi::RemainingArgs& operands,
                       ffi::RemainingRets& results, ffi::Span<const int64_t> sources,
                       std::vector<Carried>& carried) {
  for (size_t i = 0; i < results.size(); ++i) {
    auto result = results.get<ffi::AnyBuffer>(i);
    if (!result.has_value()) return result.error();
    Carried elements{nullptr, static_cast<char*>((*result)->untyped_data()), sizeof(int32_t)};
    ffi::DataType expected = ffi::DataType::S32;
    if (sources[i] >= 0) {
      const auto operand = operands.get<ffi::AnyBuffer>(sources[i]);
      if (!operand.has_value()) return operand.error();
      expected = operand->element_type();
      elements.from = static_cast<const char*>(operand->untyped_data());
      elements.width = ffi::ByteWidth(expected);
      if (elements.width > 8 || !HaveSameSizes(*operand, key)) {
        return Refusal("expected operands of the key's sizes, of at most 8 bytes an element");
      }
    }
    if ((*result)->element_type() != expected || !HaveSameSizes(**result, key)) {
      return Refusal("expected results of the types and sizes of their sources");
    }
    carried.push_back(elements);
  }
  return ffi::Error::Success();
}

// Sorts by the first operand. Result i is operand sources[i] in that order, or the positions.
ffi::Error SortPairs(ffi::ThreadPool pool, ffi::RemainingArgs operands, ffi::RemainingRets results,
                     ffi::Span<const int64_t> sources, bool descending, bool canonical) {
  const auto key = operands.get<ffi::AnyBuffer>(0);
  if (!key.has_value()) return Refusal("expected a key to sort by");
  const std::optional<KeyType> type = KeyTypeOf(key->element_type());
  if (!type.has_value()) return Refusal("expected keys of 16, 32 or 64 bits");
  if (MatrixOf(*key).columns > std::numeric_limits<int32_t>::max()) {
    return Refusal("expected rows of fewer than 2^31 elements");
  }
  if (sources.size() != results.size()) return Refusal("expected a source for each result");
  return WithoutExceptions([&] {
    std::vector<Carried> carried;
    const ffi::Error error = FindCarried(*key, operands, results, sources, carried);
    if (error.failure()) return error;
    if (type->bits == 16) OrderRows<int16_t>(pool, *key, *type, descending, canonical, carried);
    if (type->bits == 32) OrderRows<int32_t>(pool, *key, *type, descending, canonical, carried);
    if (type->bits == 64) OrderRows<int64_t>(pool, *key, *type, descending, canonical, carried);
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kSortPairs, SortPairs,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .RemainingArgs()
                           .RemainingRets()
                           .Attr<ffi::Span<const int64_t>>("sources")
                           .Attr<bool>("descending")
                           .Attr<bool>("canonical"));

const NativeKernel kSortPairsKernel("hlograph.kernel.sort_pairs", kSortPairs,
                                    /*needs_numpy=*/true);

}  // namespace
}  // namespace hlograph
