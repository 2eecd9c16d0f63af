// XLA's own cost model of a module.
#ifndef HLOGRAPH_NATIVE_MODULE_COST_H_
#define HLOGRAPH_NATIVE_MODULE_COST_H_

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace xla {
class HloCostAnalysis;
class HloInstruction;
class HloModule;
}  // namespace xla

namespace hlograph {

struct Cost {
  double flops = 0;
  double transcendentals = 0;
  double bytes_accessed = 0;
};

// xla::HloCostAnalysis of the entry computation; opaque values and tuples
// count as one pointer of 8 bytes.
absl::StatusOr<Cost> AnalyzeCost(const xla::HloModule& module);

// The costs of single instructions, each counted once however often its computation runs. Zero for
// instructions that XLA has no cost of, and for those inside fusions, whose cost the fusion has.
class InstructionCosts {
 public:
  InstructionCosts();
  ~InstructionCosts();
  Cost Of(const xla::HloInstruction* instruction);
  // The same for an instruction that outlives this object and does not change; remembers the cost.
  const Cost& OfLasting(const xla::HloInstruction* instruction);

 private:
  std::unique_ptr<xla::HloCostAnalysis> analysis_;
  absl::flat_hash_map<const xla::HloInstruction*, Cost> known_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_COST_H_
