#include "hlograph/native/graph/traits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/node_facts.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using xla::HloOpcode;
using Dims = absl::Span<const int64_t>;

int BitWidth(uint8_t element_type) {
  const auto type = static_cast<xla::PrimitiveType>(element_type);
  return xla::primitive_util::IsArrayType(type) ? xla::primitive_util::BitWidth(type) : 0;
}

bool IsAscending(Dims values) { return std::is_sorted(values.begin(), values.end()); }

bool EqualButUnitDims(Dims a, Dims b) {
  size_t j = 0;
  for (int64_t size : a) {
    if (size == 1) continue;
    while (j < b.size() && b[j] == 1) ++j;
    if (j == b.size() || b[j++] != size) return false;
  }
  return absl::c_all_of(b.subspan(j), [](int64_t size) { return size == 1; });
}

// The traits of one node after the other; operands come before their users.
class TraitBuilder {
 public:
  explicit TraitBuilder(Graph& graph) : graph_(graph) {}

  void Build(size_t number) {
    node_ = &graph_.nodes[number];
    facts_ = node_->facts;
    SetOperands(number);
    if (operands_.empty()) return;
    AddOperandTraits();
    AddShapeTraits();
  }

 private:
  void Set(Trait trait, bool condition = true) { node_->traits |= BitIf(trait, condition); }
  HloOpcode Opcode() const { return static_cast<HloOpcode>(facts_->opcode); }

  void SetOperands(size_t number) {
    const int32_t begin = node_->first_edge;
    int32_t end = begin;
    const int32_t last = graph_.EndOfEdges(number);
    while (end < last && graph_.edges[end].type == EdgeType::kData) ++end;
    operands_ = absl::MakeConstSpan(graph_.edges).subspan(begin, end - begin);
  }

  const Node& Operand(size_t position) const { return graph_.nodes[operands_[position].source]; }

  void AddOperandTraits() {
    bool constant = true;
    bool constant_indices = true;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Node& operand = Operand(i);
      const bool is_constant = operand.facts->type == NodeType::kConstant;
      constant &= is_constant;
      constant_indices &= is_constant || i < FirstIndexOperand();
      Set(Trait::kZeroOperand, operand.traits & Bit(Trait::kZero));
      Set(Trait::kOneOperand, operand.traits & Bit(Trait::kOne));
      // A tuple of hundreds repeats operands for its own reasons.
      if (i < 4) Set(Trait::kRepeatedOperand, IsAmongFirst(i, operands_[i].source));
    }
    Set(Trait::kConstantOperands, constant);
    Set(Trait::kConstantIndices, constant_indices && FirstIndexOperand() < operands_.size());
    Set(Trait::kSameOpcodeAsOperand, Operand(0).facts->opcode == facts_->opcode);
    Set(Trait::kOneElementOperand, Operand(0).facts->elements == 1);
  }

  // Whether a node is among the first `count` operands.
  bool IsAmongFirst(size_t count, int32_t node) const {
    return absl::c_any_of(operands_.first(count),
                          [node](const Edge& edge) { return edge.source == node; });
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
    const NodeFacts& operand = *Operand(0).facts;
    const Dims from = operand.dims;
    const Dims to = facts_->dims;
    const int width = BitWidth(facts_->element_type);
    Set(Trait::kLikeOperand,
        width > 0 && facts_->element_type == operand.element_type && from == to);
    switch (Opcode()) {
      case HloOpcode::kConvert:
        Set(Trait::kNarrows, width < BitWidth(operand.element_type));
        break;
      case HloOpcode::kBroadcast:
        AddBroadcastTraits(from, to);
        break;
      case HloOpcode::kReshape:
        Set(Trait::kUnitDimsOnly, EqualButUnitDims(from, to));
        break;
      case HloOpcode::kReduce:
        Set(Trait::kUnitDimsOnly, operand.elements == facts_->elements);
        [[fallthrough]];
      case HloOpcode::kConcatenate:
      case HloOpcode::kReverse:
      case HloOpcode::kSort:
        Set(Trait::kTouchesMinorDim,
            absl::c_linear_search(facts_->dimensions, static_cast<int64_t>(from.size()) - 1));
        break;
      default:
        break;
    }
  }

  void AddBroadcastTraits(Dims from, Dims to) {
    const Dims dimensions = facts_->dimensions;
    const Node& operand = Operand(0);
    node_->traits |= operand.traits & (Bit(Trait::kUniform) | Bit(Trait::kZero) | Bit(Trait::kOne));
    Set(Trait::kUniform, operand.facts->elements == 1);
    Set(Trait::kUnitDimsOnly,
        facts_->elements == operand.facts->elements && IsAscending(dimensions));
    Set(Trait::kPrependsDims, !from.empty() && from.size() < to.size() && IsAscending(dimensions) &&
                                  dimensions[0] == static_cast<int64_t>(to.size() - from.size()));
    Set(Trait::kTouchesMinorDim,
        !absl::c_linear_search(dimensions, static_cast<int64_t>(to.size()) - 1));
  }

  Graph& graph_;
  Node* node_ = nullptr;
  const NodeFacts* facts_ = nullptr;
  absl::Span<const Edge> operands_;
};

}  // namespace

void AddTraits(Graph& graph) {
  TraitBuilder builder(graph);
  for (size_t node = 0; node < graph.nodes.size(); ++node) builder.Build(node);
  for (const Edge& edge : graph.edges) {
    if (edge.type != EdgeType::kControl) continue;
    graph.nodes[edge.source].traits |= Bit(Trait::kHasControl);
    graph.nodes[edge.target].traits |= Bit(Trait::kHasControl);
  }
}

}  // namespace hlograph
