// Places of values among edges, by a binary search of many values at a time.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/ordered_keys.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

constexpr int64_t kBlock = 64;
constexpr int64_t kMostSteps = 63;

// Writes integers that are ordered as numbers are. All zeros are equal, and NaNs become `nan`.
template <Coding coding, typename Integer, typename Key>
HLOGRAPH_FOR_EACH_CPU void MakeKeys(const Integer* bits, int64_t count, Integer infinity, Key nan,
                                    Key* keys) {
  for (int64_t i = 0; i < count; ++i) {
    Key key = Flipped<coding>(bits[i]);
    if constexpr (coding == Coding::kFloat) {
      if (IsZeroOfBits(bits[i], infinity)) key = 0;
      if (IsNanOfBits(bits[i], infinity)) key = nan;
    }
    keys[i] = key;
  }
}

// Keys of the edges of each row, and how the search goes.
template <typename Key>
struct Search {
  const Key* edges;
  int64_t rows, edges_of_row, values_of_row;
  int64_t steps;
};

// Writes where the edges of the row of each value of a block begin; `first` is the first value.
template <typename Key>
void FindRows(const Search<Key>& search, int64_t first, Key* begins) {
  int64_t row = first / search.values_of_row;
  int64_t left_of_row = (row + 1) * search.values_of_row - first;
  if (left_of_row >= kBlock || row == search.rows - 1) {
    std::fill_n(begins, kBlock, static_cast<Key>(row * search.edges_of_row));
    return;
  }
  for (int64_t i = 0; i < kBlock; ++i) {
    begins[i] = static_cast<Key>(row * search.edges_of_row);
    if (--left_of_row == 0 && row < search.rows - 1) {
      ++row;
      left_of_row = search.values_of_row;
    }
  }
}

// Writes the place of each value of a block. Each step takes the middle that XLA's loop takes, so
// that places are the same where edges are in no order.
template <bool includes_equal, typename Key>
HLOGRAPH_FOR_EACH_CPU void SearchBlock(const Key* edges, int64_t edges_of_row, int64_t steps,
                                       const Key* begins, const Key* values, int32_t* places) {
  Key low[kBlock], high[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) {
    low[i] = begins[i];
    high[i] = begins[i] + static_cast<Key>(edges_of_row);
  }
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t i = 0; i < kBlock; ++i) {
      const Key middle = low[i] + ((high[i] - low[i]) >> 1);
      const Key edge = edges[middle];
      const bool goes_left = includes_equal ? values[i] < edge : values[i] <= edge;
      high[i] = goes_left ? middle : high[i];
      low[i] = goes_left ? low[i] : middle;
    }
  }
  for (int64_t i = 0; i < kBlock; ++i) places[i] = static_cast<int32_t>(high[i] - begins[i]);
}

// How elements become keys.
template <Coding coding, typename Integer, typename Key>
struct KeyMaker {
  Integer infinity;
  Key nan_of_edges;  // so that comparisons with NaNs are what they are in HLO

  void OfEdges(const Integer* bits, int64_t count, Key* keys) const {
    MakeKeys<coding>(bits, count, infinity, nan_of_edges, keys);
  }
  void OfValues(const Integer* bits, int64_t count, Key* keys) const {
    MakeKeys<coding>(bits, count, infinity, std::numeric_limits<Key>::max(), keys);
  }
};

template <bool includes_equal, typename Maker, typename Integer, typename Key>
void SearchValues(ffi::ThreadPool pool, const Search<Key>& search, const Maker& make,
                  const Integer* values, int32_t* places) {
  const int64_t count = search.rows * search.values_of_row;
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  constexpr double kOfAStep = sizeof(Key) == 4 ? 0.6 : 1.2;  // nanoseconds
  ForPoolRanges(pool, blocks, kBlock * (2 + kOfAStep * search.steps), [&](int64_t b, int64_t end) {
    for (; b < end; ++b) {
      Key keys[kBlock] = {}, begins[kBlock];
      int32_t found[kBlock];
      const int64_t first = b * kBlock, size = std::min(kBlock, count - first);
      make.OfValues(values + first, size, keys);
      FindRows(search, first, begins);
      SearchBlock<includes_equal>(search.edges, search.edges_of_row, search.steps, begins, keys,
                                  found);
      std::copy_n(found, size, places + first);
    }
  });
}

