#include "hlograph/native/graph/redundancy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/node_facts.h"
#include "hlograph/native/graph/traits.h"
#include "hlograph/native/module/hasher.h"

namespace hlograph {
namespace {

class RedundancyBuilder {
 public:
  explicit RedundancyBuilder(Graph& graph)
      : graph_(graph), first_computation_(graph.instructions.size()) {}

  void FindDuplicates() {
    hashes_.assign(graph_.nodes.size(), 0);
    size_t slots = 64;
    while (slots < 2 * first_computation_) slots *= 2;
    seen_.assign(slots, 0);
    // Callees come before callers, operands before users.
    for (size_t number = 0; number < first_computation_; ++number) {
      Node& node = graph_.nodes[number];
      AddCalleeEffects(number);
      hashes_[number] = HashOf(number);
      const size_t computation = first_computation_ + node.computation;
      if (node.is_root) hashes_[computation] = hashes_[number];
      graph_.nodes[computation].traits |= node.traits & Bit(Trait::kHasSideEffect);
      if (node.facts->type == NodeType::kParameter || HasSideEffect(node)) continue;
      if (!Insert(Mix(hashes_[number], computation))) node.traits |= Bit(Trait::kDuplicate);
    }
  }

  void FindDead() {
    live_.assign(graph_.nodes.size(), 0);
    size_t number = first_computation_;
    // Backwards: callers before callees, users before operands.
    for (size_t computation = graph_.nodes.size(); computation > first_computation_;) {
      --computation;
      live_[computation] |= graph_.nodes[computation].is_entry;
      const int32_t index = graph_.nodes[computation].computation;
      while (number > 0 && graph_.nodes[number - 1].computation == index) {
        --number;
        live_[number] |= live_[computation] && IsKept(graph_.nodes[number]);
        if (live_[number]) MarkOperandsAndCallees(number);
      }
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      graph_.nodes[i].traits |= BitIf(Trait::kDead, !live_[i]);
    }
  }

 private:
  static bool HasSideEffect(const Node& node) { return node.traits & Bit(Trait::kHasSideEffect); }

  // What dce keeps whether it is used or not.
  static bool IsKept(const Node& node) {
    constexpr uint32_t kKept = Bit(Trait::kHasSideEffect) | Bit(Trait::kHasControl);
    return node.is_root || node.facts->type == NodeType::kParameter || (node.traits & kKept);
  }

  void MarkOperandsAndCallees(size_t number) {
    const int32_t end = graph_.EndOfEdges(number);
    for (int32_t i = graph_.nodes[number].first_edge; i < end; ++i) {
      const Edge& edge = graph_.edges[i];
      if (edge.type == EdgeType::kData) live_[edge.source] = 1;
      if (edge.type == EdgeType::kCall) live_[edge.target] = 1;
    }
  }

  void AddCalleeEffects(size_t number) {
    const int32_t end = graph_.EndOfEdges(number);
    for (int32_t i = graph_.nodes[number].first_edge; i < end; ++i) {
      const Edge& edge = graph_.edges[i];
      if (edge.type != EdgeType::kCall) continue;
      graph_.nodes[number].traits |= graph_.nodes[edge.target].traits & Bit(Trait::kHasSideEffect);
    }
  }

  // Whether the hash is new. Open addressing, at most half full: one cache line a node.
  bool Insert(uint64_t hash) {
    hash |= 1;  // 0 marks a free slot
    size_t slot = (hash >> 8) & (seen_.size() - 1);
    while (seen_[slot] != 0) {
      if (seen_[slot] == hash) return false;
      slot = (slot + 1) & (seen_.size() - 1);
    }
    seen_[slot] = hash;
    return true;
  }

  // Of all that an instruction computes, whatever its name or layout.
  uint64_t HashOf(size_t number) const {
    const Node& node = graph_.nodes[number];
    uint64_t hash = node.facts->hash;
    const int32_t end = graph_.EndOfEdges(number);
    for (int32_t i = node.first_edge; i < end; ++i) {
      const Edge& edge = graph_.edges[i];
      if (edge.type == EdgeType::kData) hash = Mix(hash, hashes_[edge.source]);
      if (edge.type == EdgeType::kCall) hash = Mix(hash, hashes_[edge.target]);
    }
    // Two constants whose values are not in the graph may differ, and so may two
    // calls of an effect: their node is part of the hash.
    return node.facts->is_opaque || HasSideEffect(node) ? Mix(hash, number) : hash;
  }

  Graph& graph_;
  const size_t first_computation_;
  std::vector<uint64_t> hashes_;
  std::vector<uint8_t> live_;
  std::vector<uint64_t> seen_;
};

}  // namespace

void AddRedundancyTraits(Graph& graph) {
  RedundancyBuilder builder(graph);
  builder.FindDuplicates();
  builder.FindDead();
}

}  // namespace hlograph
