#include "hlograph/native/graph/instruction_attributes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Key = AttributeKey;
using IntList = absl::InlinedVector<int64_t, 16>;

constexpr std::array<const char*, static_cast<size_t>(Key::kCount)> kAttributeNames = {
    "dimensions",
    "inferred_dimension",
    "slice_starts",
    "slice_limits",
    "slice_strides",
    "dynamic_slice_sizes",
    "padding",
    "window",
    "lhs_batch_dims",
    "rhs_batch_dims",
    "lhs_contracting_dims",
    "rhs_contracting_dims",
    "conv_input",
    "conv_kernel",
    "conv_output",
    "feature_group_count",
    "batch_group_count",
    "precision",
    "direction",
    "comparison_type",
    "is_stable",
    "parameter_number",
    "tuple_index",
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "indices_batching_dims",
    "index_vector_dim",
    "slice_sizes",
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "indices_are_sorted",
    "unique_indices",
    "custom_call_target",
    "fusion_kind",
    "sharding",
    "frontend_attributes",
    "backend_config",
    "other",
    "literal_ints",
    "literal_floats",
    "literal_is_splat",
};

void Int(AttributeSink& sink, Key key, int64_t value) { sink.Ints(key, {&value, 1}); }

// Protobuf's repeated int64 as a span.
template <typename Repeated>
absl::Span<const int64_t> Span(const Repeated& values) {
  return absl::MakeConstSpan(values.data(), values.size());
}

void VisitPrecision(const xla::PrecisionConfig& config, AttributeSink& sink) {
  // The default is written in three ways (absent, empty, all zero): none is shown.
  IntList values;
  bool is_default = config.algorithm() == xla::PrecisionConfig::ALG_UNSET;
  for (int precision : config.operand_precision()) {
    values.push_back(precision);
    if (precision != xla::PrecisionConfig::DEFAULT) is_default = false;
  }
  if (is_default) return;
  values.push_back(config.algorithm());
  sink.Ints(Key::kPrecision, values);
}

void VisitWindow(const xla::Window& window, AttributeSink& sink) {
  IntList values;
  for (const xla::WindowDimension& dimension : window.dimensions()) {
    for (int64_t value :
         {dimension.size(), dimension.stride(), dimension.padding_low(), dimension.padding_high(),
          dimension.base_dilation(), dimension.window_dilation(),
          static_cast<int64_t>(dimension.window_reversal())}) {
      values.push_back(value);
    }
  }
  sink.Ints(Key::kWindow, values);
}

void VisitPadding(const xla::PaddingConfig& padding, AttributeSink& sink) {
  IntList values;
  for (const auto& dimension : padding.dimensions()) {
    values.push_back(dimension.edge_padding_low());
    values.push_back(dimension.edge_padding_high());
    values.push_back(dimension.interior_padding());
  }
  sink.Ints(Key::kPadding, values);
}

void VisitDot(const xla::HloInstruction& instruction, AttributeSink& sink) {
  const xla::DotDimensionNumbers& numbers = instruction.dot_dimension_numbers();
  sink.Ints(Key::kLhsBatchDimensions, Span(numbers.lhs_batch_dimensions()));
  sink.Ints(Key::kRhsBatchDimensions, Span(numbers.rhs_batch_dimensions()));
  sink.Ints(Key::kLhsContractingDimensions, Span(numbers.lhs_contracting_dimensions()));
  sink.Ints(Key::kRhsContractingDimensions, Span(numbers.rhs_contracting_dimensions()));
  VisitPrecision(instruction.precision_config(), sink);
}

template <typename Spatial>
void VisitConvDims(Key key, int64_t first, int64_t second, const Spatial& spatial,
                   AttributeSink& sink) {
  IntList values = {first, second};
  values.insert(values.end(), spatial.begin(), spatial.end());
  sink.Ints(key, values);
}

void VisitConvolution(const xla::HloInstruction& instruction, AttributeSink& sink) {
  const xla::ConvolutionDimensionNumbers& numbers = instruction.convolution_dimension_numbers();
  VisitWindow(instruction.window(), sink);
  VisitConvDims(Key::kConvInput, numbers.input_batch_dimension(), numbers.input_feature_dimension(),
                numbers.input_spatial_dimensions(), sink);
  VisitConvDims(Key::kConvKernel, numbers.kernel_input_feature_dimension(),
                numbers.kernel_output_feature_dimension(), numbers.kernel_spatial_dimensions(),
                sink);
  VisitConvDims(Key::kConvOutput, numbers.output_batch_dimension(),
                numbers.output_feature_dimension(), numbers.output_spatial_dimensions(), sink);
  Int(sink, Key::kFeatureGroupCount, instruction.feature_group_count());
  Int(sink, Key::kBatchGroupCount, instruction.batch_group_count());
  VisitPrecision(instruction.precision_config(), sink);
}

