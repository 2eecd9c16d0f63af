// Passes that replace an operation by simpler ones or by another type.
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/passes/precautions.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/pass/hlo_pass_fix.h"
#include "xla/hlo/transforms/expanders/bitcast_dtypes_expander.h"
#include "xla/hlo/transforms/expanders/cholesky_expander.h"
#include "xla/hlo/transforms/expanders/comparison_expander.h"
#include "xla/hlo/transforms/expanders/dot_decomposer.h"
#include "xla/hlo/transforms/expanders/dynamic_index_splitter.h"
#include "xla/hlo/transforms/expanders/eigh_expander.h"
#include "xla/hlo/transforms/expanders/logistic_expander.h"
#include "xla/hlo/transforms/expanders/qr_expander.h"
#include "xla/hlo/transforms/expanders/rng_bit_generator_expander.h"
#include "xla/hlo/transforms/expanders/rng_expander.h"
#include "xla/hlo/transforms/expanders/stochastic_convert_decomposer.h"
#include "xla/hlo/transforms/operand_upcaster.h"
#include "xla/hlo/transforms/simplifiers/convolution_group_converter.h"
#include "xla/hlo/transforms/simplifiers/float_normalization.h"
#include "xla/hlo/transforms/simplifiers/reduce_window_rewriter.h"
#include "xla/hlo/transforms/simplifiers/result_caster.h"
#include "xla/hlo/transforms/simplifiers/tree_reduction_rewriter.h"
#include "xla/literal_util.h"
#include "xla/service/all_reduce_promotion.h"
#include "xla/service/all_to_all_decomposer.h"
#include "xla/service/batched_gather_scatter_normalizer.h"
#include "xla/service/batchnorm_expander.h"
#include "xla/service/change_op_data_type.h"
#include "xla/service/dynamic_padder.h"
#include "xla/service/float_support.h"
#include "xla/service/gather_expander.h"
#include "xla/service/scatter_expander.h"
#include "xla/service/select_and_scatter_expander.h"
#include "xla/service/topk_rewriter.h"
#include "xla/service/triangular_solve_expander.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// RngExpander with one fixed Philox key.
//
// XLA draws the key of each expanded rng from a generator of the process, so that the pass gives
// another module each time. Numbers still differ from rng to rng: each advances the state.
class FixedKeyRngExpander : public xla::RngExpander {
 protected:
  absl::StatusOr<xla::HloInstruction*> ExpandInstruction(xla::HloInstruction* rng) override {
    xla::HloComputation* const computation = rng->parent();
    absl::StatusOr<xla::HloInstruction*> expanded = RngExpander::ExpandInstruction(rng);
    if (!expanded.ok()) return expanded;
    for (xla::HloInstruction* call : computation->MakeInstructionPostOrder()) {
      if (call->opcode() != Opcode::kCall || call->operand_count() != 4 ||
          call->operand(1)->opcode() != Opcode::kRngGetAndUpdateState ||
          call->operand(0)->opcode() != Opcode::kConstant) {
        continue;
      }
      xla::HloInstruction* const drawn = call->mutable_operand(0);
      absl::Status status = call->ReplaceOperandWith(
          0, computation->AddInstruction(
                 xla::HloInstruction::CreateConstant(xla::LiteralUtil::CreateR0<uint64_t>(kKey))));
      if (status.ok() && drawn->IsDead()) status = computation->RemoveInstruction(drawn);
      if (!status.ok()) return status;
    }
    return expanded;
  }

 private:
  static constexpr uint64_t kKey = 0x9e3779b97f4a7c15;
};

// A float normalization that reports what it clones: XLA gives an all-reduce or reduce-scatter that
// shares its computation with another instruction one of its own, and does not call it a change.
template <typename FloatNormalization>
class ReportingClones : public FloatNormalization {
 public:
  using FloatNormalization::FloatNormalization;

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override {
    const int64_t before = module->computation_count();
    absl::StatusOr<bool> changed = FloatNormalization::RunImpl(module, execution_threads);
    if (!changed.ok()) return changed;
    return *changed || module->computation_count() != before;
  }
};

