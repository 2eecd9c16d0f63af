// What came of trying rewrites, kept for as long as it holds.
#ifndef HLOGRAPH_NATIVE_REWRITES_OUTCOMES_H_
#define HLOGRAPH_NATIVE_REWRITES_OUTCOMES_H_

#include <cstdint>
#include <mutex>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

class Succession;

// What came of trying a rewrite alone. The instructions are of the module itself, not of the copy
// that it was tried on.
struct Outcome {
  bool applies = false;
  int64_t added = 0;  // instructions
  double flops = 0;   // of the new ones less of the old ones
  double bytes = 0;
  std::vector<const xla::HloInstruction*> gone;
  std::vector<const xla::HloInstruction*> used;  // by what is new
};

// Outcomes of rewrites of one module, which must not change. Most are that nothing applies.
class Outcomes {
 public:
  // The outcome at a place; null if it is not known.
  const Outcome* Find(const Rule* rule, Place place) const;
  void Add(const Rule* rule, Place place, Outcome outcome);
  bool empty() const { return known_.empty(); }

  // Those that hold in what the module became: nothing that they came of was touched.
  Outcomes After(const Succession& succession) const;

 private:
  using Key = std::tuple<const Rule*, xla::HloInstruction*, xla::HloInstruction*>;
  absl::flat_hash_map<Key, Outcome> known_;
};

// Outcomes that all who look at one module add to.
struct SharedOutcomes {
  std::mutex mutex;
  Outcomes outcomes;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_OUTCOMES_H_