// The attributes of a call.
struct Options {
  int64_t steps;
  bool includes_equal, orders_nans;
};

template <typename Integer>
void SearchRows(ffi::ThreadPool pool, const ffi::AnyBuffer& edges, const ffi::AnyBuffer& values,
                int32_t* places, KeyType type, Options options) {
  using Key = std::conditional_t<sizeof(Integer) == 8, int64_t, int32_t>;
  const MatrixSizes sizes = MatrixOf(edges);
  const int64_t count = sizes.rows * sizes.columns;
  const Scratch scratch(count * sizeof(Key));
  Key* const keys = scratch.as<Key>();
  const auto* const bits = edges.reinterpret_data<const Integer>();
  const auto* const searched = values.reinterpret_data<const Integer>();
  const Search<Key> search{keys, sizes.rows, sizes.columns,
                           static_cast<int64_t>(values.element_count()) / sizes.rows,
                           options.steps};
  WithCoding(type.coding, [&](auto coding) {
    using Limits = std::numeric_limits<Key>;
    const KeyMaker<coding.value, Integer, Key> make{
        static_cast<Integer>(type.infinity), options.orders_nans ? Limits::max() : Limits::min()};
    ForPoolRanges(pool, count, 0.3, [&](int64_t first, int64_t end) {
      make.OfEdges(bits + first, end - first, keys + first);
    });
    if (options.includes_equal) SearchValues<true>(pool, search, make, searched, places);
    if (!options.includes_equal) SearchValues<false>(pool, search, make, searched, places);
  });
}

// Returns true if the leading dimensions of edges are those of values, too.
bool AreOfSameRows(const ffi::AnyBuffer& edges, const ffi::AnyBuffer& values) {
  const auto sizes = edges.dimensions(), others = values.dimensions();
  return sizes.size() >= 1 && others.size() + 1 >= sizes.size() &&
         std::equal(sizes.begin(), sizes.end() - 1, others.begin());
}

ffi::Error BinarySearch(ffi::ThreadPool pool, ffi::AnyBuffer edges, ffi::AnyBuffer values,
                        ffi::Result<ffi::Buffer<ffi::S32>> places, int64_t steps,
                        bool includes_equal, bool orders_nans) {
  const std::optional<KeyType> type = KeyTypeOf(values.element_type());
  if (!type.has_value() || edges.element_type() != values.element_type()) {
    return Refusal("expected edges and values of one type, numbers of 16, 32 or 64 bits");
  }
  constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();
  const auto edge_count = static_cast<int64_t>(edges.element_count());
  if (!AreOfSameRows(edges, values) || edge_count == 0 || edge_count > kMostElements || steps < 0 ||
      steps > kMostSteps || places->element_count() != values.element_count()) {
    return Refusal(
        "expected edges, values of the same leading sizes, a place for each value, and at most 63 "
        "steps");
  }
  if (values.element_count() == 0) return ffi::Error::Success();
  const Options options{steps, includes_equal, orders_nans};
  int32_t* const found = places->typed_data();
  return WithoutExceptions([&] {
    if (type->bits == 16) SearchRows<int16_t>(pool, edges, values, found, *type, options);
    if (type->bits == 32) SearchRows<int32_t>(pool, edges, values, found, *type, options);
    if (type->bits == 64) SearchRows<int64_t>(pool, edges, values, found, *type, options);
  });
}

XLA_FFI_DEFINE_HANDLER(kBinarySearch, BinarySearch,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<int64_t>("steps")
                           .Attr<bool>("includes_equal")
                           .Attr<bool>("orders_nans"));

const NativeKernel kBinarySearchKernel("hlograph.kernel.binary_search", kBinarySearch);

}  // namespace
}  // namespace hlograph
