// Hashes of instructions by themselves: opcode, shape, attributes and literal, without operands and
// called computations.
#ifndef HLOGRAPH_NATIVE_MODULE_OWN_HASH_H_
#define HLOGRAPH_NATIVE_MODULE_OWN_HASH_H_

#include "hlograph/native/module/hasher.h"

namespace xla {
class HloInstruction;
class Shape;
}  // namespace xla

namespace hlograph {

void AddShape(const xla::Shape& shape, Hasher& hasher);

// Adds what the fingerprint sees of an instruction by itself.
void AddInstruction(const xla::HloInstruction& instruction, Hasher& hasher);

// The hash of an instruction by itself, which is never all zeros: whatever HloInstruction tells
// without a look at other instructions, names and metadata, is the same for equal hashes. `hasher`
// is one to which the instruction was added.
Hash OwnHash(const xla::HloInstruction& instruction, Hasher hasher);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_OWN_HASH_H_
