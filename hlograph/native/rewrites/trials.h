// Tries rewrites on copies of a module.
#ifndef HLOGRAPH_NATIVE_REWRITES_TRIALS_H_
#define HLOGRAPH_NATIVE_REWRITES_TRIALS_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/work.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/parts.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloCloneContext;
class HloComputation;
class HloInstruction;
class HloModule;
}  // namespace xla

namespace hlograph {

// Result of trying a rewrite.
enum class Trial {
  kNone,   // it does not apply
  kFound,  // it applies
  kMet,    // it changed what an earlier rewrite had changed: its effect alone is not known
  kCut,    // it reached beyond the part of the module that was copied
};

// A copy of the module, or of a part of it, on which rewrites are tried as long as each changes
// other instructions.
class Scratch {
 public:
  Scratch(const xla::HloModule& module, InstructionCosts& costs, WorkCounter& works);
  Scratch(Part part, InstructionCosts& costs, WorkCounter& works);
  ~Scratch();

  // Places are of the whole module, not of the copy.

  // Returns true if no rewrite has changed what the rule reads at a place.
  bool IsFresh(const Rule& rule, Place original) const;

  // Applies the rule, and sets the outcome if the trial is kFound. After an error the copy must not
  // be used again.
  absl::StatusOr<Trial> Try(const Rule& rule, Place original, Outcome& outcome);

 private:
  using Instructions = absl::flat_hash_set<const xla::HloInstruction*>;
  using Hops = absl::flat_hash_map<const xla::HloInstruction*, int>;
  using Computations = absl::flat_hash_set<const xla::HloComputation*>;

  // The instructions that a rewrite changed: `made` are of the copy, `gone` of the whole module.
  struct Change {
    std::vector<const xla::HloInstruction*> made;
    Instructions used;  // operands of those made
    Instructions gone;
  };

  Place Find(Place original) const;
  bool IsFresh(Place place, Reach reach) const;
  bool IsFresh(const xla::HloInstruction* instruction, Reach reach) const;
  // `seen` has, for instructions visited before, the hops that were left there.
  bool AreOperandsFresh(const xla::HloInstruction* instruction, int hops, Hops& seen) const;
  bool AreUsersFresh(const xla::HloInstruction* instruction, int hops) const;
  bool AreCalleesFresh(const xla::HloInstruction* original) const;
  // Returns true if the copy of an instruction, or of one of its operands, was changed.
  bool WasTouched(const xla::HloInstruction* original) const;

  Applier& ApplierOf(const Rule& rule, xla::HloComputation* computation);

  // Returns the change of the last rewrite, which was at this place.
  Change FindChange(Place place);
  Trial Judge(Place original, const Change& change, bool is_first) const;
  std::vector<const xla::HloInstruction*> FindMade();
  Instructions FindGone(Place place, const Instructions& used);
  // Returns true if the copied part was too small for the rewrite.
  bool IsCut(const Change& change) const;
  // Returns true if an earlier rewrite had changed any of it.
  bool Meets(const Change& change) const;

  void Touch(const xla::HloInstruction* instruction);
  template <typename Range>
  void TouchAll(const Range& instructions);
  // Records the computation of a new instruction, and the computations that it calls.
  void TouchNew(const xla::HloInstruction* instruction);
  // Records the computations that an instruction calls: rules ask whether it is their last caller.
  void TouchCallees(const xla::HloInstruction* original);

  // These add an instruction to the outcome, and mark it and its neighbors as changed.
  void CountMade(const xla::HloInstruction* instruction, Outcome& outcome);
  void CountGone(const xla::HloInstruction* original, Outcome& outcome);

  // Returns the work of what was made, minus that of what is gone, for one run of the computation
  // of the place. `copy` is that computation in the copy.
  Work ChangeOfWork(Place original, const xla::HloComputation* copy, const Change& change);
  // How often a computation of the whole module runs for one run of that of the place. Zero if only
  // instructions that were made call its copy: they have its work.
  double RunsBeside(Place original, const xla::HloComputation* computation, const Change& change);

  InstructionCosts& costs_;
  WorkCounter& works_;        // of the whole module
  std::optional<Part> part_;  // none if the whole module was copied
  std::unique_ptr<xla::HloModule> module_;
  std::unique_ptr<xla::HloCloneContext> context_;
  absl::flat_hash_map<const xla::HloInstruction*, const xla::HloInstruction*> originals_;
  Instructions new_;
  Instructions touched_;
  Computations changed_;  // of the whole module: with added or removed instructions, or new callers
  Computations removed_;  // of the whole module
  absl::flat_hash_map<std::pair<const Rule*, xla::HloComputation*>, std::unique_ptr<Applier>>
      appliers_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_TRIALS_H_
