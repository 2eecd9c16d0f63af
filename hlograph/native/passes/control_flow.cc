// Passes over calls, loops and conditionals.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlograph/native/passes/precautions.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/conditional_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/while_loop_trip_count_annotator.h"
#include "xla/service/call_graph.h"
#include "xla/service/call_inliner.h"
#include "xla/service/conditional_simplifier.h"
#include "xla/service/conditional_to_select.h"
#include "xla/service/map_inliner.h"
#include "xla/service/while_loop_constant_sinking.h"
#include "xla/service/while_loop_invariant_code_motion.h"
#include "xla/service/while_loop_simplifier.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

std::vector<Precaution> MiscountedLoops() {
  return {{IsMiscountedLoop, "", "does not take loops whose iterations XLA counts wrongly"}};
}

// Most instructions of a computation that call-inliner:small inlines at several places, besides
// parameters, which inlining does not copy. Of 16 to 64, 32 left the fewest instructions on train
// modules in hlograph-simplify.
constexpr int64_t kSmallComputation = 32;

std::unique_ptr<xla::CallInliner> SmallCallInliner() {
  using Policy = xla::CallInliner::InlineOverridePolicy;
  auto policy = [](const xla::CallGraph& graph, const xla::HloInstruction* call) {
    const xla::HloComputation* callee = call->to_apply();
    const int64_t size = callee->instruction_count() - callee->num_parameters();
    const bool is_called_once = graph.GetNode(callee).caller_callsites().size() == 1;
    return is_called_once || size <= kSmallComputation ? Policy::kAllowInline
                                                       : Policy::kProhibitInline;
  };
  return std::make_unique<xla::CallInliner>(/*single_call_site=*/false, /*update_domain=*/false,
                                            /*composites_to_preserve=*/
                                            absl::flat_hash_set<std::string>(),
                                            /*uniquify_channel_ids=*/false, policy);
}

bool IsCall(const xla::HloInstruction& instruction) {
  return instruction.opcode() == Opcode::kCall;
}

bool CallsComputations(const xla::HloInstruction& instruction) {
  return !instruction.called_computations().empty();
}

void AddCalls(std::vector<Pass>& passes) {
  passes.push_back({"call-inliner",
                    "CallInliner",
                    "Inlines calls.",
                    {},
                    [] { return std::make_unique<xla::CallInliner>(); },
                    PassNumerics::kExact,
                    {Opcode::kCall},
                    "",
                    {},
                    IsCall});
  passes.push_back({"call-inliner:single-call-site",
                    "CallInliner",
                    "Inlines computations that are called once.",
                    {{"single_call_site", "true"}},
                    [] { return std::make_unique<xla::CallInliner>(/*single_call_site=*/true); },
                    PassNumerics::kExact,
                    {Opcode::kCall}});
  passes.push_back(
      {"call-inliner:small",
       "CallInliner",
       "Inlines computations that are called once or have at most 32 instructions.",
       {{"override_policy", "one call, or at most 32 instructions besides parameters"}},
       SmallCallInliner,
       PassNumerics::kExact,
       {Opcode::kCall}});
  passes.push_back({"map-inline",
                    "MapInliner",
                    "Replaces maps of one operation by it.",
                    {},
                    [] { return std::make_unique<xla::MapInliner>(); },
                    PassNumerics::kExact,
                    {Opcode::kMap}});
  passes.push_back({"flatten-call-graph",
                    "FlattenCallGraph",
                    "Copies computations that are called from several places.",
                    {},
                    [] { return std::make_unique<xla::FlattenCallGraph>(); },
                    PassNumerics::kExact,
                    {},
                    "",
                    {},
                    CallsComputations});
}