// TopkDecomposer gives a sort of values and indices the comparator of the custom call. That of
// topk-rewriter compares values alone, and such a sort is not valid.
bool IsDecomposableTopK(const xla::HloInstruction* instruction) {
  if (instruction->opcode() == Opcode::kTopK) return true;
  const auto& called = instruction->called_computations();
  return called.size() == 1 && called[0]->num_parameters() == 4;
}

// A select-and-scatter expander that leaves scalars alone: XLA's builds a reduction with twice the
// same parameter for them, which is a failed check.
class ArraySelectAndScatterExpander : public xla::SelectAndScatterExpander {
 protected:
  bool InstructionMatchesPattern(xla::HloInstruction* instruction) override {
    return SelectAndScatterExpander::InstructionMatchesPattern(instruction) &&
           !instruction->shape().dimensions().empty();
  }
};

void AddLinearAlgebra(std::vector<Pass>& passes) {
  passes.push_back({"cholesky_expander",
                    "CholeskyExpander",
                    "Expands Cholesky decompositions into loops.",
                    {},
                    [] { return std::make_unique<xla::CholeskyExpander>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kCholesky}});
  passes.push_back({"qr_expander",
                    "QrExpander",
                    "Expands QR decompositions into loops.",
                    {},
                    [] { return std::make_unique<xla::QrExpander>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kCustomCall}});
  passes.push_back({"eigh_expander",
                    "EighExpander",
                    "Expands symmetric eigendecompositions into loops.",
                    {},
                    [] { return std::make_unique<xla::EighExpander>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kCustomCall}});
  passes.push_back({"triangular_solve_expander",
                    "TriangularSolveExpander",
                    "Expands triangular solves into blocks.",
                    {{"block_size", "128"}},
                    [] { return std::make_unique<xla::TriangularSolveExpander>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kTriangularSolve}});
  passes.push_back({"dot_decomposer",
                    "DotDecomposer",
                    "Brings dots into the form [batch, rows, contracted].",
                    {},
                    [] { return std::make_unique<xla::DotDecomposer>(); },
                    PassNumerics::kReassociating,
                    {Opcode::kDot}});
  passes.push_back({"convolution-group-converter",
                    "ConvolutionGroupConverter",
                    "Turns convolutions with batch or feature groups into plain ones.",
                    {{"convert_batch_groups_only", "false"}},
                    [] {
                      return std::make_unique<xla::ConvolutionGroupConverter>(
                          [](xla::HloInstruction*) { return true; },
                          [](xla::HloInstruction*) { return false; },
                          /*convert_batch_groups_only=*/false);
                    },
                    PassNumerics::kApproximate,
                    {Opcode::kConvolution}});
  passes.push_back({"convolution-group-converter:cpu",
                    "ConvolutionGroupConverter",
                    "Turns convolutions with groups into plain ones, but for float32 and float16.",
                    {{"convert_batch_groups_only", "false"}, {"should_expand", "not f32, f16"}},
                    [] {
                      return std::make_unique<xla::ConvolutionGroupConverter>(
                          [](xla::HloInstruction* conv) {
                            const xla::PrimitiveType type = conv->shape().element_type();
                            return type != xla::F32 && type != xla::F16;
                          },
                          [](xla::HloInstruction*) { return false; },
                          /*convert_batch_groups_only=*/false);
                    },
                    PassNumerics::kApproximate,
                    {Opcode::kConvolution}});
  passes.push_back({"convolution-group-converter:batch",
                    "ConvolutionGroupConverter",
                    "Turns convolutions with batch groups into plain ones.",
                    {{"convert_batch_groups_only", "true"}},
                    [] {
                      return std::make_unique<xla::ConvolutionGroupConverter>(
                          [](xla::HloInstruction*) { return true; },
                          [](xla::HloInstruction*) { return false; },
                          /*convert_batch_groups_only=*/true);
                    },
                    PassNumerics::kApproximate,
                    {Opcode::kConvolution}});
}