void VisitGather(const xla::HloInstruction& instruction, AttributeSink& sink) {
  const auto* gather = xla::Cast<xla::HloGatherInstruction>(&instruction);
  const xla::GatherDimensionNumbers& numbers = gather->gather_dimension_numbers();
  sink.Ints(Key::kOffsetDims, Span(numbers.offset_dims()));
  sink.Ints(Key::kCollapsedSliceDims, Span(numbers.collapsed_slice_dims()));
  sink.Ints(Key::kStartIndexMap, Span(numbers.start_index_map()));
  sink.Ints(Key::kOperandBatchingDims, Span(numbers.operand_batching_dims()));
  sink.Ints(Key::kIndicesBatchingDims, Span(numbers.start_indices_batching_dims()));
  Int(sink, Key::kIndexVectorDim, numbers.index_vector_dim());
  sink.Ints(Key::kSliceSizes, gather->gather_slice_sizes());
  Int(sink, Key::kIndicesAreSorted, gather->indices_are_sorted());
}

void VisitScatter(const xla::HloInstruction& instruction, AttributeSink& sink) {
  const auto* scatter = xla::Cast<xla::HloScatterInstruction>(&instruction);
  const xla::ScatterDimensionNumbers& numbers = scatter->scatter_dimension_numbers();
  sink.Ints(Key::kUpdateWindowDims, Span(numbers.update_window_dims()));
  sink.Ints(Key::kInsertedWindowDims, Span(numbers.inserted_window_dims()));
  sink.Ints(Key::kScatterDimsToOperandDims, Span(numbers.scatter_dims_to_operand_dims()));
  sink.Ints(Key::kOperandBatchingDims, Span(numbers.input_batching_dims()));
  sink.Ints(Key::kIndicesBatchingDims, Span(numbers.scatter_indices_batching_dims()));
  Int(sink, Key::kIndexVectorDim, numbers.index_vector_dim());
  Int(sink, Key::kIndicesAreSorted, scatter->indices_are_sorted());
  Int(sink, Key::kUniqueIndices, scatter->unique_indices());
}

// What XLA prints behind the operands, less the names of called computations.
void VisitText(const xla::HloInstruction& instruction, AttributeSink& sink) {
  const xla::HloPrintOptions options =
      xla::HloPrintOptions::ShortParsable()
          .set_print_subcomputation_mode(xla::HloPrintOptions::PrintSubcomputationMode::kOff)
          .set_print_full_replica_group_list(true)
          .set_print_metadata(false);
  const std::string text = absl::StrJoin(instruction.ExtraAttributesToString(options), ", ");
  if (!text.empty()) sink.Text(Key::kOther, text);
}

