// Random bits of JAX's generator: ThreeFry-2x32 of 20 rounds (Salmon et al. 2011), of counts.
#include <algorithm>
#include <cstdint>

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

// Writes the exclusive or of both halves of what each count becomes. The first count is a multiple
// of the block's size.
HLOGRAPH_FOR_EACH_CPU void WriteBlock(const Keys& given, uint64_t first, uint32_t* bits) {
  const Keys keys = given;
  const uint32_t start = static_cast<uint32_t>(first >> 32) + keys.of_upper;
  const uint32_t lower = static_cast<uint32_t>(first) + keys.of_lower;
  for (uint32_t i = 0; i < kBlock; ++i) {
    uint32_t left = start, right = lower + i;
#pragma GCC unroll 5
    for (int group = 0; group < kGroups; ++group) {
#pragma GCC unroll 4
      for (int round = 0; round < kRounds; ++round) {
        const int by = kRotations[group % 2][round];
        left += right;
        right = left ^ (right << by | right >> (32 - by));
      }
      left += keys.of_groups[group % 3];
      right += keys.of_groups[(group + 1) % 3] + static_cast<uint32_t>(group + 1);
    }
    bits[i] = left ^ right;
  }
}

ffi::Error Threefry(ffi::ThreadPool pool, ffi::BufferR0<ffi::U32> of_upper,
                    ffi::BufferR0<ffi::U32> of_lower, ffi::BufferR0<ffi::U32> first,
                    ffi::BufferR0<ffi::U32> second, ffi::BufferR0<ffi::U32> third,
                    ffi::Result<ffi::Buffer<ffi::U32>> result) {
  const Keys keys{*of_upper.typed_data(),
                  *of_lower.typed_data(),
                  {*first.typed_data(), *second.typed_data(), *third.typed_data()}};
  const auto count = static_cast<int64_t>(result->element_count());
  uint32_t* const bits = result->typed_data();
  constexpr double kNanoseconds = 0.5;
  return WithoutExceptions([&] {
    ForPoolRanges(pool, (count + kBlock - 1) / kBlock, kBlock * kNanoseconds,
                  [&](int64_t block, int64_t end) {
                    for (; block < end; ++block) {
                      const int64_t from = block * kBlock, size = std::min(kBlock, count - from);
                      uint32_t part[kBlock];
                      uint32_t* const to = size == kBlock ? bits + from : part;
                      WriteBlock(keys, static_cast<uint64_t>(from), to);
                      if (size < kBlock) std::copy_n(part, size, bits + from);
                    }
                  });
  });
}

XLA_FFI_DEFINE_HANDLER(kThreefry, Threefry,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::BufferR0<ffi::U32>>()
                           .Arg<ffi::BufferR0<ffi::U32>>()
                           .Arg<ffi::BufferR0<ffi::U32>>()
                           .Arg<ffi::BufferR0<ffi::U32>>()
                           .Arg<ffi::BufferR0<ffi::U32>>()
                           .Ret<ffi::Buffer<ffi::U32>>());

const NativeKernel kThreefryKernel("hlograph.kernel.threefry", kThreefry);

}  // namespace
}  // namespace hlograph
