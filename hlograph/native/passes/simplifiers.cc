// Passes that clean up, fold and canonicalize.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hlograph/native/passes/precautions.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/collectives/all_reduce_combiner.h"
#include "xla/hlo/transforms/expanders/optimization_barrier_expander.h"
#include "xla/hlo/transforms/simplifiers/batch_dot_simplification.h"
#include "xla/hlo/transforms/simplifiers/broadcast_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/dynamic_dimension_simplifier.h"
#include "xla/hlo/transforms/simplifiers/gather_simplifier.h"
#include "xla/hlo/transforms/simplifiers/hlo_constant_folding.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/reduce_window_resizer.h"
#include "xla/hlo/transforms/simplifiers/reshape_mover.h"
#include "xla/hlo/transforms/simplifiers/simplify_fp_conversions.h"
#include "xla/hlo/transforms/simplifiers/slice_sinker.h"
#include "xla/hlo/transforms/simplifiers/sort_simplifier.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.h"
#include "xla/service/hlo_cse.h"
#include "xla/service/scatter_simplifier.h"
#include "xla/service/sharding_remover.h"
#include "xla/service/topk_rewriter.h"
#include "xla/service/transpose_folding.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

bool SortsF32(const xla::HloSortInstruction* sort, int64_t /*k*/) {
  return sort->operand(0)->shape().element_type() == xla::F32;
}

void AddCleanUp(std::vector<Pass>& passes) {
  passes.push_back({"cse",
                    "HloCSE",
                    "Merges instructions that compute the same value.",
                    {{"is_layout_sensitive", "false"}},
                    [] { return std::make_unique<xla::HloCSE>(/*is_layout_sensitive=*/false); },
                    PassNumerics::kExact});
  passes.push_back({"cse:ignore-control",
                    "HloCSE",
                    "Merges equal instructions also where they have control dependencies.",
                    {{"is_layout_sensitive", "false"}, {"ignore_control_dependencies", "true"}},
                    [] {
                      return std::make_unique<xla::HloCSE>(/*is_layout_sensitive=*/false,
                                                           /*ignore_control_dependencies=*/true);
                    },
                    PassNumerics::kExact});
  passes.push_back({"dce",
                    "HloDCE",
                    "Removes instructions and computations without users.",
                    {},
                    [] { return std::make_unique<xla::HloDCE>(); },
                    PassNumerics::kExact});
  passes.push_back({"tuple-simplifier",
                    "TupleSimplifier",
                    "Removes tuples that are only taken apart again.",
                    {},
                    [] { return std::make_unique<xla::TupleSimplifier>(); },
                    PassNumerics::kExact,
                    {Opcode::kTuple}});
  passes.push_back({"tuple-simplifier:inner",
                    "TupleSimplifier",
                    "The same, in all computations but the entry.",
                    {{"exclude_entry_computation", "true"}},
                    [] { return std::make_unique<xla::TupleSimplifier>(true); },
                    PassNumerics::kExact,
                    {Opcode::kTuple}});
  passes.push_back({"zero_sized_hlo_elimination",
                    "ZeroSizedHloElimination",
                    "Replaces arrays without elements by constants.",
                    {},
                    [] { return std::make_unique<xla::ZeroSizedHloElimination>(); },
                    PassNumerics::kExact});
  passes.push_back({"sharding-remover",
                    "ShardingRemover",
                    "Removes sharding custom calls, for one partition.",
                    {},
                    [] { return std::make_unique<xla::ShardingRemover>(); },
                    PassNumerics::kExact,
                    {Opcode::kCustomCall}});
  passes.push_back({"cse_barrier_expander",
                    "OptimizationBarrierExpander",
                    "Removes optimization barriers (as those of rematerialization).",
                    {},
                    [] { return std::make_unique<xla::OptimizationBarrierExpander>(); },
                    PassNumerics::kExact,
                    {Opcode::kOptimizationBarrier}});
}

