// The opcodes that XLA's parsers may read in this process.
#ifndef HLOGRAPH_NATIVE_PARSING_USUAL_OPCODES_H_
#define HLOGRAPH_NATIVE_PARSING_USUAL_OPCODES_H_

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {

// The kind of operands and result that XLA's code for an opcode relies on.
enum class OpcodeKind : char {
  kRare,    // not looked into: modules with it are parsed in another process
  kArray,   // arrays to an array
  kArrays,  // arrays to anything
  kAny,
};

struct UsualOpcode {
  OpcodeKind kind = OpcodeKind::kRare;
  xla::HloOpcode opcode = xla::HloOpcode::kAbs;  // if not rare
  int operands = -1;                             // -1 for any number
};

// Looks an opcode up by the name that HLO has for it; unknown names are rare.
//
// Usual are the opcodes of programs that jax lowers, and of XLA's output for one CPU: elementwise
// operations, operations on arrays, calls, and synchronous collectives. Rare are exchanges with the
// host and other devices, asynchronous operations, dynamic shapes that are set, and what few
// programs use: XLA's parsers have checks for them that end the process, and their attributes and
// shapes have to agree in many ways.
UsualOpcode FindUsualOpcode(absl::string_view name);

// Returns true if an opcode may have as many operands; XLA looks at some before it counts them.
bool MayHaveOperands(const UsualOpcode& usual, int operands);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_USUAL_OPCODES_H_
