// XLA's algebraic simplifier at one instruction.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlograph/native/passes/precautions.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/algebraic_simplifier.h"

namespace hlograph {
namespace {

using Options = xla::AlgebraicSimplifierOptions;

// A visitor that visits what it is pointed at, and nothing when it is run.
class PointedVisitor : public xla::AlgebraicSimplifierVisitor {
 public:
  PointedVisitor(const Options& options, xla::AlgebraicSimplifier* simplifier,
                 xla::HloComputation* computation)
      : AlgebraicSimplifierVisitor(options, simplifier) {
    Run(computation, options, simplifier);  // sets what it keeps of the computation
  }

  absl::StatusOr<bool> At(xla::HloInstruction* instruction) {
    MarkAsUnchanged();
    absl::Status status = instruction->Visit(this);
    if (!status.ok()) return status;
    return changed();
  }

 protected:
  bool ShouldProcessNode(xla::HloInstruction* /*instruction*/) override { return false; }
};

class AlgebraicApplier : public Applier {
 public:
  AlgebraicApplier(const Options& options, xla::HloComputation* computation)
      : simplifier_(options), visitor_(options, &simplifier_, computation) {}

  absl::StatusOr<bool> At(Place place) override { return visitor_.At(place.instruction); }

 private:
  xla::AlgebraicSimplifier simplifier_;
  PointedVisitor visitor_;
};

// Instructions at which the simplifier ends the process or is wrong, against which a whole pass
// takes precautions.
bool IsUnsafe(const xla::HloInstruction* instruction) {
  return IsEmptySlice(*instruction) || IsDynamicConstant(*instruction) ||
         IsCroppingWindow(*instruction) || PadsWhatIsCropped(*instruction) ||
         SlicesSliceUnclamped(*instruction) ||
         absl::c_any_of(instruction->operands(), [](const xla::HloInstruction* operand) {
           return IsDynamicConstant(*operand) || SlicesSliceUnclamped(*operand);
         });
}

// The simplifier takes the indices of a dynamic slice for scalars, and reads beyond the operands
// of one that has them in a vector, the older form.
bool HasVectorIndices(const xla::HloInstruction* instruction) {
  const int first = instruction->opcode() == xla::HloOpcode::kDynamicSlice         ? 1
                    : instruction->opcode() == xla::HloOpcode::kDynamicUpdateSlice ? 2
                                                                                   : -1;
  return first > 0 && instruction->operand_count() > first &&
         instruction->operand(first)->shape().dimensions().size() > 0;
}

class AlgebraicRule : public Rule {
 public:
  AlgebraicRule(std::string name, std::string description, const Options& options)
      : Rule(std::move(name), "AlgebraicSimplifierVisitor", std::move(description)),
        options_(options) {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() == xla::HloOpcode::kParameter) continue;
      if (HasVectorIndices(instruction) || IsUnsafe(instruction)) continue;
      places.push_back({instruction});
    }
  }

  std::unique_ptr<Applier> For(xla::HloComputation* computation) const override {
    return std::make_unique<AlgebraicApplier>(options_, computation);
  }

  Reach reach() const override { return {.operands = 4, .users = 2}; }

 private:
  Options options_;
};

}  // namespace

const RuleTopic kAlgebraicRules(0, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<AlgebraicRule>(
      "algebraic", "Simplifies an instruction by what its operands are.", Options()));
});

}  // namespace hlograph
