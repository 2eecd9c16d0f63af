#include "hlograph/native/graph/graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/attributes.h"
#include "hlograph/native/graph/prefetch.h"
#include "hlograph/native/graph/traits.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

NodeType TypeOf(const xla::HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case xla::HloOpcode::kParameter:
      return NodeType::kParameter;
    case xla::HloOpcode::kConstant:
      return NodeType::kConstant;
    default:
      return NodeType::kInstruction;
  }
}

struct Size {
  int64_t elements = 0;
  int64_t bytes = 0;
};

// Of an array. Dimensions without a bound count as 1; a product that does not
// fit saturates (text may say any size: nothing is allocated for it).
Size SizeOf(const xla::Shape& shape) {
  constexpr int64_t kMax = int64_t{1} << 48;
  int64_t elements = 1;
  for (int64_t dim : shape.dimensions()) {
    if (dim < 0) continue;
    if (__builtin_mul_overflow(elements, dim, &elements) || elements > kMax) elements = kMax;
  }
  return {elements, elements * xla::primitive_util::ByteWidth(shape.element_type())};
}

// Of a tuple, token or opaque value.
Size SizeOfLeaves(const xla::Shape& shape) {
  if (shape.IsArray()) return SizeOf(shape);
  Size sum;
  if (!shape.IsTuple()) return sum;
  for (const xla::Shape& element : shape.tuple_shapes()) {
    const Size size = SizeOfLeaves(element);
    sum.elements += size.elements;
    sum.bytes += size.bytes;
  }
  return sum;
}

struct Owner {
  int32_t computation;
  bool is_entry;
};

class GraphBuilder {
 public:
  GraphBuilder(const xla::HloModule& module, Columns which)
      : module_(module),
        which_(which),
        computations_(module.MakeComputationPostOrder()),
        first_computation_(module.instruction_count()),
        attributes_(columns_) {}

  GraphColumns Build() && {
    Reserve();
    for (size_t i = 0; i < computations_.size(); ++i) {
      computation_index_.emplace(computations_[i], i);
    }
    for (const xla::HloComputation* computation : computations_) AddInstructions(*computation);
    for (const xla::HloComputation* computation : computations_) AddComputation(*computation);
    first_edge_[node_] = columns_.edge_type.size();
    columns_.edge_index.insert(columns_.edge_index.end(), targets_.begin(), targets_.end());
    AddTraits(first_edge_, columns_);
    return std::move(columns_);
  }

 private:
  void Reserve() {
    const size_t nodes = module_.instruction_count() + computations_.size();
    columns_.node_type.resize(nodes);
    columns_.opcode.resize(nodes);
    columns_.element_type.resize(nodes);
    columns_.elements.resize(nodes);
    columns_.bytes.resize(nodes);
    columns_.computation.resize(nodes);
    columns_.is_root.resize(nodes);
    columns_.is_entry.resize(nodes);
    columns_.traits.resize(nodes);
    columns_.dim_offsets.resize(nodes + 1);
    columns_.attribute_offsets.resize(nodes + 1);
    if (which_ == Columns::kAll) {
      columns_.name_offsets.resize(nodes + 1);
      columns_.name_text.reserve(20 * nodes);
      columns_.dim_layout.reserve(2 * nodes);
    }
    first_edge_.resize(nodes + 1);
    columns_.dim_size.reserve(2 * nodes);
    columns_.dim_is_dynamic.reserve(2 * nodes);
    columns_.attribute_key.reserve(nodes);
    columns_.attribute_values.reserve(2 * nodes);
    columns_.value_offsets.reserve(nodes);
    columns_.value_offsets.push_back(0);
    columns_.edge_index.reserve(4 * nodes);
    targets_.reserve(2 * nodes);
    columns_.edge_type.reserve(2 * nodes);
    columns_.edge_position.reserve(2 * nodes);
  }

  void AddInstructions(const xla::HloComputation& computation) {
    const Owner owner = {computation_index_.at(&computation), computation.IsEntryComputation()};
    node_by_local_id_.assign(computation.next_unique_instruction_internal_id(), -1);
    const std::vector<xla::HloInstruction*> instructions = computation.MakeInstructionPostOrder();
    for (size_t i = 0; i < instructions.size(); ++i) {
      const size_t last = instructions.size() - 1;
      Prefetch(instructions[std::min(i + 2 * kPrefetchDistance, last)]);
      PrefetchShape(instructions[std::min(i + kPrefetchDistance, last)]);
      AddInstruction(*instructions[i], owner);
    }
    columns_.is_root[Node(computation.root_instruction())] = 1;
    AddControlEdges();
    AddEdge(first_computation_ + owner.computation, Node(computation.root_instruction()),
            EdgeType::kMember, 0);
  }

