#include "hlograph/native/execution/evaluate.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hlograph/native/execution/arbitrary_function.h"
#include "hlograph/native/execution/signature.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

// A copy that the evaluator of this version takes and evaluates rightly.
absl::StatusOr<std::unique_ptr<xla::HloModule>> ForEvaluator(const xla::HloModule& module) {
  std::unique_ptr<xla::HloModule> copy = module.Clone(/*suffix=*/"");
  // It gathers the wrong elements where a gather has batching dimensions.
  const absl::Status normalized =
      FindPass("batched_gather_scatter_normalizer")->make()->Run(copy.get()).status();
  if (!normalized.ok()) return normalized;
  // It permutes layouts as it transposes, puts them right only where an
  // instruction has a layout, and refuses arguments of a computation in another
  // layout than its parameters'.
  for (xla::HloComputation* computation : copy->computations()) {
    for (xla::HloInstruction* instruction : computation->instructions()) {
      // The shape of a constant is that of its literal.
      if (instruction->opcode() == xla::HloOpcode::kConstant) continue;
      xla::LayoutUtil::SetToDefaultLayout(instruction->mutable_shape());
    }
  }
  return copy;
}

using Computations = absl::flat_hash_set<const xla::HloComputation*>;

// Adds what `computation` calls: to `control` along loops, calls and conditionals
// of the entry, to `inner` in the computations of reductions, sorts and the like.
void Collect(const xla::HloComputation* computation, bool is_control, Computations& control,
             Computations& inner) {
  if (!(is_control ? control : inner).insert(computation).second) return;
  for (const xla::HloInstruction* instruction : computation->instructions()) {
    const xla::HloOpcode opcode = instruction->opcode();
    const bool stays =
        is_control && (opcode == xla::HloOpcode::kWhile || opcode == xla::HloOpcode::kCall ||
                       opcode == xla::HloOpcode::kConditional);
    for (const xla::HloComputation* called : instruction->called_computations()) {
      Collect(called, stays, control, inner);
    }
  }
}

// XLA's evaluator, which stops with an error once its time is over. The time is
// looked at before each instruction of the entry and of loops, calls and
// conditionals; not in what a reduction or a sort does with its elements, where
// XLA takes an error for impossible and aborts.
class TimedEvaluator : public xla::HloEvaluator {
 public:
  TimedEvaluator(absl::Time deadline, const Computations& interruptible)
      : deadline_(deadline), interruptible_(interruptible) {
    // Reductions instruction by instruction: the fast path sums in float64.
    set_reduce_use_fast_path(false);
    set_custom_call_handler(EvaluateCustomCall);
  }

  std::unique_ptr<xla::HloEvaluator> CreateEmbedded(int64_t /*max_loop_iterations*/) override {
    return std::make_unique<TimedEvaluator>(deadline_, interruptible_);
  }

 protected:
  absl::Status Preprocess(const xla::HloInstruction* instruction) override {
    if (absl::Now() > deadline_ && interruptible_.contains(instruction->parent())) {
      return absl::DeadlineExceededError("the reference evaluator took longer than it may");
    }
    return xla::HloEvaluator::Preprocess(instruction);
  }

 private:
  const absl::Time deadline_;
  const Computations& interruptible_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> Evaluate(const xla::HloModule& module,
                                                  absl::Span<const absl::string_view> inputs,
                                                  double max_seconds) {
  absl::StatusOr<Signature> signature = SignatureOf(module);
  if (!signature.ok()) return signature.status();
  const std::vector<xla::Shape> shapes = ParameterShapes(module);
  absl::StatusOr<std::vector<xla::Literal>> literals = MakeLiterals(shapes, *signature, inputs);
  if (!literals.ok()) return literals.status();
  absl::StatusOr<std::unique_ptr<xla::HloModule>> copy = ForEvaluator(module);
  if (!copy.ok()) return copy.status();
  Computations control, inner;
  Collect((*copy)->entry_computation(), /*is_control=*/true, control, inner);
  absl::erase_if(control, [&](const xla::HloComputation* c) { return inner.contains(c); });
  TimedEvaluator evaluator(absl::Now() + absl::Seconds(max_seconds), control);
  absl::StatusOr<xla::Literal> result = evaluator.Evaluate(**copy, *literals);
  if (!result.ok()) return result.status();
  return LeafBytes(*result);
}

}  // namespace hlograph
