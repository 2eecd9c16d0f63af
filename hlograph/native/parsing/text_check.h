// What XLA takes for granted of HLO text.
#ifndef HLOGRAPH_NATIVE_PARSING_TEXT_CHECK_H_
#define HLOGRAPH_NATIVE_PARSING_TEXT_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hlograph {

// XLA's parser calls itself for each bracket inside a bracket, up to 5 KB of stack each time: of
// the 8 MiB that threads have by default, this is a sixth. Modules in use have less than 10.
inline constexpr int kMaxNesting = 256;

// XLA invents the elements of constant({...}), so the text does not bound them; these take up to
// 4 GiB and 2 s.
inline constexpr int64_t kMaxElidedElements = int64_t{1} << 28;

enum class TextVerdict {
  kSound,   // XLA's parser returns, or ends at a failed check
  kUnsure,  // it may also go on with what it has not read, and write anywhere
};

// Checks in one pass what xla::ParseAndReturnUnverifiedModule relies on and does not check
// itself, where a false text would overflow the stack, make it write beyond an array, take
// memory without bound, or end the process: nesting, the numbers of parameters, device
// assignments, operands of dot, and constants larger than their text. Everything else is left
// to XLA. An error has its position as XLA's have it.
absl::StatusOr<TextVerdict> CheckText(absl::string_view text);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_TEXT_CHECK_H_
