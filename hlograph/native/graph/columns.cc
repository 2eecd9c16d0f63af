#include "hlograph/native/graph/columns.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/attributes.h"
#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/node_facts.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/layout.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

class ColumnBuilder {
 public:
  ColumnBuilder(const Graph& graph, GraphColumns& columns) : graph_(graph), columns_(columns) {}

  void Build() && {
    Reserve();
    for (const Node& node : graph_.nodes) AddNode(node);
    for (const xla::HloInstruction* instruction : graph_.instructions) {
      FinishNode(instruction->shape(), instruction->name());
    }
    for (const xla::HloComputation* computation : graph_.computations) {
      FinishNode(computation->root_instruction()->shape(), computation->name());
    }
    AddEdges();
  }

 private:
  void Reserve() {
    const size_t nodes = graph_.nodes.size();
    columns_.node_type.reserve(nodes);
    columns_.opcode.reserve(nodes);
    columns_.element_type.reserve(nodes);
    columns_.elements.reserve(nodes);
    columns_.bytes.reserve(nodes);
    columns_.computation.reserve(nodes);
    columns_.is_root.reserve(nodes);
    columns_.is_entry.reserve(nodes);
    columns_.traits.reserve(nodes);
    columns_.dim_size.reserve(2 * nodes);
    columns_.dim_layout.reserve(2 * nodes);
    columns_.dim_is_dynamic.reserve(2 * nodes);
    columns_.name_text.reserve(20 * nodes);
    for (std::vector<int64_t>* offsets : {&columns_.dim_offsets, &columns_.name_offsets}) {
      offsets->reserve(nodes + 1);
      offsets->push_back(0);
    }
  }

  void AddNode(const Node& node) {
    columns_.node_type.push_back(static_cast<uint8_t>(node.facts->type));
    columns_.opcode.push_back(node.facts->opcode);
    columns_.element_type.push_back(node.facts->element_type);
    columns_.elements.push_back(node.facts->elements);
    columns_.bytes.push_back(node.facts->bytes);
    columns_.computation.push_back(node.computation);
    columns_.is_root.push_back(node.is_root);
    columns_.is_entry.push_back(node.is_entry);
    columns_.traits.push_back(node.traits);
  }

  // Adds dimensions and name, and goes on to the next node.
  void FinishNode(const xla::Shape& shape, absl::string_view name) {
    if (shape.IsArray()) AddDims(shape);
    columns_.name_text.insert(columns_.name_text.end(), name.begin(), name.end());
    columns_.dim_offsets.push_back(columns_.dim_size.size());
    columns_.name_offsets.push_back(columns_.name_text.size());
  }

  void AddDims(const xla::Shape& shape) {
    const absl::Span<const int64_t> dims = shape.dimensions();
    const absl::Span<const bool> dynamic = shape.dynamic_dimensions();
    columns_.dim_size.insert(columns_.dim_size.end(), dims.begin(), dims.end());
    columns_.dim_is_dynamic.insert(columns_.dim_is_dynamic.end(), dynamic.begin(), dynamic.end());
    if (shape.has_layout() && shape.layout().minor_to_major().size() == dims.size()) {
      const absl::Span<const int64_t> layout = shape.layout().minor_to_major();
      columns_.dim_layout.insert(columns_.dim_layout.end(), layout.begin(), layout.end());
    } else {
      columns_.dim_layout.insert(columns_.dim_layout.end(), dims.size(), -1);
    }
  }

  void AddEdges() {
    const size_t edges = graph_.edges.size();
    columns_.edge_index.resize(2 * edges);
    columns_.edge_type.resize(edges);
    columns_.edge_position.resize(edges);
    for (size_t i = 0; i < edges; ++i) {
      const Edge& edge = graph_.edges[i];
      columns_.edge_index[i] = edge.source;
      columns_.edge_index[edges + i] = edge.target;
      columns_.edge_type[i] = static_cast<uint8_t>(edge.type);
      columns_.edge_position[i] = edge.position;
    }
  }

  const Graph& graph_;
  GraphColumns& columns_;
};

}  // namespace

GraphColumns ColumnsOf(const xla::HloModule& module, const OwnHashes& own_hashes,
                       FactsTable& table) {
  GraphColumns columns;
  AttributeColumns attributes(columns, module.instruction_count() + module.computation_count());
  const Graph graph = BuildGraph(module, own_hashes, table, &attributes);
  ColumnBuilder(graph, columns).Build();
  return columns;
}

}  // namespace hlograph
