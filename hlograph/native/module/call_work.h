// The work of calls: routines of LAPACK, the largest elements, and native kernels.
#ifndef HLOGRAPH_NATIVE_MODULE_CALL_WORK_H_
#define HLOGRAPH_NATIVE_MODULE_CALL_WORK_H_

#include "absl/strings/string_view.h"
#include "hlograph/native/module/work.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Adds the work of a custom call.
void AddCustomCall(const xla::HloInstruction* call, Work& work);

// Adds the work of a routine on matrices, the first operand, by its name in LAPACK.
void AddMatrices(const xla::HloInstruction* instruction, absl::string_view routine, Work& work);

// Adds the work of a search for the largest elements.
void AddTopK(const xla::HloInstruction* instruction, Work& work);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_CALL_WORK_H_
