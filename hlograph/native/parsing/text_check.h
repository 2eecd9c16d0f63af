// Checks of HLO text that XLA's parser leaves out.
#ifndef HLOGRAPH_NATIVE_PARSING_TEXT_CHECK_H_
#define HLOGRAPH_NATIVE_PARSING_TEXT_CHECK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/parsing/verdict.h"

namespace hlograph {

// XLA's parser recurses for each bracket inside a bracket, with up to 5 KB of stack each time. This
// limit takes a sixth of the 8 MiB that threads have by default. Modules in use have less than 10.
inline constexpr int kMaxNesting = 256;

// XLA makes up the elements of constant({...}), so the size of the text does not bound their
// number. This many take up to 4 GiB and 2 s.
inline constexpr int64_t kMaxElidedElements = int64_t{1} << 28;

// Checks in one pass what xla::ParseAndReturnUnverifiedModule relies on and does not check itself.
//
// An error is what would overflow the stack, write beyond an array, or take memory without bound:
// nesting, the numbers of parameters, device assignments, and constants larger than their text. An
// error has its position as XLA's have it.
//
// Text is sound if it is as XLA prints it, as far as one pass can tell: each instruction is inside
// a computation and has a usual opcode (usual_opcodes.h) and a shape; operands are names; and the
// opcodes whose construction XLA checks in a way that ends the process have operands and shapes
// that pass. Everything else is kUnsure, and a process of its own is to parse it
// (hlograph/reading/parsers.py).
absl::StatusOr<Verdict> CheckText(absl::string_view text);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_TEXT_CHECK_H_
