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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/fingerprint.h"
#include "hlograph/native/passes/registry.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/rewrites.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// Of text: RE2, which XLA's lexer matches the rest of the text with, takes no more. Of protos:
// protobuf takes no more.
inline constexpr size_t kMaxBytes = (size_t{1} << 31) - 1;

// What a module is, to those who watch passes change it.
struct State {
  Fingerprint fingerprint;
  int64_t op_count = 0;
  std::vector<float> op_counts;  // by opcode
};

// What one run of a pass came to.
struct Step {
  bool reported = false;       // whether the pass says that it changed the module
  double seconds = 0;          // in the pass
  std::optional<State> state;  // of the module now, where it is another than before
};

// A module is an immutable base, shared between clones, and the passes that
// changed it since. The mutable copy is made by the first pass, so a clone of
// an untouched module costs nothing; after a pass that fails half-way the copy
// is rebuilt from the base by replay, so that the common case pays for the
// pass alone. Every method may be called from any thread.
class Module {
 public:
  explicit Module(std::unique_ptr<xla::HloModule> module);
  ~Module();

  // Parse a module; null means that it must be done in a process of its own, which XLA may end:
  // it does not survive this input, or may not, or did not survive another one in this process.
  // There `alone` is true: null is never returned, and an abort is not survived.
  static absl::StatusOr<std::unique_ptr<Module>> FromText(absl::string_view text, bool alone);
  static absl::StatusOr<std::unique_ptr<Module>> FromProto(absl::string_view serialized,
                                                           bool alone);

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
  // Hash of what passes may go by and neither the fingerprint nor a HloModuleProto holds: how
  // many devices the module is for, and the module's own frontend attributes.
  Fingerprint GetSurroundings() const;
  absl::Status Verify() const;
  absl::StatusOr<Cost> GetCost() const;

  // Runs one pass and returns whether it changed the module. After an error
  // the module is as it was before.
  absl::StatusOr<bool> Run(const Pass& pass);
  // The same, and looks at the module if it is in another state then.
  absl::StatusOr<Step> RunAndLook(const Pass& pass);

  // The rewrites that apply now; see rewrites.h. What was tried is not tried again on this module
  // or a clone, nor after a rewrite that has not touched what the rule reads.
  std::vector<Rewrite> Rewrites(const std::vector<const Rule*>& rules);
  // The same, whatever is known.
  std::vector<Rewrite> RewritesAnew(const std::vector<const Rule*>& rules, bool alone) const;
  // Applies one; false if it does not apply. After an error the module is as it was before.
  absl::StatusOr<bool> Apply(const Rule& rule, const std::string& instruction,
                             const std::string& other);

  // Calls `function(const xla::HloModule&)` while no pass runs.
  template <typename Function>
  auto Read(Function function) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return function(Hlo());
  }

 private:
  Module(std::shared_ptr<const xla::HloModule> base, std::vector<const Pass*> applied,
         std::unique_ptr<xla::HloModule> current, std::optional<Fingerprint> fingerprint,
         std::shared_ptr<SharedOutcomes> outcomes);

  // These expect the lock to be held.
  const xla::HloModule& Hlo() const;
  Fingerprint LockedFingerprint() const;
  State LockedState() const;
  absl::StatusOr<bool> LockedRun(const Pass& pass);
  // Makes a module the base, to which nothing was done yet.
  void SetBase(std::unique_ptr<xla::HloModule> base, Outcomes outcomes);
  // Undoes what failed half-way, and returns its error.
  absl::Status RestoredAfter(const absl::Status& error);
  absl::Status Restore();

  mutable std::mutex mutex_;
  std::shared_ptr<const xla::HloModule> base_;
  std::vector<const Pass*> applied_;                // since base_
  std::unique_ptr<xla::HloModule> current_;         // null while nothing was run
  mutable std::optional<Fingerprint> fingerprint_;  // of Hlo(), once asked for
  std::shared_ptr<SharedOutcomes> outcomes_;        // of rewrites of base_
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_MODULE_H_
