// Loads instructions into the cache before they are read.
#ifndef HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_
#define HLOGRAPH_NATIVE_GRAPH_PREFETCH_H_

#include <cstddef>
#include <cstdint>

#include "xla/hlo/ir/hlo_computation.h"
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

// The beginnings of those of a computation, where a walk along operands reads. It waits for one
// after the other, while those of a list can be asked for at once: as many as fit into the
// second-level cache.
inline void Prefetch(const xla::HloComputation& computation) {
  constexpr int64_t kFit = 8192;
  if (computation.instruction_count() > kFit) return;
  for (const xla::HloInstruction* instruction : computation.instructions()) {
    const char* bytes = reinterpret_cast<const char*>(instruction);
    __builtin_prefetch(bytes);
    __builtin_prefetch(bytes + 64);
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
