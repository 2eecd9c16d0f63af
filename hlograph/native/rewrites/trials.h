// Trying rewrites on copies of a module.
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

// What came of trying a rewrite: it does not apply; it does; it went to where another one had been
// before, and what it changed says nothing of what it would change alone; or it went further than
// the part of the module that was copied.
enum class Trial { kNone, kFound, kMet, kCut };

// A copy of the module, or of a part of it, that rewrites are tried on, as long as they do not
// meet.
class Scratch {
 public:
  Scratch(const xla::HloModule& module, InstructionCosts& costs);
  Scratch(Part part, InstructionCosts& costs);
  ~Scratch();

  // Places are of the whole module, not of the copy.

  // Whether nothing that the rule reads has been touched here.
  bool IsFresh(const Rule& rule, Place original) const;

  // Applies the rule and says what that changed; the outcome is of a trial that found something.
  // After an error the copy may be anything.
  absl::StatusOr<Trial> Try(const Rule& rule, Place original, Outcome& outcome);

 private:
  using Instructions = absl::flat_hash_set<const xla::HloInstruction*>;
  using Hops = absl::flat_hash_map<const xla::HloInstruction*, int>;
  using Computations = absl::flat_hash_set<const xla::HloComputation*>;

  // What a rewrite changed: `made` are the copy's, `gone` the whole module's.
  struct Change {
    std::vector<const xla::HloInstruction*> made;
    Instructions used;  // operands of those made
    Instructions gone;
  };

  Place Find(Place original) const;
  bool IsFresh(Place place, Reach reach) const;
  bool IsFresh(const xla::HloInstruction* instruction, Reach reach) const;
  // `seen` has the hops that were left at what was looked at before.
  bool AreOperandsFresh(const xla::HloInstruction* instruction, int hops, Hops& seen) const;
  bool AreUsersFresh(const xla::HloInstruction* instruction, int hops) const;
  bool AreCalleesFresh(const xla::HloInstruction* original) const;
  // Whether the copy of an instruction, or of one of its operands, was touched.
  bool WasTouched(const xla::HloInstruction* original) const;

  Applier& ApplierOf(const Rule& rule, xla::HloComputation* computation);

  // What the last rewrite, at this place, changed.
  Change FindChange(Place place);
  Trial Judge(Place original, const Change& change, bool is_first) const;
  std::vector<const xla::HloInstruction*> FindMade();
  Instructions FindGone(Place place, const Instructions& used);
  // Whether a part was too small to tell what the rewrite would change.
  bool IsCut(const Change& change) const;
  // Whether any of it had been touched before.
  bool Meets(const Change& change) const;

  void Touch(const xla::HloInstruction* instruction);
  template <typename Range>
  void TouchAll(const Range& instructions);
  // Notes where a new instruction is, and what of the whole module it calls.
  void TouchNew(const xla::HloInstruction* instruction);
  // Notes what an instruction calls: whether it is the last that does so is seen by others.
  void TouchCallees(const xla::HloInstruction* original);

  // These count an instruction in, and touch it and its neighbours.
  void CountMade(const xla::HloInstruction* instruction, Outcome& outcome);
  void CountGone(const xla::HloInstruction* original, Outcome& outcome);

  InstructionCosts& costs_;
  std::optional<Part> part_;  // none if the whole module was copied
  std::unique_ptr<xla::HloModule> module_;
  std::unique_ptr<xla::HloCloneContext> context_;
  absl::flat_hash_map<const xla::HloInstruction*, const xla::HloInstruction*> originals_;
  Instructions new_;
  Instructions touched_;
  Computations changed_;  // of the whole module: where anything was added, removed or called anew
  Computations removed_;  // of the whole module
  absl::flat_hash_map<std::pair<const Rule*, xla::HloComputation*>, std::unique_ptr<Applier>>
      appliers_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_TRIALS_H_
