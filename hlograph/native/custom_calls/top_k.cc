// The greatest elements of rows, with their positions.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/numpy_sorts.h"
#include "hlograph/native/custom_calls/ordered_keys.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

constexpr int64_t kBlock = 32;
constexpr int64_t kLeastRoom = 96;  // candidates between two sorts

// The best elements so far, as integers of key and position: the less, the better. Of equal keys,
// the one that comes first is better.
class Candidates {
 public:
  Candidates(int64_t* packed, int64_t wanted)
      : packed_(packed), wanted_(wanted), room_(RoomFor(wanted)) {}

  static int64_t RoomFor(int64_t wanted) { return 2 * wanted + kLeastRoom + kBlock; }

  // Key below which an element is a candidate; elements are added in the order of their positions.
  int32_t bound() const { return bound_; }
  // Returns false while every element is a candidate.
  bool is_bounded() const { return is_bounded_; }

  void Add(int32_t key, int64_t position) {
    packed_[count_++] = key * (int64_t{1} << 32) + position;
  }

  // Makes room for a block.
  void Prune() {
    if (count_ + kBlock > room_) KeepBest();
  }

  // Sorts the candidates, and keeps as many as are wanted.
  void KeepBest() {
    SortIntegers(packed_, count_);
    if (count_ < wanted_) return;
    count_ = wanted_;
    bound_ = static_cast<int32_t>(packed_[wanted_ - 1] >> 32);
    is_bounded_ = true;
  }

 private:
  int64_t* const packed_;
  const int64_t wanted_, room_;
  int64_t count_ = 0;
  int32_t bound_ = std::numeric_limits<int32_t>::max();
  bool is_bounded_ = false;
};

// Writes the keys of a block, and returns true if one of them is less than the bound. The greatest
// element has the least key.
template <Coding coding, typename Integer>
HLOGRAPH_FOR_EACH_CPU bool BlockHasLess(const Integer* bits, int32_t* keys, int32_t bound) {
  int32_t any = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    keys[i] = ~static_cast<int32_t>(Flipped<coding>(bits[i]));
    any |= -static_cast<int32_t>(keys[i] < bound);
  }
  return any != 0;
}

template <Coding coding, typename Integer>
void SelectRow(const Integer* bits, int64_t count, int64_t* packed, int64_t wanted, Integer* values,
               int32_t* positions) {
  Candidates candidates(packed, wanted);
  int64_t i = 0;
  int32_t keys[kBlock];
  for (; i + kBlock <= count; i += kBlock) {
    const bool has_less = BlockHasLess<coding>(bits + i, keys, candidates.bound());
    if (!has_less && candidates.is_bounded()) continue;
    for (int64_t k = 0; k < kBlock; ++k) {
      if (keys[k] < candidates.bound() || !candidates.is_bounded()) candidates.Add(keys[k], i + k);
    }
    candidates.Prune();
  }
  for (; i < count; ++i) {
    const int32_t key = ~static_cast<int32_t>(Flipped<coding>(bits[i]));
    if (key < candidates.bound() || !candidates.is_bounded()) candidates.Add(key, i);
  }
  candidates.KeepBest();
  for (int64_t k = 0; k < wanted; ++k) {
    positions[k] = static_cast<int32_t>(packed[k]);
    values[k] = bits[positions[k]];
  }
}

template <typename Integer>
void SelectRows(ffi::ThreadPool pool, const ffi::AnyBuffer& elements, Coding coding,
                ffi::AnyBuffer& values, int32_t* positions) {
  const MatrixSizes sizes = MatrixOf(elements);
  const int64_t wanted = MatrixOf(values).columns;
  const auto* const bits = elements.reinterpret_data<const Integer>();
  auto* const best = values.reinterpret_data<Integer>();
  const double nanoseconds = 0.3 * sizes.columns + 10 * NanosecondsOfSort(wanted);
  WithCoding(coding, [&](auto constant) {
    ForPoolRanges(pool, sizes.rows, nanoseconds, [&](int64_t row, int64_t end) {
      const Scratch scratch(Candidates::RoomFor(wanted) * sizeof(int64_t));
      for (; row < end; ++row) {
        SelectRow<constant.value>(bits + row * sizes.columns, sizes.columns, scratch.as<int64_t>(),
                                  wanted, best + row * wanted, positions + row * wanted);
      }
    });
  });
}

ffi::Error TopK(ffi::ThreadPool pool, ffi::AnyBuffer elements, ffi::Result<ffi::AnyBuffer> values,
                ffi::Result<ffi::Buffer<ffi::S32>> positions) {
  const std::optional<KeyType> type = KeyTypeOf(elements.element_type());
  if (!type.has_value() || type->bits > 32) {
    return Refusal("expected numbers of 16 or 32 bits to select from");
  }
  const MatrixSizes sizes = MatrixOf(elements), best = MatrixOf(*values);
  if (values->element_type() != elements.element_type() || best.rows != sizes.rows ||
      best.columns > sizes.columns || sizes.columns > std::numeric_limits<int32_t>::max() ||
      positions->element_count() != values->element_count()) {
    return Refusal("expected values and positions of at most as many columns as the elements");
  }
  if (best.columns == 0) return ffi::Error::Success();
  int32_t* const places = positions->typed_data();
  return WithoutExceptions([&] {
    if (type->bits == 16) SelectRows<int16_t>(pool, elements, type->coding, *values, places);
    if (type->bits == 32) SelectRows<int32_t>(pool, elements, type->coding, *values, places);
  });
}

XLA_FFI_DEFINE_HANDLER(kTopK, TopK,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>());

const NativeKernel kTopKKernel("hlograph.kernel.top_k", kTopK, /*needs_numpy=*/true);

}  // namespace
}  // namespace hlograph
