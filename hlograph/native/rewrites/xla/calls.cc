// Inlining of one call.
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/call_inliner.h"

namespace hlograph {
namespace {

class InlineApplier : public Applier {
 public:
  absl::StatusOr<bool> At(Place place) override {
    xla::HloInstruction* const call = place.instruction;
    if (!xla::CallInliner().IsInlineableCallOp(call)) return false;
    auto inlined = xla::CallInliner::Inline(call);
    if (!inlined.ok()) return inlined.status();
    return true;
  }
};

class InlineRule : public Rule {
 public:
  InlineRule() : Rule("inline", "CallInliner::Inline", "Puts what a call computes in its place.") {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    const xla::CallInliner inliner;
    ProposeWhere(
        computation,
        [&](xla::HloInstruction* instruction) { return inliner.IsInlineableCallOp(instruction); },
        places);
  }

  std::unique_ptr<Applier> For(xla::HloComputation* /*computation*/) const override {
    return std::make_unique<InlineApplier>();
  }
};

}  // namespace

const RuleTopic kCallRules(2, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<InlineRule>());
});

}  // namespace hlograph