void AddLoops(std::vector<Pass>& passes) {
  passes.push_back({"simplify-while-loops",
                    "WhileLoopSimplifier",
                    "Removes loops of known trip count and what loops carry in vain.",
                    {},
                    [] { return std::make_unique<xla::WhileLoopSimplifier>(); },
                    PassNumerics::kExact,
                    {Opcode::kWhile},
                    "",
                    MiscountedLoops()});
  passes.push_back({"simplify-while-loops:compare",
                    "WhileLoopSimplifier",
                    "Also replaces comparisons of the loop counter of known result.",
                    {{"simplify_compare_instrs", "true"}},
                    [] { return std::make_unique<xla::WhileLoopSimplifier>(true); },
                    PassNumerics::kExact,
                    {Opcode::kWhile},
                    "",
                    MiscountedLoops()});
  passes.push_back({"while-loop-constant-sinking",
                    "WhileLoopConstantSinking",
                    "Moves constants that a loop carries into its body.",
                    {},
                    [] { return std::make_unique<xla::WhileLoopConstantSinking>(); },
                    PassNumerics::kExact,
                    {Opcode::kWhile}});
  passes.push_back({"while-loop-constant-sinking:broadcast",
                    "WhileLoopConstantSinking",
                    "Also moves broadcasts of constants.",
                    {{"sink_broadcast_of_constants", "true"}},
                    [] { return std::make_unique<xla::WhileLoopConstantSinking>(true); },
                    PassNumerics::kExact,
                    {Opcode::kWhile}});
  passes.push_back({"while-loop-constant-sinking:scalar",
                    "WhileLoopConstantSinking",
                    "Moves scalar constants only.",
                    {{"sink_only_scalar_constants", "true"}},
                    [] { return std::make_unique<xla::WhileLoopConstantSinking>(false, true); },
                    PassNumerics::kExact,
                    {Opcode::kWhile}});
  passes.push_back({"while-loop-invariant-code-motion",
                    "WhileLoopInvariantCodeMotion",
                    "Moves what does not change between iterations out of loops.",
                    {},
                    [] { return std::make_unique<xla::WhileLoopInvariantCodeMotion>(); },
                    PassNumerics::kExact,
                    {Opcode::kWhile}});
  passes.push_back({"while-loop-invariant-code-motion:all",
                    "WhileLoopInvariantCodeMotion",
                    "Also moves constants and reshapes.",
                    {{"hoist_constants", "true"}, {"hoist_reshapes", "true"}},
                    [] {
                      return std::make_unique<xla::WhileLoopInvariantCodeMotion>(
                          /*hoist_constants=*/true,
                          /*hoist_reshapes=*/true);
                    },
                    PassNumerics::kExact,
                    {Opcode::kWhile}});
  passes.push_back({"while-loop-trip-count-annotator",
                    "WhileLoopTripCountAnnotator",
                    "Writes known trip counts into the loops' backend config.",
                    {},
                    [] { return std::make_unique<xla::WhileLoopTripCountAnnotator>(); },
                    PassNumerics::kExact,
                    {Opcode::kWhile}});
}

void AddConditionals(std::vector<Pass>& passes) {
  passes.push_back({"simplify-conditional",
                    "ConditionalSimplifier",
                    "Removes conditionals of known predicate and what they pass in vain.",
                    {},
                    [] { return std::make_unique<xla::ConditionalSimplifier>(); },
                    PassNumerics::kExact,
                    {Opcode::kConditional}});
  passes.push_back({"conditional-canonicalizer",
                    "ConditionalCanonicalizer",
                    "Gives conditionals tuple results.",
                    {},
                    [] { return std::make_unique<xla::ConditionalCanonicalizer>(); },
                    PassNumerics::kExact,
                    {Opcode::kConditional}});
  passes.push_back({"conditional-to-select",
                    "ConditionalToSelect",
                    "Turns conditionals inside maps and reductions into selects.",
                    {},
                    [] { return std::make_unique<xla::ConditionalToSelect>(); },
                    PassNumerics::kExact,
                    {Opcode::kConditional}});
}

}  // namespace

void AddControlFlowPasses(std::vector<Pass>& passes) {
  AddCalls(passes);
  AddLoops(passes);
  AddConditionals(passes);
}

}  // namespace hlograph