void AddIndexing(std::vector<Pass>& passes) {
  passes.push_back({kNormalizer,
                    "BatchedGatherScatterNormalizer",
                    "Rewrites gathers and scatters with batching dimensions into plain ones.",
                    {},
                    [] { return std::make_unique<xla::BatchedGatherScatterNormalizer>(); },
                    PassNumerics::kExact,
                    {Opcode::kGather, Opcode::kScatter}});
  passes.push_back({"gather_expander",
                    "GatherExpander",
                    "Expands all gathers into loops.",
                    {{"mode", "all"}},
                    [] {
                      return std::make_unique<xla::GatherExpander>(
                          xla::GatherExpander::kEliminateAllGathers);
                    },
                    PassNumerics::kExact,
                    {Opcode::kGather, Opcode::kScatter},
                    kNormalizer});
  passes.push_back({"gather_expander:simple",
                    "GatherExpander",
                    "Expands gathers of one slice into dynamic slices.",
                    {{"mode", "simple"}},
                    [] {
                      return std::make_unique<xla::GatherExpander>(
                          xla::GatherExpander::kEliminateSimpleGathers);
                    },
                    PassNumerics::kExact,
                    {Opcode::kGather, Opcode::kScatter},
                    kNormalizer});
  passes.push_back({"scatter_expander",
                    "ScatterExpander",
                    "Expands all scatters into loops.",
                    {{"mode", "all"}},
                    [] {
                      return std::make_unique<xla::ScatterExpander>(
                          xla::ScatterExpander::kEliminateAllScatters);
                    },
                    PassNumerics::kReassociating,
                    {Opcode::kGather, Opcode::kScatter},
                    kNormalizer});
  passes.push_back({"scatter_expander:simple",
                    "ScatterExpander",
                    "Expands scatters of one update.",
                    {{"mode", "simple"}},
                    [] {
                      return std::make_unique<xla::ScatterExpander>(
                          xla::ScatterExpander::kEliminateSimpleScatters);
                    },
                    PassNumerics::kReassociating,
                    {Opcode::kGather, Opcode::kScatter},
                    kNormalizer});
  passes.push_back({"scatter_expander:indeterministic",
                    "ScatterExpander",
                    "Expands scatters whose result depends on the order of updates.",
                    {{"mode", "indeterministic"}},
                    [] {
                      return std::make_unique<xla::ScatterExpander>(
                          xla::ScatterExpander::kEliminateIndeterministicScatters);
                    },
                    PassNumerics::kReassociating,
                    {Opcode::kGather, Opcode::kScatter},
                    kNormalizer});
  passes.push_back({"select_and_scatter_expander",
                    "SelectAndScatterExpander",
                    "Expands select-and-scatter of arrays into select and scatter.",
                    {},
                    [] { return std::make_unique<ArraySelectAndScatterExpander>(); },
                    PassNumerics::kReassociating,
                    {Opcode::kSelectAndScatter}});
  passes.push_back({kSplitter,
                    "DynamicIndexSplitter",
                    "Gives dynamic slices one scalar index per dimension.",
                    {},
                    [] { return std::make_unique<xla::DynamicIndexSplitter>(); },
                    PassNumerics::kExact,
                    {Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice}});
  passes.push_back({"dynamic_padder",
                    "DynamicPadder",
                    "Pads dynamic dimensions so that their bound can be computed with.",
                    {{"shape_check_mode", "compile-time"}},
                    [] {
                      xla::DynamicPadderOptions options;
                      options.shape_check_mode =
                          xla::DynamicDimensionInference::ShapeCheckMode::kCompileTime;
                      return std::make_unique<xla::DynamicPadder>(options);
                    },
                    PassNumerics::kReassociating,
                    {},
                    "",
                    {{HasUnboundedDimension, "", "needs a bound of each dimension"}}});
}

