#include "hlograph/native/graph/graph.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/attributes.h"
#include "hlograph/native/graph/facts_table.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/literals.h"
#include "hlograph/native/graph/node_facts.h"
#include "hlograph/native/graph/prefetch.h"
#include "hlograph/native/graph/redundancy.h"
#include "hlograph/native/graph/traits.h"
#include "hlograph/native/module/hasher.h"
#include "hlograph/native/module/own_hashes.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hlograph {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const xla::HloModule& module, const OwnHashes& own_hashes, FactsTable& table,
               AttributeColumns* attributes)
      : own_hashes_(own_hashes),
        table_(table),
        attributes_(attributes),
        first_computation_(module.instruction_count()) {
    graph_.computations = module.MakeComputationPostOrder();
  }

  Graph Build() && {
    Reserve();
    const int32_t computations = graph_.computations.size();
    for (int32_t i = 0; i < computations; ++i) {
      computation_index_.emplace(graph_.computations[i], i);
    }
    for (int32_t i = 0; i < computations; ++i) AddInstructions(*graph_.computations[i], i);
    for (int32_t i = 0; i < computations; ++i) AddComputation(i);
    AddTraits(graph_);
    AddRedundancyTraits(graph_);
    return std::move(graph_);
  }

 private:
  void Reserve() {
    const size_t nodes = first_computation_ + graph_.computations.size();
    graph_.nodes.reserve(nodes);
    graph_.edges.reserve(2 * nodes);
    graph_.instructions.reserve(first_computation_);
    roots_.reserve(graph_.computations.size());
  }

  void AddInstructions(const xla::HloComputation& computation, int32_t index) {
    const bool is_entry = computation.IsEntryComputation();
    own_ = own_hashes_.Of(computation);
    node_by_local_id_.assign(computation.next_unique_instruction_internal_id(), -1);
    Prefetch(computation);
    const std::vector<xla::HloInstruction*> instructions = computation.MakeInstructionPostOrder();
    graph_.instructions.insert(graph_.instructions.end(), instructions.begin(), instructions.end());
    for (const xla::HloInstruction* instruction : instructions) {
      AddInstruction(*instruction, index, is_entry);
    }
    const int32_t root = NodeOf(computation.root_instruction());
    graph_.nodes[root].is_root = true;
    roots_.push_back(root);
    AddControlEdges();
    AddEdge(first_computation_ + index, root, EdgeType::kMember, 0);
  }

  void AddInstruction(const xla::HloInstruction& instruction, int32_t computation, bool is_entry) {
    const int32_t number = graph_.nodes.size();
    node_by_local_id_[instruction.local_id()] = number;
    AddNode(FactsOf(instruction), computation, is_entry);
    int32_t position = 0;
    for (const xla::HloInstruction* operand : instruction.operands()) {
      AddEdge(NodeOf(operand), number, EdgeType::kData, position++);
    }
    if (instruction.has_called_computations()) AddCallEdges(instruction, number);
    if (!instruction.control_predecessors().empty()) controlled_.push_back(&instruction);
  }

  const NodeFacts& FactsOf(const xla::HloInstruction& instruction) {
    constexpr Hash kUnknown;
    const size_t id = instruction.local_id();
    if (id >= own_.size() || own_[id] == kUnknown) {
      NodeFacts& facts = table_.Fresh();
      ReadFacts(instruction, facts, attributes_);
      return facts;
    }
    if (attributes_ != nullptr) {
      VisitAttributes(instruction, *attributes_);
      VisitLiteral(instruction, *attributes_);
    }
    return table_.Of(instruction, own_[id]);
  }

  int32_t NodeOf(const xla::HloInstruction* instruction) const {
    return node_by_local_id_[instruction->local_id()];
  }

  void AddCallEdges(const xla::HloInstruction& instruction, int32_t number) {
    int32_t position = 0;
    for (const xla::HloComputation* callee : instruction.called_computations()) {
      const int32_t target = first_computation_ + computation_index_.at(callee);
      AddEdge(number, target, EdgeType::kCall, position++);
    }
  }

  // Behind all other edges of the computation: the post-order that numbers the
  // nodes knows control dependencies, but they belong to no node's own edges.
  void AddControlEdges() {
    for (const xla::HloInstruction* instruction : controlled_) {
      for (const xla::HloInstruction* predecessor : instruction->control_predecessors()) {
        AddEdge(NodeOf(predecessor), NodeOf(instruction), EdgeType::kControl, 0);
      }
    }
    controlled_.clear();
  }

  void AddComputation(int32_t index) {
    const Node& root = graph_.nodes[roots_[index]];
    NodeFacts& facts = table_.Fresh();
    facts = FactsOfComputation(*root.facts);
    AddNode(facts, index, graph_.computations[index]->IsEntryComputation());
  }

  // Written in place: a node or edge that is copied is read before it was written whole, for which
  // processors wait.
  void AddNode(const NodeFacts& facts, int32_t computation, bool is_entry) {
    const int32_t first_edge = graph_.edges.size();
    Node& node = graph_.nodes.emplace_back();
    node.facts = &facts;
    node.first_edge = first_edge;
    node.computation = computation;
    node.traits = facts.traits;
    node.is_entry = is_entry;
    if (attributes_ != nullptr) attributes_->FinishNode();
  }

  void AddEdge(int32_t source, int32_t target, EdgeType type, int32_t position) {
    Edge& edge = graph_.edges.emplace_back();
    edge.source = source;
    edge.target = target;
    edge.position = position;
    edge.type = type;
  }

  const OwnHashes& own_hashes_;
  FactsTable& table_;
  AttributeColumns* const attributes_;
  const int32_t first_computation_;
  absl::flat_hash_map<const xla::HloComputation*, int32_t> computation_index_;
  std::vector<int32_t> roots_;  // by computation
  Graph graph_;
  // Of the computation at hand.
  absl::Span<const Hash> own_;  // by local id
  std::vector<int32_t> node_by_local_id_;
  std::vector<const xla::HloInstruction*> controlled_;
};

}  // namespace

Graph BuildGraph(const xla::HloModule& module, const OwnHashes& own_hashes, FactsTable& table,
                 AttributeColumns* attributes) {
  return GraphBuilder(module, own_hashes, table, attributes).Build();
}

}  // namespace hlograph
