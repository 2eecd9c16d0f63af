// Hashes of sequences and of sets.
#ifndef HLOGRAPH_NATIVE_MODULE_HASHER_H_
#define HLOGRAPH_NATIVE_MODULE_HASHER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tsl/platform/fingerprint.h"

namespace hlograph {

// 128 bits.
struct Hash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash& other) const { return low == other.low && high == other.high; }
  bool operator!=(const Hash& other) const { return !(*this == other); }
  std::string ToHex() const;
};

// One multiply-fold step (as in wyhash): the product's halves, xored.
inline uint64_t Fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// A step of a hash of 64 bits, which is stored nowhere.
inline uint64_t Mix(uint64_t hash, uint64_t value) {
  return Fold(hash ^ 0x9e3779b97f4a7c15, value ^ 0xd6e8feb86659fd93);
}

// An order-dependent 128-bit accumulator: two lanes with different secrets.
// Its constants and the order of calls define the fingerprint: a change of
// either changes every fingerprint stored in a manifest.
class Hasher {
 public:
  void Add(uint64_t value) {
    low_ = Fold(low_ ^ value ^ 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93);
    high_ = Fold(high_ + value + 0xc2b2ae3d27d4eb4f, 0xa0761d6478bd642f) ^ value;
  }
  void Add(const Hash& hash) {
    Add(hash.low);
    Add(hash.high);
  }
  void Add(absl::Span<const int64_t> values) {
    Add(values.size());
    for (int64_t value : values) Add(static_cast<uint64_t>(value));
  }
  void Add(absl::string_view bytes) {
    const tsl::Fprint128 print = tsl::Fingerprint128(bytes);
    Add(bytes.size());
    Add(print.low64);
    Add(print.high64);
  }
  // What was added so far; Finish mixes it once more.
  Hash State() const { return {low_, high_}; }
  Hash Finish() const {
    return {Fold(low_ ^ 0xe7037ed1a0b428db, high_ | 1), Fold(high_ ^ 0x8ebc6af09c88c6e3, low_ | 1)};
  }

 private:
  uint64_t low_ = 0x243f6a8885a308d3;
  uint64_t high_ = 0x13198a2e03707344;
};

// An order-independent sum of hashes.
class HashSum {
 public:
  void Add(const Hash& hash) {
    low_ += hash.low;
    high_ += hash.high;
    ++count_;
  }
  void AddTo(Hasher& hasher) const {
    hasher.Add(count_);
    hasher.Add(Hash{low_, high_});
  }

 private:
  uint64_t low_ = 0, high_ = 0, count_ = 0;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_HASHER_H_