void AddReductions(std::vector<Pass>& passes) {
  passes.push_back({"tree_reduction_rewriter",
                    "TreeReductionRewriter",
                    "Splits long reductions in two.",
                    {{"reduce_window_size", "32"}},
                    [] { return std::make_unique<xla::TreeReductionRewriter>(); },
                    PassNumerics::kReassociating,
                    {Opcode::kReduce, Opcode::kReduceWindow}});
  passes.push_back({"reduce-window-rewriter",
                    "ReduceWindowRewriter",
                    "Splits long scans written as reduce-window, until all are short.",
                    {{"base_length", "16"}, {"fixed_point", "true"}},
                    [] { return std::make_unique<xla::HloPassFix<xla::ReduceWindowRewriter>>(16); },
                    PassNumerics::kReassociating,
                    {Opcode::kReduceWindow}});
  passes.push_back({"topk-decomposer",
                    "TopkDecomposer",
                    "Turns top-k, the operation and the custom call, back into a sort.",
                    {{"should_decompose", "opcode is topk, or comparator has four parameters"}},
                    [] { return std::make_unique<xla::TopkDecomposer>(IsDecomposableTopK); },
                    PassNumerics::kExact,
                    {Opcode::kTopK, Opcode::kCustomCall}});
  passes.push_back({"topk-decomposer:operation",
                    "TopkDecomposer",
                    "Turns the top-k operation, not the custom call, back into a sort.",
                    {{"should_decompose", "opcode is topk"}},
                    [] {
                      return std::make_unique<xla::TopkDecomposer>(
                          [](const xla::HloInstruction* instruction) {
                            return instruction->opcode() == Opcode::kTopK;
                          });
                    },
                    PassNumerics::kExact,
                    {Opcode::kTopK}});
  passes.push_back(
      {"batchnorm_expander",
       "BatchNormExpander",
       "Expands batch normalization of all three kinds.",
       {{"rewrite", "training, inference, grad"}},
       [] { return std::make_unique<xla::BatchNormExpander>(true, true, true); },
       PassNumerics::kApproximate,
       {Opcode::kBatchNormTraining, Opcode::kBatchNormInference, Opcode::kBatchNormGrad}});
  passes.push_back({"batchnorm_expander:training",
                    "BatchNormExpander",
                    "Expands batch normalization for training.",
                    {{"rewrite", "training"}},
                    [] { return std::make_unique<xla::BatchNormExpander>(true, false, false); },
                    PassNumerics::kApproximate,
                    {Opcode::kBatchNormTraining}});
  passes.push_back({"batchnorm_expander:inference",
                    "BatchNormExpander",
                    "Expands batch normalization for inference.",
                    {{"rewrite", "inference"}},
                    [] { return std::make_unique<xla::BatchNormExpander>(false, true, false); },
                    PassNumerics::kApproximate,
                    {Opcode::kBatchNormInference}});
  passes.push_back({"batchnorm_expander:grad",
                    "BatchNormExpander",
                    "Expands the gradient of batch normalization.",
                    {{"rewrite", "grad"}},
                    [] { return std::make_unique<xla::BatchNormExpander>(false, false, true); },
                    PassNumerics::kApproximate,
                    {Opcode::kBatchNormGrad}});
  passes.push_back({"all_to_all_decomposer",
                    "AllToAllDecomposer",
                    "Splits all-to-alls of arrays into all-to-alls of tuples.",
                    {},
                    [] { return std::make_unique<xla::AllToAllDecomposer>(); },
                    PassNumerics::kExact,
                    {Opcode::kAllToAll}});
}

