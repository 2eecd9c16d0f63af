// Loads instructions into the cache before they are read.
#ifndef HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_
#define HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_

#include <cstddef>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace hlograph {

// Instructions are scattered in memory, and each is read once. Prefetching this many instructions
// ahead hides the latency.
inline constexpr size_t kPrefetchDistance = 6;

inline void Prefetch(const xla::HloInstruction* instruction) {
  const char* bytes = reinterpret_cast<const char*>(instruction);
  for (size_t line = 0; line < sizeof(xla::HloInstruction); line += 64) {
    __builtin_prefetch(bytes + line);
  }
}

// The shape is a separate object; the instruction must be in the cache.
inline void PrefetchShape(const xla::HloInstruction* instruction) {
  const char* bytes = reinterpret_cast<const char*>(&instruction->shape());
  for (size_t line = 0; line < sizeof(xla::Shape); line += 64) {
    __builtin_prefetch(bytes + line);
  }
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_
