// What XLA takes for granted of an HloModuleProto.
#ifndef HLOGRAPH_NATIVE_PARSING_PROTO_CHECK_H_
#define HLOGRAPH_NATIVE_PARSING_PROTO_CHECK_H_

#include "absl/status/status.h"

namespace xla {
class HloModuleProto;
}  // namespace xla

namespace hlograph {

// Checks what xla::HloModule::CreateFromProto relies on and does not check itself, where a
// false proto would make it write beyond an array or take memory without bound: device
// assignments, and literals whose shape is larger than their data.
absl::Status CheckProto(const xla::HloModuleProto& module);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_PROTO_CHECK_H_
