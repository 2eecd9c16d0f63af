#include "hlograph/native/graph/traits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/redundancy.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using xla::HloOpcode;
using Dims = absl::Span<const int64_t>;

constexpr int kWindowFields = 7;

int BitWidth(uint8_t element_type) {
  const auto type = static_cast<xla::PrimitiveType>(element_type);
  return xla::primitive_util::IsArrayType(type) ? xla::primitive_util::BitWidth(type) : 0;
}

bool IsAscending(Dims values) { return std::is_sorted(values.begin(), values.end()); }

// The traits of one node after the other; operands come before their users.
class TraitBuilder {
 public:
  TraitBuilder(const std::vector<int64_t>& first_edge, GraphColumns& columns)
      : first_edge_(first_edge), columns_(columns) {}

  void Build(int64_t node) {
    node_ = node;
    SetOperands();
    if (absl::c_any_of(DynamicDims(), [](uint8_t dynamic) { return dynamic; })) {
      Set(Trait::kDynamic);
    }
    AddAttributeTraits();
    if (operands_.empty()) return;
    AddOperandTraits();
    AddShapeTraits();
  }

 private:
  void Set(Trait trait, bool condition = true) {
    if (condition) columns_.traits[node_] |= Bit(trait);
  }
  bool Has(int64_t node, Trait trait) const { return columns_.traits[node] & Bit(trait); }
  HloOpcode Opcode() const { return static_cast<HloOpcode>(columns_.opcode[node_]); }

  void SetOperands() {
    int64_t edge = first_edge_[node_];
    const int64_t begin = edge;
    const int64_t end = first_edge_[node_ + 1];
    while (edge < end && columns_.edge_type[edge] == static_cast<uint8_t>(EdgeType::kData)) ++edge;
    operands_ = absl::MakeConstSpan(columns_.edge_index).subspan(begin, edge - begin);
  }

  Dims DimsOf(int64_t node) const {
    const int64_t begin = columns_.dim_offsets[node];
    return absl::MakeConstSpan(columns_.dim_size)
        .subspan(begin, columns_.dim_offsets[node + 1] - begin);
  }
  absl::Span<const uint8_t> DynamicDims() const {
    const int64_t begin = columns_.dim_offsets[node_];
    return absl::MakeConstSpan(columns_.dim_is_dynamic)
        .subspan(begin, columns_.dim_offsets[node_ + 1] - begin);
  }

  void AddAttributeTraits() {
    for (int64_t i = columns_.attribute_offsets[node_]; i < columns_.attribute_offsets[node_ + 1];
         ++i) {
      const int64_t begin = columns_.value_offsets[i];
      AddAttributeTrait(static_cast<AttributeKey>(columns_.attribute_key[i]),
                        absl::MakeConstSpan(columns_.attribute_values)
                            .subspan(begin, columns_.value_offsets[i + 1] - begin));
    }
  }

  void AddAttributeTrait(AttributeKey key, absl::Span<const int64_t> values) {
    switch (key) {
      case AttributeKey::kSliceStrides:
        return Set(Trait::kStrided, absl::c_any_of(values, [](int64_t v) { return v != 1; }));
      case AttributeKey::kPadding:
        return AddPaddingTraits(values);
      case AttributeKey::kWindow:
        return AddWindowTraits(values);
      case AttributeKey::kFeatureGroupCount:
      case AttributeKey::kBatchGroupCount:
        return Set(Trait::kGrouped, values[0] > 1);
      case AttributeKey::kLhsBatchDimensions:
      case AttributeKey::kOperandBatchingDims:
        return Set(Trait::kBatched, !values.empty());
      case AttributeKey::kUniqueIndices:
        return Set(Trait::kUniqueIndices, values[0] != 0);
      case AttributeKey::kIndicesAreSorted:
        return Set(Trait::kSortedIndices, values[0] != 0);
      case AttributeKey::kDirection:
        return AddComparisonTraits(columns_.strings[values[0]]);
      case AttributeKey::kLiteralInts:
        return AddLiteralTraits(values.size(), static_cast<double>(values[0]));
      case AttributeKey::kLiteralFloats: {
        double value;
        std::memcpy(&value, values.data(), sizeof(value));
        return AddLiteralTraits(values.size(), value);
      }
      default:
        return;
    }
  }

