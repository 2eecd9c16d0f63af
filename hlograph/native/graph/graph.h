// A module as nodes and edges, found in one walk.
#ifndef HLOGRAPH_NATIVE_GRAPH_GRAPH_H_
#define HLOGRAPH_NATIVE_GRAPH_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hlograph/native/graph/node_facts.h"

namespace xla {
class HloComputation;
class HloInstruction;
class HloModule;
}  // namespace xla

namespace hlograph {

class AttributeColumns;
class FactsTable;
class OwnHashes;

enum class EdgeType : uint8_t { kData, kControl, kCall, kMember };

// Numbers of nodes and edges fit into 31 bits, as the bytes of HLO text do.
struct Edge {
  int32_t source = 0;
  int32_t target = 0;
  int32_t position = 0;  // operand or called position; 0 otherwise
  EdgeType type = EdgeType::kData;
};

struct Node {
  const NodeFacts* facts = nullptr;
  // Its own edges, operands first and then callees, begin here and end where the next node's begin.
  // Among those of the last node of a computation are control edges and the computation's own.
  int32_t first_edge = 0;
  int32_t computation = 0;  // index among computations
  uint32_t traits = 0;      // bits, see traits.h
  bool is_root = false;
  bool is_entry = false;
};

// Nodes are numbered computation by computation, callees first, operands before users; the
// computations themselves come last, in the same order.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<const xla::HloInstruction*> instructions;  // by node
  std::vector<xla::HloComputation*> computations;

  // Where the own edges of a node end.
  int32_t EndOfEdges(size_t node) const {
    return node + 1 < nodes.size() ? nodes[node + 1].first_edge : edges.size();
  }
};

// Looks facts up by the hashes of instructions that are known. If there are `attributes`, those of
// the nodes are added to them. The graph is valid until the module changes or the table forgets.
Graph BuildGraph(const xla::HloModule& module, const OwnHashes& own_hashes, FactsTable& table,
                 AttributeColumns* attributes = nullptr);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_GRAPH_H_
