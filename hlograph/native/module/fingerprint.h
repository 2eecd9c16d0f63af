// Structural hashes of modules.
#ifndef HLOGRAPH_NATIVE_MODULE_FINGERPRINT_H_
#define HLOGRAPH_NATIVE_MODULE_FINGERPRINT_H_

#include <cstdint>

#include "hlograph/native/module/hasher.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

class OwnHashes;

using Fingerprint = Hash;

// Hashes the program of a module: opcodes, shapes, layouts that are
// not the default, attributes, literals, operand and control edges, calls,
// entry layout, aliasing. Independent of names,
// ids, metadata, and of the order in which instructions and computations are
// stored; equal for a module, its clone, its reparsed text and its proto round
// trip, in every process.
// In the same walk, adds the number of instructions of each opcode to counts[opcode], and the hash
// of each instruction by itself to `own`; either may be null.
Fingerprint FingerprintOf(const xla::HloModule& module, int64_t* counts = nullptr,
                          OwnHashes* own = nullptr);

// Hashes opcodes and edges alone (operands with their positions, control
// dependencies, calls): equal for modules that differ in shapes, element types,
// literals and attributes only.
Fingerprint StructureOf(const xla::HloModule& module);

// Hashes what passes may depend on and FingerprintOf leaves out, because HloModuleProto does not
// carry it: replicas, partitions and their configuration, and the module's own frontend attributes.
Fingerprint ContextOf(const xla::HloModule& module);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_FINGERPRINT_H_