void VisitByOpcode(const xla::HloInstruction& instruction, AttributeSink& sink) {
  switch (instruction.opcode()) {
    case xla::HloOpcode::kBroadcast:
    case xla::HloOpcode::kConcatenate:
    case xla::HloOpcode::kIota:
    case xla::HloOpcode::kMap:
    case xla::HloOpcode::kReduce:
    case xla::HloOpcode::kReverse:
    case xla::HloOpcode::kTranspose:
      sink.Ints(Key::kDimensions, instruction.dimensions());
      break;
    case xla::HloOpcode::kSort:
      sink.Ints(Key::kDimensions, instruction.dimensions());
      Int(sink, Key::kIsStable, xla::Cast<xla::HloSortInstruction>(&instruction)->is_stable());
      break;
    case xla::HloOpcode::kReshape: {
      int64_t inferred = xla::Cast<xla::HloReshapeInstruction>(&instruction)->inferred_dimension();
      if (inferred != -1) Int(sink, Key::kInferredDimension, inferred);
      break;
    }
    case xla::HloOpcode::kSlice:
      sink.Ints(Key::kSliceStarts, instruction.slice_starts());
      sink.Ints(Key::kSliceLimits, instruction.slice_limits());
      sink.Ints(Key::kSliceStrides, instruction.slice_strides());
      break;
    case xla::HloOpcode::kDynamicSlice:
      sink.Ints(Key::kDynamicSliceSizes, instruction.dynamic_slice_sizes());
      break;
    case xla::HloOpcode::kPad:
      VisitPadding(instruction.padding_config(), sink);
      break;
    case xla::HloOpcode::kDot:
      VisitDot(instruction, sink);
      break;
    case xla::HloOpcode::kConvolution:
      VisitConvolution(instruction, sink);
      break;
    case xla::HloOpcode::kReduceWindow:
    case xla::HloOpcode::kSelectAndScatter:
      VisitWindow(instruction.window(), sink);
      break;
    case xla::HloOpcode::kCompare: {
      const auto* compare = xla::Cast<xla::HloCompareInstruction>(&instruction);
      sink.Text(Key::kDirection, xla::ComparisonDirectionToString(compare->direction()));
      sink.Text(Key::kComparisonType, xla::ComparisonTypeToString(compare->type()));
      break;
    }
    case xla::HloOpcode::kParameter:
      Int(sink, Key::kParameterNumber, instruction.parameter_number());
      if (instruction.parameter_replicated_at_leaf_buffers().has_value()) {
        VisitText(instruction, sink);
      }
      break;
    case xla::HloOpcode::kGetTupleElement:
      Int(sink, Key::kTupleIndex, instruction.tuple_index());
      break;
    case xla::HloOpcode::kGetDimensionSize:
    case xla::HloOpcode::kSetDimensionSize:
      Int(sink, Key::kDimensions, instruction.dimension());
      break;
    case xla::HloOpcode::kGather:
      VisitGather(instruction, sink);
      break;
    case xla::HloOpcode::kScatter:
      VisitScatter(instruction, sink);
      break;
    case xla::HloOpcode::kFusion:
      sink.Text(Key::kFusionKind, xla::ToString(instruction.fusion_kind()));
      break;
    case xla::HloOpcode::kCustomCall:
      sink.Text(Key::kCustomCallTarget, instruction.custom_call_target());
      VisitText(instruction, sink);
      break;
    case xla::HloOpcode::kAddDependency:
    case xla::HloOpcode::kAfterAll:
    case xla::HloOpcode::kBitcast:
    case xla::HloOpcode::kBitcastConvert:
    case xla::HloOpcode::kClamp:
    case xla::HloOpcode::kConditional:
    case xla::HloOpcode::kConstant:
    case xla::HloOpcode::kConvert:
    case xla::HloOpcode::kCopy:
    case xla::HloOpcode::kDynamicUpdateSlice:
    case xla::HloOpcode::kOptimizationBarrier:
    case xla::HloOpcode::kSelect:
    case xla::HloOpcode::kTuple:
    case xla::HloOpcode::kWhile:
      break;  // nothing of their own
    default:
      // Elementwise arithmetic has nothing but an accuracy; the rest is rare.
      if (!instruction.IsElementwise() || instruction.has_result_accuracy() ||
          instruction.opcode() == xla::HloOpcode::kReducePrecision) {
        VisitText(instruction, sink);
      }
  }
}

void VisitFrontendAttributes(const xla::HloInstruction& instruction, AttributeSink& sink) {
  std::vector<std::pair<std::string, std::string>> sorted(
      instruction.frontend_attributes().map().begin(),
      instruction.frontend_attributes().map().end());
  if (sorted.empty()) return;
  std::sort(sorted.begin(), sorted.end());
  sink.Text(Key::kFrontendAttributes, absl::StrJoin(sorted, ",", absl::PairFormatter("=")));
}

}  // namespace

const char* AttributeName(AttributeKey key) { return kAttributeNames[static_cast<size_t>(key)]; }

void VisitAttributes(const xla::HloInstruction& instruction, AttributeSink& sink) {
  VisitByOpcode(instruction, sink);
  if (instruction.has_sharding()) {
    sink.Text(Key::kSharding, instruction.sharding().ToString());
  }
  if (instruction.has_frontend_attributes()) VisitFrontendAttributes(instruction, sink);
  if (instruction.has_backend_config()) {
    sink.Text(Key::kBackendConfig, instruction.raw_backend_config_string());
  }
}

}  // namespace hlograph
