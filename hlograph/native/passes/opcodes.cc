// Which opcodes each pass needs to find something to do.
//
// From what XLA's passes look for, held against the corpus by
// tests/hlograph/transforms/test_registry.py: no entry changes a module without any of its
// opcodes. Entries that are not here may act on any module, or go by types and
// shapes (float normalization, dynamic dimensions).
#include <string>
#include <unordered_map>
#include <vector>

#include "hlograph/native/passes/registry.h"

namespace hlograph {
namespace {

using Opcodes = std::vector<std::string>;

void Set(std::unordered_map<std::string, Opcodes>& table, const std::vector<std::string>& names,
         const Opcodes& opcodes) {
  for (const std::string& name : names) table[name] = opcodes;
}

void AddSimplifiers(std::unordered_map<std::string, Opcodes>& table) {
  Set(table, {"tuple-simplifier", "tuple-simplifier:inner"}, {"tuple"});
  Set(table, {"sharding-remover"}, {"custom-call"});
  Set(table, {"cse_barrier_expander"}, {"opt-barrier"});
  Set(table, {"simplify-fp-conversions"}, {"convert"});
  Set(table, {"transpose-folding", "transpose-folding:dot"}, {"transpose"});
  Set(table, {"reshape-mover", "reshape-mover:cheap-broadcast"}, {"reshape", "transpose"});
  Set(table, {"slice-sinker"}, {"slice"});
  Set(table, {"simplify-sorts", "topk-rewriter"}, {"sort"});
  Set(table, {"batch-dot-simplification", "dot_decomposer"}, {"dot"});
  Set(table, {"broadcast_canonicalizer"}, {"broadcast"});
  Set(table, {"reduce-window-resizer"}, {"reduce-window"});
  Set(table, {"all-reduce-combiner", "all-reduce-promotion"}, {"all-reduce", "reduce-scatter"});
}

void AddControlFlow(std::unordered_map<std::string, Opcodes>& table) {
  Set(table, {"call-inliner", "call-inliner:single-call-site"}, {"call"});
  Set(table, {"map-inline"}, {"map"});
  Set(table,
      {"simplify-while-loops", "simplify-while-loops:compare", "while-loop-constant-sinking",
       "while-loop-constant-sinking:broadcast", "while-loop-constant-sinking:scalar",
       "while-loop-invariant-code-motion", "while-loop-invariant-code-motion:all",
       "while-loop-trip-count-annotator"},
      {"while"});
  Set(table, {"simplify-conditional", "conditional-canonicalizer", "conditional-to-select"},
      {"conditional"});
}

void AddExpanders(std::unordered_map<std::string, Opcodes>& table) {
  // The normalizer of both runs before each of these.
  Set(table,
      {"batched_gather_scatter_normalizer", "gather_simplifier", "gather_expander",
       "gather_expander:simple", "scatter_simplifier", "scatter_expander",
       "scatter_expander:simple", "scatter_expander:indeterministic"},
      {"gather", "scatter"});
  Set(table, {"cholesky_expander"}, {"cholesky"});
  Set(table, {"qr_expander", "eigh_expander"}, {"custom-call"});
  Set(table, {"triangular_solve_expander"}, {"triangular-solve"});
  Set(table,
      {"convolution-group-converter", "convolution-group-converter:cpu",
       "convolution-group-converter:batch"},
      {"convolution"});
  Set(table, {"operand_upcaster", "result_caster"},
      {"dot", "convolution", "ragged-dot", "scaled-dot"});
  Set(table, {"change-op-data-type:f16-f32"}, {"dot", "convolution"});
  Set(table, {"select_and_scatter_expander"}, {"select-and-scatter"});
  Set(table, {"dynamic-index-splitter"}, {"dynamic-slice", "dynamic-update-slice"});
  Set(table, {"tree_reduction_rewriter"}, {"reduce", "reduce-window"});
  Set(table, {"reduce-window-rewriter"}, {"reduce-window"});
  Set(table, {"topk-decomposer"}, {"topk", "custom-call"});
  Set(table, {"topk-decomposer:operation"}, {"topk"});
  Set(table, {"batchnorm_expander"},
      {"batch-norm-training", "batch-norm-inference", "batch-norm-grad"});
  Set(table, {"batchnorm_expander:training"}, {"batch-norm-training"});
  Set(table, {"batchnorm_expander:inference"}, {"batch-norm-inference"});
  Set(table, {"batchnorm_expander:grad"}, {"batch-norm-grad"});
  Set(table, {"all_to_all_decomposer"}, {"all-to-all"});
  Set(table, {"logistic-expander"}, {"logistic"});
  Set(table, {"comparison-expander"}, {"compare"});
  Set(table, {"bitcast_dtypes_expander"}, {"bitcast-convert"});
  Set(table, {"stochastic_convert_decomposer"}, {"stochastic-convert"});
  Set(table, {"rng-expander"}, {"rng"});
  Set(table, {"rng-bit-generator-expander"}, {"rng-bit-generator"});
}

}  // namespace

void NameOpcodes(std::vector<Pass>& passes) {
  std::unordered_map<std::string, Opcodes> table;
  AddSimplifiers(table);
  AddControlFlow(table);
  AddExpanders(table);
  for (Pass& pass : passes) {
    const auto known = table.find(pass.name);
    if (known != table.end()) pass.acts_on = known->second;
  }
}

}  // namespace hlograph
