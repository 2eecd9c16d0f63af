// A part of a module in a module of its own, for passes to see no more than that.
#ifndef HLOGRAPH_NATIVE_REWRITES_EXCERPT_H_
#define HLOGRAPH_NATIVE_REWRITES_EXCERPT_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// What a pass is shown of the operands of an excerpt's instructions.
struct Shown {
  std::vector<xla::HloOpcode> operands;  // of these opcodes are copied, others are parameters
  int hops = 2;                          // and no farther away than that
};

// Instructions of one computation, operands first, and what of their operands is shown.
class Excerpt {
 public:
  // `results` are those whose values the rest of the module takes: the excerpt computes them, and
  // a tuple of them if they are several.
  Excerpt(const std::vector<xla::HloInstruction*>& instructions,
          std::vector<xla::HloInstruction*> results, Shown shown);

  // Runs a pass on the excerpt, and puts what is left of it in the place of the results; false if
  // the pass changes nothing.
  absl::StatusOr<bool> Apply(const Pass& pass);

 private:
  // Puts what the excerpt computes now in the place of the results. What is still the same is
  // kept, but for the first instruction, whose computations may have changed.
  absl::Status ReplaceResults();

  using Instructions = std::unordered_map<const xla::HloInstruction*, xla::HloInstruction*>;

  // The copy of an instruction of the whole module, so many hops from those of the excerpt.
  xla::HloInstruction* Add(xla::HloInstruction* whole, int hops);
  xla::HloInstruction* AddCopy(xla::HloInstruction* whole, int hops);
  xla::HloInstruction* AddParameter(xla::HloInstruction* whole);

  // Lets clones call what of the whole module a pass has left as it was.
  void MapUnchanged(xla::HloCloneContext& context) const;
  // Adds to the whole module what the excerpt has now; what each of its instructions is there.
  Instructions AddToWhole();
  // The instruction of the whole module that this one still is; null if it is a new one.
  xla::HloInstruction* Original(const xla::HloInstruction* mine, const Instructions& made) const;

  xla::HloComputation::Builder builder_;
  std::unique_ptr<xla::HloModule> module_;
  xla::HloCloneContext context_;
  xla::HloInstruction* const first_;
  const std::vector<xla::HloInstruction*> results_;
  const Shown shown_;
  int64_t parameters_ = 0;
  Instructions copies_;                                        // of whole instructions
  Instructions kept_;                                          // whole instructions of copies
  std::unordered_map<int64_t, xla::HloInstruction*> outside_;  // by parameter
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_EXCERPT_H_
