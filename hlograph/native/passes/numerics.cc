// What each pass does to the bits of results.
//
// From XLA's semantics (does the pass change an expression over the reals, or
// only where and how often it is computed?), held against the sweep of
// tests/campaigns/sweep_equivalence.py, docs/numerics.md: no entry is better here
// than it was seen there.
#include <string>
#include <unordered_set>
#include <vector>

#include "hlograph/native/passes/registry.h"

namespace hlograph {
namespace {

const std::unordered_set<std::string>& Exact() {
  // The same operations on the same numbers: moved, merged, copied, removed
  // or replaced by integer operations.
  static const auto* const names = new std::unordered_set<std::string>{
      "cse",
      "cse:ignore-control",
      "dce",
      "tuple-simplifier",
      "tuple-simplifier:inner",
      "zero_sized_hlo_elimination",
      "sharding-remover",
      "cse_barrier_expander",
      "reshape-mover",
      "reshape-mover:cheap-broadcast",
      "slice-sinker",
      "simplify-sorts",
      "gather_simplifier",
      "scatter_simplifier",
      "broadcast_canonicalizer",
      "dynamic-dimension-simplifier",
      "topk-rewriter",
      "topk-decomposer",
      "topk-decomposer:operation",
      "all-reduce-combiner",
      "all_to_all_decomposer",
      "call-inliner",
      "call-inliner:single-call-site",
      "map-inline",
      "flatten-call-graph",
      "simplify-while-loops",
      "simplify-while-loops:compare",
      "while-loop-constant-sinking",
      "while-loop-constant-sinking:broadcast",
      "while-loop-constant-sinking:scalar",
      "while-loop-invariant-code-motion",
      "while-loop-invariant-code-motion:all",
      "while-loop-trip-count-annotator",
      "simplify-conditional",
      "conditional-canonicalizer",
      "conditional-to-select",
      "batched_gather_scatter_normalizer",
      "gather_expander",
      "gather_expander:simple",
      "dynamic-index-splitter",
      "comparison-expander",
      "bitcast_dtypes_expander",
      "rng-bit-generator-expander",
  };
  return *names;
}

const std::unordered_set<std::string>& Reassociating() {
  // The same expression over the reals, with its sums in another order or shape:
  // results differ by rounding. Some do so only on some modules: constant folding
  // sums in float64 where the module sums in float32.
  static const auto* const names = new std::unordered_set<std::string>{
      "constant_folding",
      "transpose-folding",
      "transpose-folding:dot",
      "batch-dot-simplification",
      "dot_decomposer",
      "reduce-window-resizer",
      "reduce-window-rewriter",
      "tree_reduction_rewriter",
      "scatter_expander",
      "scatter_expander:simple",
      "scatter_expander:indeterministic",
      "select_and_scatter_expander",
      "convolution-group-converter",
      "convolution-group-converter:cpu",
      "convolution-group-converter:batch",
      "dynamic_padder",
  };
  return *names;
}

}  // namespace

void ClassifyNumerics(std::vector<Pass>& passes) {
  // The rest is approximate: other functions (algsimp turns x^2 into x*x and
  // 1/sqrt into rsqrt), other algorithms (the decompositions), other precisions
  // (bfloat16 in float32), other random numbers.
  for (Pass& pass : passes) {
    if (Exact().count(pass.name) > 0) pass.numerics = "exact";
    if (Reassociating().count(pass.name) > 0) pass.numerics = "reassociating";
  }
}

}  // namespace hlograph
