// Outcomes of trying rewrites, kept until a change makes them invalid.
#ifndef HLOGRAPH_NATIVE_REWRITES_OUTCOMES_H_
#define HLOGRAPH_NATIVE_REWRITES_OUTCOMES_H_

#include <cstdint>
#include <mutex>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlograph/native/module/work.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

class InstructionOrder;

// Outcome of trying one rewrite. The instructions are those of the module, not of the copy that it
// was tried on.
struct Outcome {
  bool applies = false;
  int64_t added = 0;  // instructions
  double flops = 0;   // of the added instructions, minus those of the removed ones
  double bytes = 0;
  std::vector<Amount> work;  // likewise, for one run of the computation of the place
  std::vector<const xla::HloInstruction*> gone;
  std::vector<const xla::HloInstruction*> used;  // operands of the added instructions
};

// Outcomes of rewrites of one module, which must not change. For most places no rewrite applies.
class Outcomes {
 public:
  // Returns the outcome at a place; null if it is not known.
  const Outcome* Find(const Rule* rule, Place place) const;
  void Add(const Rule* rule, Place place, Outcome outcome);
  bool empty() const { return known_.empty(); }

  // Returns the outcomes that still hold after a change: nothing that they depend on was changed.
  Outcomes After(const InstructionOrder& order) const;

 private:
  using Key = std::tuple<const Rule*, xla::HloInstruction*, xla::HloInstruction*>;
  absl::flat_hash_map<Key, Outcome> known_;
};

// Outcomes that all clones of a module share.
struct SharedOutcomes {
  std::mutex mutex;
  Outcomes outcomes;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_OUTCOMES_H_
