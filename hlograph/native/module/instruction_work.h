// The work of single instructions on XLA:CPU, without that of the computations they call.
#ifndef HLOGRAPH_NATIVE_MODULE_INSTRUCTION_WORK_H_
#define HLOGRAPH_NATIVE_MODULE_INSTRUCTION_WORK_H_

#include "hlograph/native/module/work.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Adds the work of one run of an instruction.
void AddOwnWork(const xla::HloInstruction* instruction, Work& work);

// Counts a kernel of so many elements, or the kernel of an instruction, unless it is tiny.
void AddKernel(double elements, Work& work);
void AddKernel(const xla::HloInstruction* instruction, Feature feature, Work& work);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_INSTRUCTION_WORK_H_
