// The algebraic simplifier and its variants.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/passes/precautions.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/transforms/simplifiers/algebraic_simplifier.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Options = xla::AlgebraicSimplifierOptions;

// Beside these, every variant requires kSplitter: the simplifier takes the indices of a dynamic
// slice for scalars, and reads beyond the operands of one that has them in a vector, the older
// form.
std::vector<Precaution> Precautions() {
  return {{IsEmptySlice, "zero_sized_hlo_elimination"},
          {IsDynamicConstant, "", "does not take constants of dynamic size"},
          {IsCroppingWindow, "", "does not take reduce-windows that only crop"},
          {PadsWhatIsCropped, "", "does not take windows that pad what a pad crops"}};
}

// Clamps an index of a dynamic slice or update to those from 0 to the largest one.
absl::Status ClampIndex(xla::HloInstruction* instruction, int64_t operand, int64_t largest) {
  xla::HloInstruction* const index = instruction->mutable_operand(operand);
  const xla::PrimitiveType type = index->shape().element_type();
  const int bits = xla::primitive_util::BitWidth(type) -
                   (xla::primitive_util::IsSignedIntegralType(type) ? 1 : 0);
  if (bits < 63) largest = std::min(largest, (int64_t{1} << bits) - 1);
  xla::HloComputation* const computation = instruction->parent();
  absl::InlinedVector<xla::HloInstruction*, 2> ends;
  for (const int64_t end : {int64_t{0}, largest}) {
    absl::StatusOr<xla::Literal> literal = xla::LiteralUtil::CreateR0<int64_t>(end).Convert(type);
    if (!literal.ok()) return literal.status();
    ends.push_back(
        computation->AddInstruction(xla::HloInstruction::CreateConstant(*std::move(literal))));
  }
  return instruction->ReplaceOperandWith(
      operand, computation->AddInstruction(xla::HloInstruction::CreateTernary(
                   index->shape(), xla::HloOpcode::kClamp, ends[0], index, ends[1])));
}

absl::Status ClampIndices(xla::HloInstruction* instruction) {
  const bool updates = instruction->opcode() == xla::HloOpcode::kDynamicUpdateSlice;
  const xla::Shape& whole = instruction->operand(0)->shape();
  const xla::Shape& part = updates ? instruction->operand(1)->shape() : instruction->shape();
  const int64_t first = updates ? 2 : 1;
  for (int64_t at = 0; at < static_cast<int64_t>(whole.dimensions().size()); ++at) {
    const int64_t largest = whole.dimensions(at) - part.dimensions(at);
    if (IsInRange(instruction->operand(first + at), largest)) continue;
    absl::Status clamped = ClampIndex(instruction, first + at, largest);
    if (!clamped.ok()) return clamped;
  }
  return absl::OkStatus();
}

// Clamps the indices of dynamic slices of dynamic slices, which XLA joins without their clamps.
absl::StatusOr<bool> ClampSlicesOfSlices(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (!SlicesSliceUnclamped(*instruction)) continue;
      for (xla::HloInstruction* each : {instruction->mutable_operand(0), instruction}) {
        absl::Status clamped = ClampIndices(each);
        if (!clamped.ok()) return clamped;
      }
      changed = true;
    }
  }
  return changed;
}

// The simplifier, on a module whose joined slices are the same with and without it.
class Simplifier : public xla::HloModulePass {
 public:
  explicit Simplifier(const Options& options) : options_(options) {}

  absl::string_view name() const override { return "algsimp"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override {
    absl::StatusOr<bool> clamped = ClampSlicesOfSlices(module, execution_threads);
    if (!clamped.ok()) return clamped;
    absl::StatusOr<bool> changed =
        xla::AlgebraicSimplifier(options_).Run(module, execution_threads);
    if (!changed.ok()) return changed;
    return *clamped || *changed;
  }

 private:
  Options options_;
};

void Add(std::vector<Pass>& passes, const std::string& variant, const std::string& description,
         std::vector<std::pair<std::string, std::string>> shown,
         std::function<void(Options&)> set) {
  Pass pass;
  pass.name = variant.empty() ? "algsimp" : "algsimp:" + variant;
  pass.xla_class = "AlgebraicSimplifier";
  pass.description = description;
  pass.options = std::move(shown);
  pass.numerics = PassNumerics::kApproximate;
  pass.requires_pass = kSplitter;
  pass.precautions = Precautions();
  pass.make = [set = std::move(set)] {
    Options options;
    set(options);
    return std::make_unique<Simplifier>(options);
  };
  passes.push_back(std::move(pass));
}

// Raises slices and reductions through dots, and clears away what that leaves.
//
// XLA builds the new dot before it decides against it, and then neither removes it nor reports a
// change; the next visit builds another one (AlgebraicSimplifierVisitor::HandleSlice). With no dead
// code to begin with, all that is dead afterwards is of this kind.
class RaiseThroughDot : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "algsimp"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override {
    Options options;
    options.set_raise_slice_and_reduce_through_dot(true);
    options.set_raise_slice_and_reduce_through_dot_threshold(1.5);
    absl::StatusOr<bool> had_dead = xla::HloDCE().Run(module, execution_threads);
    if (!had_dead.ok()) return had_dead;
    const int64_t before = module->instruction_count();
    absl::StatusOr<bool> changed = Simplifier(options).Run(module, execution_threads);
    if (!changed.ok()) return changed;
    absl::StatusOr<bool> cleared = xla::HloDCE().Run(module, execution_threads);
    if (!cleared.ok()) return cleared;
    return *had_dead || *changed || module->instruction_count() != before;
  }
};

}  // namespace

