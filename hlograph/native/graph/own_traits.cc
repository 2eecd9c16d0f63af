#include "hlograph/native/graph/own_traits.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/traits.h"

namespace hlograph {
namespace {

constexpr int kWindowFields = 7;

uint32_t TraitsOfPadding(absl::Span<const int64_t> values) {
  uint32_t traits = 0;
  for (size_t i = 0; i + 2 < values.size(); i += 3) {
    traits |= BitIf(Trait::kPadded, values[i] != 0 || values[i + 1] != 0);
    traits |= BitIf(Trait::kDilated, values[i + 2] != 0);
  }
  return traits;
}

uint32_t TraitsOfWindow(absl::Span<const int64_t> values) {
  uint32_t traits = 0;
  for (size_t i = 0; i + kWindowFields <= values.size(); i += kWindowFields) {
    traits |= BitIf(Trait::kStrided, values[i + 1] != 1);
    traits |= BitIf(Trait::kPadded, values[i + 2] != 0 || values[i + 3] != 0);
    traits |= BitIf(Trait::kDilated, values[i + 4] != 1 || values[i + 5] != 1);
  }
  return traits;
}

// A literal of one value is that of a scalar or of a splat: others hold all elements.
uint32_t TraitsOfLiteral(size_t size, double value) {
  if (size != 1) return 0;
  return Bit(Trait::kUniform) | BitIf(Trait::kZero, value == 0) | BitIf(Trait::kOne, value == 1);
}

}  // namespace

uint32_t TraitsOfInts(AttributeKey key, absl::Span<const int64_t> values) {
  switch (key) {
    case AttributeKey::kSliceStrides:
      return BitIf(Trait::kStrided, absl::c_any_of(values, [](int64_t v) { return v != 1; }));
    case AttributeKey::kPadding:
      return TraitsOfPadding(values);
    case AttributeKey::kWindow:
      return TraitsOfWindow(values);
    case AttributeKey::kFeatureGroupCount:
    case AttributeKey::kBatchGroupCount:
      return BitIf(Trait::kGrouped, values[0] > 1);
    case AttributeKey::kLhsBatchDimensions:
    case AttributeKey::kOperandBatchingDims:
      return BitIf(Trait::kBatched, !values.empty());
    case AttributeKey::kUniqueIndices:
      return BitIf(Trait::kUniqueIndices, values[0] != 0);
    case AttributeKey::kIndicesAreSorted:
      return BitIf(Trait::kSortedIndices, values[0] != 0);
    case AttributeKey::kLiteralInts:
      return TraitsOfLiteral(values.size(), static_cast<double>(values[0]));
    case AttributeKey::kLiteralFloats: {
      double value;
      std::memcpy(&value, values.data(), sizeof(value));
      return TraitsOfLiteral(values.size(), value);
    }
    default:
      return 0;
  }
}

uint32_t TraitsOfText(AttributeKey key, absl::string_view text) {
  if (key != AttributeKey::kDirection) return 0;
  return BitIf(Trait::kComparesLess, text == "LT" || text == "LE" || text == "NE") |
         BitIf(Trait::kComparesGreater, text == "GT" || text == "GE" || text == "NE") |
         BitIf(Trait::kComparesEqual, text == "EQ" || text == "LE" || text == "GE");
}

uint32_t TraitsOfTranspose(absl::Span<const int64_t> permutation, absl::Span<const int64_t> dims) {
  const int64_t rank = dims.size();
  int64_t last = -1;
  bool keeps_order = true;
  bool swaps_minor = rank >= 2;
  for (int64_t i = 0; i < rank; ++i) {
    if (dims[i] != 1) {
      keeps_order &= permutation[i] > last;
      last = permutation[i];
    }
    const int64_t swapped = i < rank - 2 ? i : 2 * rank - 3 - i;
    swaps_minor &= permutation[i] == swapped;
  }
  return BitIf(Trait::kUnitDimsOnly, keeps_order) | BitIf(Trait::kSwapsMinorDims, swaps_minor) |
         BitIf(Trait::kTouchesMinorDim, rank > 0 && permutation[rank - 1] != rank - 1);
}

}  // namespace hlograph
