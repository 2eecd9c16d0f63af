// Random bits of JAX's generator: ThreeFry-2x32 of 20 rounds (Salmon et al. 2011), of counts.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

constexpr int64_t kBlock = 256;  // a power of two, so that counts of a block have one upper half
constexpr int kGroups = 5;       // of four rounds
constexpr int kRounds = 4;
constexpr int kRotations[2][kRounds] = {{13, 15, 26, 6}, {17, 29, 16, 24}};

// What is added to both halves of a count, then after each group of rounds in turn.
struct Keys {
  uint32_t of_upper, of_lower, of_groups[3];
};

// Returns the exclusive or of both halves of what a count becomes, to which keys are added already.
[[gnu::always_inline]] inline uint32_t Bits(uint32_t left, uint32_t right, uint32_t first,
                                            uint32_t second, uint32_t third) {
  const uint32_t keys[] = {first, second, third};
#pragma GCC unroll 5
  for (int group = 0; group < kGroups; ++group) {
#pragma GCC unroll 4
    for (int round = 0; round < kRounds; ++round) {
      const int by = kRotations[group % 2][round];
      left += right;
      right = left ^ (right << by | right >> (32 - by));
    }
    left += keys[group % 3];
    right += keys[(group + 1) % 3] + static_cast<uint32_t>(group + 1);
  }
  return left ^ right;
}

// Writes the bits of counts with one key. The first count is a multiple of the block's size.
HLOGRAPH_FOR_EACH_CPU void WriteBlock(const Keys& given, uint64_t first, uint32_t* bits) {
  const Keys keys = given;
  const uint32_t upper = static_cast<uint32_t>(first >> 32) + keys.of_upper;
  const uint32_t lower = static_cast<uint32_t>(first) + keys.of_lower;
  for (uint32_t i = 0; i < kBlock; ++i) {
    bits[i] = Bits(upper, lower + i, keys.of_groups[0], keys.of_groups[1], keys.of_groups[2]);
  }
}

// Keys of rows, each of which has the counts from zero on.
struct RowKeys {
  const uint32_t *of_upper, *of_lower, *of_groups[3];

  Keys of_row(int64_t row) const {
    return {
        of_upper[row], of_lower[row], {of_groups[0][row], of_groups[1][row], of_groups[2][row]}};
  }
};

// Writes the bits of counts of several rows, less than 2^32.
HLOGRAPH_FOR_EACH_CPU void WriteCounts(const RowKeys& keys, const int32_t* rows,
                                       const uint32_t* counts, uint32_t* __restrict bits) {
  const uint32_t *const upper = keys.of_upper, *const lower = keys.of_lower;
  const uint32_t *const first = keys.of_groups[0], *const second = keys.of_groups[1],
                        *const third = keys.of_groups[2];
  for (int64_t i = 0; i < kBlock; ++i) {
    const int32_t row = rows[i];
    bits[i] = Bits(upper[row], lower[row] + counts[i], first[row], second[row], third[row]);
  }
}

// Writes up to a block of the bits of short rows, from element `from` of all rows on.
void WriteShortRows(const RowKeys& keys, int64_t width, int64_t from, int64_t size,
                    uint32_t* bits) {
  int32_t rows[kBlock] = {};
  uint32_t counts[kBlock] = {}, part[kBlock];
  auto row = static_cast<int32_t>(from / width);
  int64_t count = from % width;
  for (int64_t i = 0; i < size; ++i) {
    rows[i] = row;
    counts[i] = static_cast<uint32_t>(count);
    if (++count == width) {
      ++row;
      count = 0;
    }
  }
  WriteCounts(keys, rows, counts, part);
  std::copy_n(part, size, bits + from);
}

void WritePart(const Keys& keys, int64_t from, int64_t size, uint32_t* bits) {
  uint32_t part[kBlock];
  WriteBlock(keys, static_cast<uint64_t>(from), size == kBlock ? bits : part);
  if (size < kBlock) std::copy_n(part, size, bits);
}

// Calls write(row, first, size) for the blocks of each row.
template <typename Write>
void ForBlocks(ffi::ThreadPool pool, int64_t rows, int64_t width, const Write& write) {
  constexpr double kNanoseconds = 0.5;
  const int64_t of_row = (width + kBlock - 1) / kBlock;
  ForPoolRanges(pool, rows * of_row, kBlock * kNanoseconds, [&](int64_t block, int64_t end) {
    for (; block < end; ++block) {
      const int64_t from = block % of_row * kBlock;
      write(block / of_row, from, std::min(kBlock, width - from));
    }
  });
}

ffi::Error Threefry(ffi::ThreadPool pool, ffi::Buffer<ffi::U32> of_upper,
                    ffi::Buffer<ffi::U32> of_lower, ffi::Buffer<ffi::U32> first,
                    ffi::Buffer<ffi::U32> second, ffi::Buffer<ffi::U32> third,
                    ffi::Result<ffi::Buffer<ffi::U32>> result) {
  const auto count = static_cast<int64_t>(result->element_count());
  const auto rows = static_cast<int64_t>(of_upper.element_count());
  if (count == 0) return ffi::Error::Success();
  const auto other_keys = {&of_lower, &first, &second, &third};
  const bool have_same_size =
      std::all_of(other_keys.begin(), other_keys.end(), [&](const ffi::Buffer<ffi::U32>* keys) {
        return static_cast<int64_t>(keys->element_count()) == rows;
      });
  constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();
  if (!have_same_size || rows == 0 || rows > kMostRows || count % rows != 0) {
    return Refusal("expected five keys for each row of bits");
  }
  const RowKeys keys{of_upper.typed_data(),
                     of_lower.typed_data(),
                     {first.typed_data(), second.typed_data(), third.typed_data()}};
  uint32_t* const bits = result->typed_data();
  const int64_t width = count / rows;
  return WithoutExceptions([&] {
    if (rows > 1 && width < kBlock) {
      ForBlocks(pool, 1, count, [&](int64_t, int64_t from, int64_t size) {
        WriteShortRows(keys, width, from, size, bits);
      });
      return;
    }
    ForBlocks(pool, rows, width, [&](int64_t row, int64_t from, int64_t size) {
      WritePart(keys.of_row(row), from, size, bits + row * width + from);
    });
  });
}

XLA_FFI_DEFINE_HANDLER(kThreefry, Threefry,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::Buffer<ffi::U32>>()
                           .Arg<ffi::Buffer<ffi::U32>>()
                           .Arg<ffi::Buffer<ffi::U32>>()
                           .Arg<ffi::Buffer<ffi::U32>>()
                           .Arg<ffi::Buffer<ffi::U32>>()
                           .Ret<ffi::Buffer<ffi::U32>>());

const NativeKernel kThreefryKernel("hlograph.kernel.threefry", kThreefry);

}  // namespace
}  // namespace hlograph