void AddFolding(std::vector<Pass>& passes) {
  passes.push_back({"constant_folding",
                    "HloConstantFolding",
                    "Evaluates instructions whose operands are constants.",
                    {{"level", "default"}},
                    [] { return std::make_unique<xla::HloConstantFolding>(); },
                    PassNumerics::kReassociating,
                    {},
                    "",
                    {{IsScalarSlice, kSplitter},
                     {FoldsToDynamicConstant, "", "does not fold constants of dynamic size"}}});
  // Level kAggressive is left out: XLA then evaluates loops however long they run, for ever if they
  // do not end, and arrays of any size.
  passes.push_back({"simplify-fp-conversions",
                    "SimplifyFPConversions",
                    "Merges chains of floating-point converts.",
                    {},
                    [] { return std::make_unique<xla::SimplifyFPConversions>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kConvert}});
  passes.push_back({"transpose-folding",
                    "TransposeFolding",
                    "Folds transposes of rows and columns into dots, and into convolutions.",
                    {{"transposable_conv_operands", "always"}},
                    [] { return std::make_unique<xla::TransposeFolding>(); },
                    PassNumerics::kReassociating,
                    {Opcode::kTranspose}});
  passes.push_back({"transpose-folding:dot",
                    "TransposeFolding",
                    "Folds transposes of rows and columns into dots only.",
                    {{"transposable_conv_operands", "never"}},
                    [] {
                      return std::make_unique<xla::TransposeFolding>(
                          xla::TransposeFolding::IsRowColumnTransposeDotOperand,
                          xla::TransposeFolding::NeverFoldTranspose);
                    },
                    PassNumerics::kReassociating,
                    {Opcode::kTranspose}});
  passes.push_back({"reshape-mover",
                    "ReshapeMover",
                    "Moves reshapes and transposes past elementwise operations.",
                    {},
                    [] { return std::make_unique<xla::ReshapeMover>(); },
                    PassNumerics::kExact,
                    {Opcode::kReshape, Opcode::kTranspose}});
  passes.push_back(
      {"reshape-mover:cheap-broadcast",
       "ReshapeMover",
       "The same, taking a reshape of a rank-1 broadcast as free.",
       {{"reshape_of_1d_broadcast_is_cheap", "true"}},
       [] { return std::make_unique<xla::ReshapeMover>(xla::ReshapeMoverOptions{true}); },
       PassNumerics::kExact,
       {Opcode::kReshape, Opcode::kTranspose}});
  passes.push_back({"slice-sinker",
                    "SliceSinker",
                    "Moves equal slices below the elementwise operations that use them.",
                    {},
                    [] { return std::make_unique<xla::SliceSinker>(); },
                    PassNumerics::kExact,
                    {Opcode::kSlice}});
}

void AddCanonical(std::vector<Pass>& passes) {
  passes.push_back({"simplify-sorts",
                    "SortSimplifier",
                    "Removes sort operands that nothing uses.",
                    {},
                    [] { return std::make_unique<xla::SortSimplifier>(); },
                    PassNumerics::kExact,
                    {Opcode::kSort}});
  passes.push_back({"gather_simplifier",
                    "GatherSimplifier",
                    "Brings gathers into a canonical form with transposes and reshapes.",
                    {},
                    [] { return std::make_unique<xla::GatherSimplifier>(); },
                    PassNumerics::kExact,
                    {Opcode::kGather, Opcode::kScatter},
                    kNormalizer});
  passes.push_back({"scatter_simplifier",
                    "ScatterSimplifier",
                    "Brings scatters into a canonical form with transposes and reshapes.",
                    {},
                    [] { return std::make_unique<xla::ScatterSimplifier>(); },
                    PassNumerics::kExact,
                    {Opcode::kGather, Opcode::kScatter},
                    kNormalizer});
  passes.push_back({"batch-dot-simplification",
                    "BatchDotSimplification",
                    "Removes batch dimensions of size one from dots.",
                    {},
                    [] { return std::make_unique<xla::BatchDotSimplification>(); },
                    PassNumerics::kReassociating,
                    {Opcode::kDot}});
  passes.push_back({"broadcast_canonicalizer",
                    "BroadcastCanonicalizer",
                    "Sorts broadcast dimensions, with a transpose where needed.",
                    {},
                    [] { return std::make_unique<xla::BroadcastCanonicalizer>(); },
                    PassNumerics::kExact,
                    {Opcode::kBroadcast}});
  passes.push_back({"dynamic-dimension-simplifier",
                    "DynamicDimensionSimplifier",
                    "Simplifies the arithmetic of dynamic dimension sizes.",
                    {},
                    [] { return std::make_unique<xla::DynamicDimensionSimplifier>(); },
                    PassNumerics::kExact});
  passes.push_back({"reduce-window-resizer",
                    "ReduceWindowResizer",
                    "Gives reduce-windows of rank one a second dimension.",
                    {},
                    [] { return std::make_unique<xla::ReduceWindowResizer>(); },
                    PassNumerics::kReassociating,
                    {Opcode::kReduceWindow}});
  passes.push_back({"topk-rewriter",
                    "TopkRewriter",
                    "Turns a sort whose first k are kept into a top-k custom call.",
                    {{"is_profitable_to_convert", "float32 only"}},
                    [] { return std::make_unique<xla::TopkRewriter>(SortsF32); },
                    PassNumerics::kExact,
                    {Opcode::kSort}});
  passes.push_back(
      {"all-reduce-combiner",
       "AllReduceCombiner",
       "Combines small all-reduces into one.",
       {{"combine_threshold_in_bytes", "31457280"}, {"combine_threshold_count", "256"}},
       [] {
         return std::make_unique<xla::AllReduceCombiner>(
             /*combine_threshold_in_bytes=*/int64_t{30} << 20,
             /*combine_threshold_count=*/256);
       },
       PassNumerics::kExact,
       {Opcode::kAllReduce, Opcode::kReduceScatter}});
}

}  // namespace

void AddSimplifierPasses(std::vector<Pass>& passes) {
  AddCleanUp(passes);
  AddFolding(passes);
  AddCanonical(passes);
}

}  // namespace hlograph
