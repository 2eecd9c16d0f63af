// An HLO module that passes can be run on, and that survives a failing pass.
#ifndef HLOGRAPH_NATIVE_MODULE_MODULE_H_
#define HLOGRAPH_NATIVE_MODULE_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/fingerprint.h"
#include "hlograph/native/module/own_hashes.h"
#include "hlograph/native/passes/registry.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/rewrites.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// Limit of RE2, which XLA's lexer uses on text, and of protobuf.
inline constexpr size_t kMaxBytes = (size_t{1} << 31) - 1;

// The state of a module, as environments observe it.
struct State {
  Fingerprint fingerprint;
  int64_t op_count = 0;
  std::vector<float> op_counts;  // by opcode
};

// The result of one run of a pass.
struct Step {
  bool reported = false;       // true if the pass says that it changed the module
  double seconds = 0;          // in the pass
  std::optional<State> state;  // of the module now; empty if it is as before
};

// A module is an immutable base, shared between clones, and the passes that
// changed it since. The first pass makes the mutable copy, so a clone of an
// untouched module costs nothing. After a pass that fails half-way, by an error
// or an exception, the copy is dropped, and made from the base by replay when it
// is needed: the common case pays for the pass alone. Every method may be called
// from any thread.
class Module {
 public:
  explicit Module(std::unique_ptr<xla::HloModule> module);
  ~Module();

  // Parses HLO text. Returns null if XLA's parser may end the process on this text, which CheckText
  // tells: then a process that may be ended has to parse it, with `isolated`, for which null is
  // never returned.
  static absl::StatusOr<std::unique_ptr<Module>> FromText(absl::string_view text, bool isolated);
  // Parses a serialized HloModuleProto. Returns null as FromText does, by what CheckProto tells.
  static absl::StatusOr<std::unique_ptr<Module>> FromProto(absl::string_view serialized,
                                                           bool isolated);

  std::string Name() const;
  std::string ToText(bool metadata) const;
  std::string ToProto() const;
  std::unique_ptr<Module> Clone() const;

  Fingerprint GetFingerprint() const;
  Fingerprint GetStructure() const;
  int64_t OpCount() const;
  // Adds the number of instructions of each opcode to counts[opcode].
  void CountOpcodes(int64_t* counts) const;
  State GetState() const;
  // Hash of what passes may depend on and neither the fingerprint nor an HloModuleProto holds: the
  // number of devices, and the module's own frontend attributes.
  Fingerprint GetContext() const;
  absl::Status Verify() const;
  absl::StatusOr<Cost> GetCost() const;

  // Runs one pass and returns whether it changed the module. After an error
  // the module is as it was before.
  absl::StatusOr<bool> Run(const Pass& pass);
  // The same, and returns the state of the module if it is not as before.
  absl::StatusOr<Step> RunWithSnapshot(const Pass& pass);

  // Returns the rewrites that apply now; see rewrites.h. A rewrite is tried once only for this
  // module and its clones, and again after a rewrite that changed what its rule reads.
  std::vector<Rewrite> Rewrites(const std::vector<const Rule*>& rules);
  // The same, without using or storing known outcomes.
  std::vector<Rewrite> RewritesAnew(const std::vector<const Rule*>& rules,
                                    bool shared_copies) const;
  // Applies one; returns false if it does not apply. After an error the module is as it was before.
  absl::StatusOr<bool> Apply(const Rule& rule, const std::string& instruction,
                             const std::string& other);
  // Applies a rule at all places where it applies now, or with `fewer` at those where that leaves
  // fewer instructions, and returns at how many; see sweep.h. After an error the module is as it
  // was before.
  absl::StatusOr<int64_t> Sweep(const Rule& rule, bool fewer);

  // Calls `function(const xla::HloModule&)` while no pass runs.
  template <typename Function>
  auto Read(Function function) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return function(Hlo());
  }
  // The same with the hashes of instructions that are known: all if a fingerprint was made of this
  // state, and else none.
  template <typename Function>
  auto ReadWithHashes(Function function) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const xla::HloModule& hlo = Hlo();
    return function(hlo, own_hashes_);
  }

 private:
  Module(std::shared_ptr<const xla::HloModule> base, std::vector<const Pass*> applied,
         std::unique_ptr<xla::HloModule> current, std::optional<Fingerprint> fingerprint,
         std::shared_ptr<SharedOutcomes> outcomes);

  // These expect the lock to be held.

  // The module now.
  const xla::HloModule& Hlo() const;
  Fingerprint LockedFingerprint() const;
  // Makes the fingerprint, and the hashes of instructions on the way; see FingerprintOf for
  // `counts`.
  void LockedHash(int64_t* counts) const;
  State LockedState() const;
  absl::StatusOr<bool> LockedRun(const Pass& pass);
  std::vector<Rewrite> LockedRewrites(const std::vector<const Rule*>& rules);
  // Applies a rule to a clone, which becomes the base unless `apply` returns 0, the number of
  // places, or an error. Outcomes that hold after the change are kept.
  absl::StatusOr<int64_t> LockedApply(
      const Rule& rule, absl::FunctionRef<absl::StatusOr<int64_t>(xla::HloModule*)> apply);
  // Makes a module the base, to which nothing was done yet.
  void SetBase(std::unique_ptr<xla::HloModule> base, Outcomes outcomes);
  // Makes the mutable copy again, if it was dropped after a pass that failed: runs the applied
  // passes on a copy of the base. Throws if there is not enough memory; the next call tries again.
  void Replay() const;
  // Makes the module as it is now the base.
  void Rebase();

  mutable std::mutex mutex_;
  std::shared_ptr<const xla::HloModule> base_;
  std::vector<const Pass*> applied_;  // since base_; those that changed something
  // Null before the first pass, and after one that failed until it is needed again.
  mutable std::unique_ptr<xla::HloModule> current_;
  mutable std::optional<Fingerprint> fingerprint_;  // of Hlo(), once asked for
  mutable OwnHashes own_hashes_;                    // of Hlo() itself: its copies have other ids
  std::shared_ptr<SharedOutcomes> outcomes_;        // of rewrites of base_
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_MODULE_H_