  void AddPaddingTraits(absl::Span<const int64_t> values) {
    for (size_t i = 0; i + 2 < values.size(); i += 3) {
      Set(Trait::kPadded, values[i] != 0 || values[i + 1] != 0);
      Set(Trait::kDilated, values[i + 2] != 0);
    }
  }

  void AddWindowTraits(absl::Span<const int64_t> values) {
    for (size_t i = 0; i + kWindowFields <= values.size(); i += kWindowFields) {
      Set(Trait::kStrided, values[i + 1] != 1);
      Set(Trait::kPadded, values[i + 2] != 0 || values[i + 3] != 0);
      Set(Trait::kDilated, values[i + 4] != 1 || values[i + 5] != 1);
    }
  }

  void AddComparisonTraits(const std::string& direction) {
    Set(Trait::kComparesLess, direction == "LT" || direction == "LE" || direction == "NE");
    Set(Trait::kComparesGreater, direction == "GT" || direction == "GE" || direction == "NE");
    Set(Trait::kComparesEqual, direction == "EQ" || direction == "LE" || direction == "GE");
  }

  // A literal of one value is that of a scalar or of a splat: others hold all elements.
  void AddLiteralTraits(size_t size, double value) {
    if (size != 1) return;
    Set(Trait::kUniform);
    Set(Trait::kZero, value == 0);
    Set(Trait::kOne, value == 1);
  }

