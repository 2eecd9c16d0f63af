// Checks of an HloModuleProto that XLA leaves out.
#ifndef HLOGRAPH_NATIVE_PARSING_PROTO_CHECK_H_
#define HLOGRAPH_NATIVE_PARSING_PROTO_CHECK_H_

#include "absl/status/statusor.h"
#include "hlograph/native/parsing/verdict.h"

namespace xla {
class HloModuleProto;
}  // namespace xla

namespace hlograph {

// Checks what xla::HloModule::CreateFromProto relies on and does not check itself.
//
// An error is what would write beyond an array or take memory without bound: device assignments,
// and literals whose shape is larger than their data.
//
// A proto is sound if it is regular, as those are that XLA and jax write:
//  - Ids are unique. Operands and control predecessors are instructions before, in the same
//    computation. Called computations come before. Roots and the entry computation exist.
//  - Opcodes are usual (usual_opcodes.h), with their number of operands, and operations on arrays
//    have arrays.
//  - The parameters of a computation are numbered 0, 1, 2, ... in some order, and callers have an
//    operand for each. A fusion, or the body of a loop, has one caller.
// XLA's code may end the process where that does not hold, often on the way back from an error that
// it has found. Everything else is kUnsure, and a process of its own is to parse it
// (hlograph/reading/parsers.py).
absl::StatusOr<Verdict> CheckProto(const xla::HloModuleProto& module);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_PROTO_CHECK_H_
