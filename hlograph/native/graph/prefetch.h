// Asks for instructions before they are read.
#ifndef HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_
#define HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_

#include <cstddef>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace hlograph {

// Instructions lie scattered in memory, and each is read once: asked for some
// instructions ahead, they arrive in time.
inline constexpr size_t kPrefetchDistance = 6;

inline void Prefetch(const xla::HloInstruction* instruction) {
  const char* bytes = reinterpret_cast<const char*>(instruction);
  for (size_t line = 0; line < sizeof(xla::HloInstruction); line += 64) {
    __builtin_prefetch(bytes + line);
  }
}

// Of an instruction that has arrived: its shape lies elsewhere.
inline void PrefetchShape(const xla::HloInstruction* instruction) {
  const char* bytes = reinterpret_cast<const char*>(&instruction->shape());
  for (size_t line = 0; line < sizeof(xla::Shape); line += 64) {
    __builtin_prefetch(bytes + line);
  }
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_
