// Enumerates the attributes of an instruction. The graph has them as columns, and the fingerprint
// hashes them.
#ifndef HLOGRAPH_NATIVE_GRAPH_INSTRUCTION_ATTRIBUTES_H_
#define HLOGRAPH_NATIVE_GRAPH_INSTRUCTION_ATTRIBUTES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

// The order is part of the HloGraph file format: hlograph/graph/vocabulary.py lists
// the names in the same order, and a test compares the two.
enum class AttributeKey : uint8_t {
  kDimensions,
  kInferredDimension,
  kSliceStarts,
  kSliceLimits,
  kSliceStrides,
  kDynamicSliceSizes,
  kPadding,  // low, high and interior of each dimension
  kWindow,   // size, stride, low, high, base and window dilation, reversal of each dimension
  kLhsBatchDimensions,
  kRhsBatchDimensions,
  kLhsContractingDimensions,
  kRhsContractingDimensions,
  kConvInput,   // batch, feature and spatial dimensions
  kConvKernel,  // input feature, output feature and spatial dimensions
  kConvOutput,  // batch, feature and spatial dimensions
  kFeatureGroupCount,
  kBatchGroupCount,
  kPrecision,
  kDirection,
  kComparisonType,
  kIsStable,
  kParameterNumber,
  kTupleIndex,
  kOffsetDims,
  kCollapsedSliceDims,
  kStartIndexMap,
  kOperandBatchingDims,
  kIndicesBatchingDims,
  kIndexVectorDim,
  kSliceSizes,
  kUpdateWindowDims,
  kInsertedWindowDims,
  kScatterDimsToOperandDims,
  kIndicesAreSorted,
  kUniqueIndices,
  kCustomCallTarget,
  kFusionKind,
  kSharding,
  kFrontendAttributes,
  kBackendConfig,
  kOther,           // XLA's text of the attributes of rarer operations
  kLiteralInts,     // small or splat literal of integers or booleans
  kLiteralFloats,   // small or splat literal of floats, as the bits of a double
  kLiteralIsSplat,  // 1 where the literal was folded into its one value
  kCount,
};

const char* AttributeName(AttributeKey key);

// Receives attributes. Spans and strings are valid during the call only.
class AttributeSink {
 public:
  virtual ~AttributeSink() = default;
  virtual void Ints(AttributeKey key, absl::Span<const int64_t> values) = 0;
  virtual void Text(AttributeKey key, absl::string_view text) = 0;
};

// Reports the attributes of `instruction`, except for its literal and the
// computations that it calls.
void VisitAttributes(const xla::HloInstruction& instruction, AttributeSink& sink);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_INSTRUCTION_ATTRIBUTES_H_