void AddElementwise(std::vector<Pass>& passes) {
  passes.push_back({"logistic-expander",
                    "LogisticExpander",
                    "Expands the logistic function into exp, add and divide.",
                    {},
                    [] { return std::make_unique<xla::LogisticExpander>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kLogistic}});
  passes.push_back({"comparison-expander",
                    "ComparisonExpander",
                    "Expands total-order comparisons of floats into integer ones.",
                    {},
                    [] { return std::make_unique<xla::ComparisonExpander>(); },
                    PassNumerics::kExact,
                    {Opcode::kCompare}});
  passes.push_back({"bitcast_dtypes_expander",
                    "BitcastDtypesExpander",
                    "Expands bitcast-converts between types of different width.",
                    {},
                    [] { return std::make_unique<xla::BitcastDtypesExpander>(); },
                    PassNumerics::kExact,
                    {Opcode::kBitcastConvert}});
  passes.push_back({"stochastic_convert_decomposer",
                    "StochasticConvertDecomposer",
                    "Expands stochastic converts.",
                    {},
                    [] { return std::make_unique<xla::StochasticConvertDecomposer>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kStochasticConvert}});
  passes.push_back({"rng-expander",
                    "RngExpander",
                    "Expands rng into Philox.",
                    {{"key", "fixed"}},
                    [] { return std::make_unique<FixedKeyRngExpander>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kRng}});
  passes.push_back({"rng-bit-generator-expander",
                    "RngBitGeneratorExpander",
                    "Expands rng-bit-generator.",
                    {{"default_algorithm", "philox"}},
                    [] {
                      return std::make_unique<xla::RngBitGeneratorExpander>(
                          xla::RandomAlgorithm::RNG_PHILOX);
                    },
                    PassNumerics::kExact,
                    {Opcode::kRngBitGenerator}});
}

void AddTypes(std::vector<Pass>& passes) {
  passes.push_back({"operand_upcaster",
                    "OperandUpcaster",
                    "Converts operands to the type of the result.",
                    {},
                    [] { return std::make_unique<xla::OperandUpcaster>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kDot, Opcode::kConvolution, Opcode::kRaggedDot, Opcode::kScaledDot}});
  passes.push_back({"result_caster",
                    "ResultCaster",
                    "Computes in the operands' type and converts the result.",
                    {},
                    [] { return std::make_unique<xla::ResultCaster>(); },
                    PassNumerics::kApproximate,
                    {Opcode::kDot, Opcode::kConvolution, Opcode::kRaggedDot, Opcode::kScaledDot}});
  passes.push_back({"float-normalization-bf16",
                    "FloatNormalization",
                    "Computes bfloat16 operations in float32.",
                    {{"float_support", "none"}},
                    [] {
                      static const auto* const support = new xla::FloatSupport(xla::BF16);
                      return std::make_unique<ReportingClones<xla::FloatNormalization>>(support);
                    },
                    PassNumerics::kApproximate});
  passes.push_back(
      {"bf16-mixed-precision-removal",
       "BFloat16MixedPrecisionRemoval",
       "Converts where bfloat16 and float32 are mixed in one operation.",
       {},
       [] { return std::make_unique<ReportingClones<xla::BFloat16MixedPrecisionRemoval>>(); },
       PassNumerics::kApproximate});
  passes.push_back({"change-op-data-type:f16-f32",
                    "ChangeOpDataType",
                    "Computes float16 dots and convolutions in float32.",
                    {{"from", "f16"}, {"to", "f32"}, {"opcodes", "dot, convolution"}},
                    [] {
                      return std::make_unique<xla::ChangeOpDataType>(
                          xla::F16, xla::F32, [](const xla::HloInstruction* instruction) {
                            return instruction->opcode() == Opcode::kDot ||
                                   instruction->opcode() == Opcode::kConvolution;
                          });
                    },
                    PassNumerics::kApproximate,
                    {Opcode::kDot, Opcode::kConvolution}});
  passes.push_back(
      {"all-reduce-promotion",
       "AllReducePromotion",
       "Computes bfloat16 all-reduces in float32.",
       {{"from_to_types", "bf16 to f32"}},
       [] {
         static constexpr std::array<std::pair<xla::PrimitiveType, xla::PrimitiveType>, 1> kTypes =
             {{{xla::BF16, xla::F32}}};
         return std::make_unique<xla::AllReducePromotion>(kTypes);
       },
       PassNumerics::kApproximate,
       {Opcode::kAllReduce, Opcode::kReduceScatter}});
}

}  // namespace

void AddExpanderPasses(std::vector<Pass>& passes) {
  AddLinearAlgebra(passes);
  AddIndexing(passes);
  AddReductions(passes);
  AddElementwise(passes);
  AddTypes(passes);
}

}  // namespace hlograph