  void AddInstruction(const xla::HloInstruction& instruction, Owner owner) {
    node_by_local_id_[instruction.local_id()] = node_;
    first_edge_[node_] = columns_.edge_type.size();
    columns_.opcode[node_] = static_cast<int16_t>(instruction.opcode());
    columns_.traits[node_] =
        (instruction.HasSideEffectNoRecurse() ? Bit(Trait::kHasSideEffect) : 0) |
        (instruction.has_sharding() ? Bit(Trait::kIsSharded) : 0);
    attributes_.AddInstruction(instruction);
    AddOperandEdges(instruction);
    AddCallEdges(instruction);
    if (!instruction.control_predecessors().empty()) controlled_.push_back(&instruction);
    FinishNode(TypeOf(instruction), owner, instruction.shape(), instruction.name());
  }

  int64_t Node(const xla::HloInstruction* instruction) const {
    return node_by_local_id_[instruction->local_id()];
  }

  void AddOperandEdges(const xla::HloInstruction& instruction) {
    int32_t position = 0;
    for (const xla::HloInstruction* operand : instruction.operands()) {
      AddEdge(Node(operand), node_, EdgeType::kData, position++);
    }
  }

  void AddCallEdges(const xla::HloInstruction& instruction) {
    if (!instruction.has_called_computations()) return;
    int32_t position = 0;
    for (const xla::HloComputation* callee : instruction.called_computations()) {
      AddEdge(node_, first_computation_ + computation_index_.at(callee), EdgeType::kCall,
              position++);
    }
  }

  // Behind all other edges of the computation: the post-order that numbers the
  // nodes knows control dependencies, but they belong to no node's own edges.
  void AddControlEdges() {
    for (const xla::HloInstruction* instruction : controlled_) {
      for (const xla::HloInstruction* predecessor : instruction->control_predecessors()) {
        AddEdge(Node(predecessor), Node(instruction), EdgeType::kControl, 0);
      }
    }
    controlled_.clear();
  }

  void AddComputation(const xla::HloComputation& computation) {
    first_edge_[node_] = columns_.edge_type.size();
    columns_.opcode[node_] = -1;
    FinishNode(NodeType::kComputation,
               {computation_index_.at(&computation), computation.IsEntryComputation()},
               computation.root_instruction()->shape(), computation.name());
  }

  // Fills the columns that all nodes have, and goes on to the next node.
  void FinishNode(NodeType type, Owner owner, const xla::Shape& shape, absl::string_view name) {
    columns_.node_type[node_] = static_cast<uint8_t>(type);
    columns_.computation[node_] = owner.computation;
    columns_.is_entry[node_] = owner.is_entry;
    AddShape(shape);
    if (which_ == Columns::kAll) {
      columns_.name_text.insert(columns_.name_text.end(), name.begin(), name.end());
      columns_.name_offsets[node_ + 1] = columns_.name_text.size();
    }
    columns_.attribute_offsets[node_ + 1] = columns_.attribute_key.size();
    ++node_;
  }

  void AddShape(const xla::Shape& shape) {
    const Size size = shape.IsArray() ? AddDims(shape) : SizeOfLeaves(shape);
    columns_.element_type[node_] = static_cast<uint8_t>(shape.element_type());
    columns_.elements[node_] = size.elements;
    columns_.bytes[node_] = size.bytes;
    columns_.dim_offsets[node_ + 1] = columns_.dim_size.size();
  }

  Size AddDims(const xla::Shape& shape) {
    const absl::Span<const int64_t> dims = shape.dimensions();
    const absl::Span<const bool> dynamic = shape.dynamic_dimensions();
    columns_.dim_size.insert(columns_.dim_size.end(), dims.begin(), dims.end());
    columns_.dim_is_dynamic.insert(columns_.dim_is_dynamic.end(), dynamic.begin(), dynamic.end());
    if (which_ == Columns::kForFeatures) return SizeOf(shape);
    if (shape.has_layout() && shape.layout().minor_to_major().size() == dims.size()) {
      const absl::Span<const int64_t> layout = shape.layout().minor_to_major();
      columns_.dim_layout.insert(columns_.dim_layout.end(), layout.begin(), layout.end());
    } else {
      columns_.dim_layout.insert(columns_.dim_layout.end(), dims.size(), -1);
    }
    return SizeOf(shape);
  }

  void AddEdge(int64_t source, int64_t target, EdgeType type, int32_t position) {
    columns_.edge_index.push_back(source);
    targets_.push_back(target);
    columns_.edge_type.push_back(static_cast<uint8_t>(type));
    columns_.edge_position.push_back(position);
  }

  const xla::HloModule& module_;
  const Columns which_;
  const std::vector<xla::HloComputation*> computations_;
  const int64_t first_computation_;
  absl::flat_hash_map<const xla::HloComputation*, int32_t> computation_index_;
  int64_t node_ = 0;
  std::vector<int64_t> node_by_local_id_;
  std::vector<const xla::HloInstruction*> controlled_;
  std::vector<int64_t> first_edge_;  // by node
  std::vector<int64_t> targets_;     // appended to edge_index at the end
  GraphColumns columns_;
  AttributeColumns attributes_;
};

}  // namespace

GraphColumns BuildGraph(const xla::HloModule& module, Columns which) {
  return GraphBuilder(module, which).Build();
}

}  // namespace hlograph
