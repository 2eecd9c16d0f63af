// Finds out which instructions of a module a rewrite has changed.
#ifndef HLOGRAPH_NATIVE_REWRITES_INSTRUCTION_ORDER_H_
#define HLOGRAPH_NATIVE_REWRITES_INSTRUCTION_ORDER_H_

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

// Maps the instructions of a module to those of a copy that was changed since, and tells how far
// each is from a change. Compares the two, so that it needs no record of the changes.
class InstructionOrder {
 public:
  // `context` is the one that the copy was made with. Both modules must outlive this object and
  // not change meanwhile.
  InstructionOrder(const xla::HloModule& copy, const xla::HloCloneContext& context);

  // Returns the instruction of the copy that stands for one of the module; null if it was removed.
  xla::HloInstruction* Find(const xla::HloInstruction* before) const;
  Place Find(Place before) const;

  // Returns true if an instruction of the copy is new or changed: in its own attributes, operands,
  // users or control dependencies, or in the computation that it applies to elements. The users of
  // constants and parameters do not count, since whole computations share those.
  bool IsTouched(const xla::HloInstruction* after) const { return touched_.contains(after); }
  // Returns true if anything in the computations that an instruction calls has changed. Rules read
  // the bodies of loops, branches and calls only at the instruction itself.
  bool CallsChanged(const xla::HloInstruction* after) const;
  // Returns true if nothing in reach of a place of the copy has changed.
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
  // Hops from an instruction to the nearest changed one: along operands; and along users, to one
  // that was changed or has a changed operand. Instructions that are missing here are further away
  // than any rule reads.
  Distances by_operands_, by_users_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_INSTRUCTION_ORDER_H_
