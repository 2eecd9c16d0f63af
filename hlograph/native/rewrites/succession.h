// What a rewrite left of a module as it was.
#ifndef HLOGRAPH_NATIVE_REWRITES_SUCCESSION_H_
#define HLOGRAPH_NATIVE_REWRITES_SUCCESSION_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloCloneContext;
class HloComputation;
class HloInstruction;
class HloModule;
}  // namespace xla

namespace hlograph {

// Which instruction of a module became which of its copy, after the copy was changed, and how far
// each is from what changed. Found by comparing the two: nobody has to say what was done.
class Succession {
 public:
  // The copy was made with this context. Neither module may change or end before this.
  Succession(const xla::HloModule& copy, const xla::HloCloneContext& context);

  // What an instruction became; null if it is gone.
  xla::HloInstruction* Find(const xla::HloInstruction* before) const;
  Place Find(Place before) const;

  // Whether an instruction of the copy is new, or another one than it was: by what it is, by its
  // operands, users and control dependencies, or in what it applies to elements. Of constants and
  // parameters, which whole computations share, users do not count.
  bool IsTouched(const xla::HloInstruction* after) const { return touched_.contains(after); }
  // Whether anything in the body of a loop, branch or call changed, which rules read at the
  // instruction itself alone.
  bool CallsChanged(const xla::HloInstruction* after) const;
  // Whether all that is in reach of a place of the copy is as it was.
  bool IsFresh(Reach reach, Place after) const;

 private:
  using Instruction = const xla::HloInstruction*;
  using Distances = absl::flat_hash_map<Instruction, int>;

  bool IsSame(Instruction before, Instruction after) const;
  bool HasSameCallees(Instruction before, Instruction after) const;
  bool HasSameCallers(const xla::HloComputation* before, const xla::HloComputation* after) const;
  void Compare(const xla::HloComputation* after, const xla::HloComputation* before);
  void MeasureOperands();
  void MeasureUsers();
  bool IsFresh(Reach reach, Instruction after) const;

  absl::flat_hash_map<Instruction, xla::HloInstruction*> after_;
  absl::flat_hash_map<Instruction, Instruction> before_;
  absl::flat_hash_map<const xla::HloComputation*, const xla::HloComputation*> computations_;
  absl::flat_hash_set<const xla::HloComputation*> changed_;  // of the copy
  absl::flat_hash_set<Instruction> touched_;
  // Hops from an instruction to what was touched: by operands; and by users, to one that was
  // touched itself or has an operand that was. What is not here is further than any rule reads.
  Distances by_operands_, by_users_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_SUCCESSION_H_