void AddAlgebraicPasses(std::vector<Pass>& passes) {
  Add(passes, "", "Algebraic rewrites with XLA's default options.", {}, [](Options&) {});
  Add(passes, "cpu", "Algebraic rewrites with XLA:CPU's options.",
      {{"enable_dot_strength_reduction", "false"},
       {"minmax_propagate_nan", "false"},
       {"supports_non_canonical_dots", "false"},
       {"executing_on_cpu", "true"}},
      [](Options& options) {
        options.set_enable_dot_strength_reduction(false);
        options.set_minmax_propagate_nan(false);
        options.set_supports_non_canonical_dots(false);
        options.set_executing_on_cpu(true);
      });
  Add(passes, "no-dot-strength-reduction", "Keeps dots: no rewrite into multiply and reduce.",
      {{"enable_dot_strength_reduction", "false"}, {"enable_dot_to_multiply_rewrite", "false"}},
      [](Options& options) {
        options.set_enable_dot_strength_reduction(false);
        options.set_enable_dot_to_multiply_rewrite(false);
      });
  Add(passes, "no-sink-broadcast", "Does not move broadcasts below elementwise operations.",
      {{"enable_sink_broadcast", "false"}},
      [](Options& options) { options.set_enable_sink_broadcast(false); });
  Add(passes, "no-reduce-of-reshape", "Keeps reshapes below reductions.",
      {{"enable_reduce_of_reshape", "false"}},
      [](Options& options) { options.set_enable_reduce_of_reshape(false); });
  // use_associative_reordering is left out: XLA's pass then changes the module
  // while it reports that it did not, and adds instructions on every run.
  passes.push_back({"algsimp:raise-through-dot",
                    "AlgebraicSimplifier",
                    "Also raises slices and reductions through dots, and removes dead code.",
                    {{"raise_slice_and_reduce_through_dot", "true"},
                     {"raise_slice_and_reduce_through_dot_threshold", "1.5"}},
                    [] { return std::make_unique<RaiseThroughDot>(); },
                    PassNumerics::kApproximate,
                    {},
                    kSplitter,
                    Precautions()});
  Add(passes, "unconditional-reduce",
      "Also simplifies reduce of transpose or reshape where those have other users.",
      {{"unconditionally_simplify_reduce_of_transpose_or_reshape", "true"}}, [](Options& options) {
        options.set_unconditionally_simplify_reduce_of_transpose_or_reshape(true);
      });
  Add(passes, "scalar-multiply", "Also moves scalar multiplies to the smallest side of a dot.",
      {{"enable_scalar_multiply_reduction", "true"}},
      [](Options& options) { options.set_enable_scalar_multiply_reduction(true); });
  Add(passes, "conv-add-multiply", "Also reorders convolution, add and multiply.",
      {{"enable_conv_add_multiply_reorder", "true"}},
      [](Options& options) { options.set_enable_conv_add_multiply_reorder(true); });
  Add(passes, "convert-folding", "Also folds converts into constants.",
      {{"use_convert_constant_folding", "true"}},
      [](Options& options) { options.set_use_convert_constant_folding(true); });
  Add(passes, "reduce-precision", "Also removes reduce-precisions that change nothing.",
      {{"enable_remove_no_op_reduce_precision", "true"}},
      [](Options& options) { options.set_enable_remove_no_op_reduce_precision(true); });
  Add(passes, "conditional", "Also simplifies conditionals of known predicate.",
      {{"enable_conditional_simplification", "true"}},
      [](Options& options) { options.set_enable_conditional_simplification(true); });
  Add(passes, "one-pass", "Visits each computation once instead of to a fixed point.",
      {{"run_to_fixed_point", "false"}},
      [](Options& options) { options.set_run_to_fixed_point(false); });
}

}  // namespace hlograph
