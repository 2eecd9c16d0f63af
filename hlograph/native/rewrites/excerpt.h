// Copies a part of a module into a module of its own, so that a pass acts on that part only.
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

// Which operands of an excerpt's instructions are copied. The others become parameters.
struct CopiedOperands {
  std::vector<xla::HloOpcode> opcodes;
  int hops = 2;  // from the instructions, at most
};

// Copy of instructions of one computation, with some of their operands.
class Excerpt {
 public:
  // `instructions` are in post order. `results` are those with users outside: the excerpt returns
  // them, as a tuple if there are several.
  Excerpt(const std::vector<xla::HloInstruction*>& instructions,
          std::vector<xla::HloInstruction*> results, CopiedOperands copied);

  // Runs a pass on the excerpt, and replaces the results by what it computes then. Returns false if
  // the pass changes nothing.
  absl::StatusOr<bool> Apply(const Pass& pass);

 private:
  // Replaces the results by what the excerpt computes now. Unchanged instructions are kept, except
  // for the first one, whose computations may have changed.
  absl::Status ReplaceResults();

  using Instructions = std::unordered_map<const xla::HloInstruction*, xla::HloInstruction*>;

  // Returns the copy of an instruction of the whole module, which is `hops` from the excerpt's.
  xla::HloInstruction* Add(xla::HloInstruction* whole, int hops);
  xla::HloInstruction* AddCopy(xla::HloInstruction* whole, int hops);
  xla::HloInstruction* AddParameter(xla::HloInstruction* whole);

  // Makes clones call the computations of the whole module that the pass has not changed.
  void MapUnchanged(xla::HloCloneContext& context) const;
  // Adds the instructions of the excerpt to the whole module, and returns the map from one to the
  // other.
  Instructions AddToWhole();
  // Returns the instruction of the whole module that an unchanged one stands for; null for new
  // ones.
  xla::HloInstruction* Original(const xla::HloInstruction* mine, const Instructions& made) const;

  xla::HloComputation::Builder builder_;
  std::unique_ptr<xla::HloModule> module_;
  xla::HloCloneContext context_;
  xla::HloInstruction* const first_;
  const std::vector<xla::HloInstruction*> results_;
  const CopiedOperands copied_;
  int64_t parameters_ = 0;
  Instructions copies_;                                        // of whole instructions
  Instructions kept_;                                          // whole instructions of copies
  std::unordered_map<int64_t, xla::HloInstruction*> outside_;  // by parameter
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_EXCERPT_H_
