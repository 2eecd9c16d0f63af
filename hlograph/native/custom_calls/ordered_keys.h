// Integers that are ordered as the elements of a sort or top-k are.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_ORDERED_KEYS_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_ORDERED_KEYS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "xla/ffi/api/ffi.h"

namespace hlograph {

// How an element type is ordered: as signed integers of the same bits, of bits without a sign, or
// of floats by sign and magnitude.
enum class Coding { kSigned, kUnsigned, kFloat };

// An element type of a sort: its coding and number of bits; for floats, the bits of infinity.
struct KeyType {
  Coding coding = Coding::kSigned;
  int bits = 0;
  int64_t infinity = 0;
};

// Returns none for types that kernels do not sort.
inline std::optional<KeyType> KeyTypeOf(xla::ffi::DataType type) {
  using xla::ffi::DataType;
  switch (type) {
    case DataType::S16:
      return KeyType{Coding::kSigned, 16, 0};
    case DataType::U16:
      return KeyType{Coding::kUnsigned, 16, 0};
    case DataType::F16:
      return KeyType{Coding::kFloat, 16, 0x7c00};
    case DataType::BF16:
      return KeyType{Coding::kFloat, 16, 0x7f80};
    case DataType::S32:
      return KeyType{Coding::kSigned, 32, 0};
    case DataType::U32:
      return KeyType{Coding::kUnsigned, 32, 0};
    case DataType::F32:
      return KeyType{Coding::kFloat, 32, 0x7f800000};
    case DataType::S64:
      return KeyType{Coding::kSigned, 64, 0};
    case DataType::U64:
      return KeyType{Coding::kUnsigned, 64, 0};
    case DataType::F64:
      return KeyType{Coding::kFloat, 64, 0x7ff0000000000000};
    default:
      return std::nullopt;
  }
}

// Exchanges the bits of an element and the integer of the same order: its own inverse.
template <Coding coding, typename Integer>
inline __attribute__((always_inline)) Integer Flipped(Integer bits) {
  constexpr int kSign = std::numeric_limits<Integer>::digits;
  constexpr Integer kLeast = std::numeric_limits<Integer>::min();
  constexpr Integer kGreatest = std::numeric_limits<Integer>::max();
  if constexpr (coding == Coding::kSigned) return bits;
  if constexpr (coding == Coding::kUnsigned) return static_cast<Integer>(bits ^ kLeast);
  return static_cast<Integer>(bits ^ ((bits >> kSign) & kGreatest));
}

// Returns true for the bits of a NaN.
template <typename Integer>
inline __attribute__((always_inline)) bool IsNanOfBits(Integer bits, Integer infinity) {
  return static_cast<Integer>(bits & std::numeric_limits<Integer>::max()) > infinity;
}

// Returns true for zeros, and for what XLA:CPU compares as zeros: subnormal numbers of all types
// but f16, which it converts to f32.
template <typename Integer>
inline __attribute__((always_inline)) bool IsZeroOfBits(Integer bits, Integer infinity) {
  const Integer least =
      infinity == 0x7c00 ? Integer{1} : static_cast<Integer>(infinity & -infinity);
  return static_cast<Integer>(bits & std::numeric_limits<Integer>::max()) < least;
}

// Calls function(constant coding) for a type of keys.
template <typename Function>
auto WithCoding(Coding coding, const Function& function) {
  switch (coding) {
    case Coding::kSigned:
      return function(std::integral_constant<Coding, Coding::kSigned>());
    case Coding::kUnsigned:
      return function(std::integral_constant<Coding, Coding::kUnsigned>());
    default:
      return function(std::integral_constant<Coding, Coding::kFloat>());
  }
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_ORDERED_KEYS_H_