  void AddOperandTraits() {
    bool constant = true;
    bool constant_indices = true;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const int64_t operand = operands_[i];
      const bool is_constant =
          columns_.node_type[operand] == static_cast<uint8_t>(NodeType::kConstant);
      constant &= is_constant;
      constant_indices &= is_constant || i < FirstIndexOperand();
      Set(Trait::kZeroOperand, Has(operand, Trait::kZero));
      Set(Trait::kOneOperand, Has(operand, Trait::kOne));
      // A tuple of hundreds repeats operands for its own reasons.
      if (i < 4) {
        Set(Trait::kRepeatedOperand, absl::c_linear_search(operands_.first(i), operand));
      }
    }
    Set(Trait::kConstantOperands, constant);
    Set(Trait::kConstantIndices, constant_indices && FirstIndexOperand() < operands_.size());
    Set(Trait::kSameOpcodeAsOperand, columns_.opcode[operands_[0]] == columns_.opcode[node_]);
    Set(Trait::kOneElementOperand, columns_.elements[operands_[0]] == 1);
  }

  // Where the start indices of a dynamic slice or update begin.
  size_t FirstIndexOperand() const {
    switch (Opcode()) {
      case HloOpcode::kDynamicSlice:
        return 1;
      case HloOpcode::kDynamicUpdateSlice:
        return 2;
      default:
        return operands_.size();
    }
  }

  void AddShapeTraits() {
    const int64_t operand = operands_[0];
    const Dims from = DimsOf(operand);
    const Dims to = DimsOf(node_);
    const uint8_t type = columns_.element_type[node_];
    Set(Trait::kLikeOperand,
        BitWidth(type) > 0 && type == columns_.element_type[operand] && from == to);
    switch (Opcode()) {
      case HloOpcode::kConvert:
        Set(Trait::kNarrows, BitWidth(type) < BitWidth(columns_.element_type[operand]));
        break;
      case HloOpcode::kBroadcast:
        AddBroadcastTraits(from, to);
        break;
      case HloOpcode::kTranspose:
        AddTransposeTraits(to);
        break;
      case HloOpcode::kReshape:
        Set(Trait::kUnitDimsOnly, EqualButUnitDims(from, to));
        break;
      case HloOpcode::kReduce:
        Set(Trait::kUnitDimsOnly, columns_.elements[operand] == columns_.elements[node_]);
        [[fallthrough]];
      case HloOpcode::kConcatenate:
      case HloOpcode::kReverse:
      case HloOpcode::kSort:
        Set(Trait::kTouchesMinorDim,
            absl::c_linear_search(Dimensions(), static_cast<int64_t>(from.size()) - 1));
        break;
      default:
        break;
    }
  }

  // The attribute `dimensions`, which these opcodes report first.
  Dims Dimensions() const {
    const int64_t first = columns_.attribute_offsets[node_];
    const int64_t begin = columns_.value_offsets[first];
    return absl::MakeConstSpan(columns_.attribute_values)
        .subspan(begin, columns_.value_offsets[first + 1] - begin);
  }

  void AddBroadcastTraits(Dims from, Dims to) {
    const Dims dimensions = Dimensions();
    const uint32_t value = columns_.traits[operands_[0]] &
                           (Bit(Trait::kUniform) | Bit(Trait::kZero) | Bit(Trait::kOne));
    columns_.traits[node_] |= value;
    Set(Trait::kUniform, columns_.elements[operands_[0]] == 1);
    Set(Trait::kUnitDimsOnly,
        columns_.elements[node_] == columns_.elements[operands_[0]] && IsAscending(dimensions));
    Set(Trait::kPrependsDims, !from.empty() && from.size() < to.size() && IsAscending(dimensions) &&
                                  dimensions[0] == static_cast<int64_t>(to.size() - from.size()));
    Set(Trait::kTouchesMinorDim,
        !absl::c_linear_search(dimensions, static_cast<int64_t>(to.size()) - 1));
  }

  void AddTransposeTraits(Dims to) {
    const Dims permutation = Dimensions();
    const int64_t rank = to.size();
    int64_t last = -1;
    bool keeps_order = true;
    bool swaps_minor = rank >= 2;
    for (int64_t i = 0; i < rank; ++i) {
      if (to[i] != 1) {
        keeps_order &= permutation[i] > last;
        last = permutation[i];
      }
      const int64_t swapped = i < rank - 2 ? i : 2 * rank - 3 - i;
      swaps_minor &= permutation[i] == swapped;
    }
    Set(Trait::kUnitDimsOnly, keeps_order);
    Set(Trait::kSwapsMinorDims, swaps_minor);
    Set(Trait::kTouchesMinorDim, rank > 0 && permutation[rank - 1] != rank - 1);
  }

  static bool EqualButUnitDims(Dims a, Dims b) {
    size_t j = 0;
    for (int64_t size : a) {
      if (size == 1) continue;
      while (j < b.size() && b[j] == 1) ++j;
      if (j == b.size() || b[j++] != size) return false;
    }
    return absl::c_all_of(b.subspan(j), [](int64_t size) { return size == 1; });
  }

  const std::vector<int64_t>& first_edge_;
  GraphColumns& columns_;
  int64_t node_ = 0;
  absl::Span<const int64_t> operands_;
};

}  // namespace

void AddTraits(const std::vector<int64_t>& first_edge, GraphColumns& columns) {
  TraitBuilder builder(first_edge, columns);
  const int64_t nodes = columns.node_type.size();
  for (int64_t node = 0; node < nodes; ++node) builder.Build(node);
  const int64_t edges = columns.edge_type.size();
  for (int64_t edge = 0; edge < edges; ++edge) {
    if (columns.edge_type[edge] == static_cast<uint8_t>(EdgeType::kControl)) {
      columns.traits[columns.edge_index[edge]] |= Bit(Trait::kHasControl);
      columns.traits[columns.edge_index[edges + edge]] |= Bit(Trait::kHasControl);
    }
  }
  AddRedundancyTraits(first_edge, columns);
}

}  // namespace hlograph
