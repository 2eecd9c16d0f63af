// The work of single instructions on XLA:CPU, without that of the computations they call.
#ifndef HLOGRAPH_NATIVE_MODULE_INSTRUCTION_WORK_H_
#define HLOGRAPH_NATIVE_MODULE_INSTRUCTION_WORK_H_

#include "hlograph/native/module/work.h"

namespace xla {
class HloInstruction;
class Shape;
}  // namespace xla

namespace hlograph {

// Return the size of a shape: of an array, or all arrays of a tuple.
double Elements(const xla::Shape& shape);
double Bytes(const xla::Shape& shape);

// Adds the work of one run of an instruction.
void AddOwnWork(const xla::HloInstruction* instruction, Work& work);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_INSTRUCTION_WORK_H_
