#include "hlograph/native/graph/redundancy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/traits.h"

namespace hlograph {
namespace {

// One multiply-fold step, as in wyhash.
uint64_t Mix(uint64_t hash, uint64_t value) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(hash ^ 0x9e3779b97f4a7c15) * (value ^ 0xd6e8feb86659fd93);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

class RedundancyBuilder {
 public:
  RedundancyBuilder(const std::vector<int64_t>& first_edge, GraphColumns& columns)
      : first_edge_(first_edge),
        columns_(columns),
        nodes_(columns.node_type.size()),
        edges_(columns.edge_type.size()),
        first_computation_(nodes_ - CountComputations()) {}

  void FindDuplicates() {
    hashes_.assign(nodes_, 0);
    size_t slots = 64;
    while (slots < 2 * static_cast<size_t>(first_computation_)) slots *= 2;
    seen_.assign(slots, 0);
    // Callees come before callers, operands before users.
    for (int64_t node = 0; node < first_computation_; ++node) {
      AddCalleeEffects(node);
      hashes_[node] = HashOf(node);
      const int64_t computation = first_computation_ + columns_.computation[node];
      if (columns_.is_root[node]) hashes_[computation] = hashes_[node];
      columns_.traits[computation] |= columns_.traits[node] & Bit(Trait::kHasSideEffect);
      if (Type(node) == NodeType::kParameter || HasSideEffect(node)) continue;
      if (!Insert(Mix(hashes_[node], computation))) {
        columns_.traits[node] |= Bit(Trait::kDuplicate);
      }
    }
  }

  void FindDead() {
    live_.assign(nodes_, 0);
    int64_t node = first_computation_;
    // Backwards: callers before callees, users before operands.
    for (int64_t computation = nodes_ - 1; computation >= first_computation_; --computation) {
      live_[computation] |= columns_.is_entry[computation];
      const int32_t index = columns_.computation[computation];
      while (node > 0 && columns_.computation[node - 1] == index) {
        --node;
        live_[node] |= live_[computation] && IsKept(node);
        if (live_[node]) MarkOperandsAndCallees(node);
      }
    }
    for (int64_t i = 0; i < nodes_; ++i) {
      if (!live_[i]) columns_.traits[i] |= Bit(Trait::kDead);
    }
  }

 private:
  NodeType Type(int64_t node) const { return static_cast<NodeType>(columns_.node_type[node]); }
  EdgeType TypeOfEdge(int64_t edge) const {
    return static_cast<EdgeType>(columns_.edge_type[edge]);
  }
  bool HasSideEffect(int64_t node) const {
    return columns_.traits[node] & Bit(Trait::kHasSideEffect);
  }

  int64_t CountComputations() const {
    int64_t count = 0;
    while (count < nodes_ && Type(nodes_ - 1 - count) == NodeType::kComputation) ++count;
    return count;
  }

  // What dce keeps whether it is used or not.
  bool IsKept(int64_t node) const {
    constexpr uint32_t kKept = Bit(Trait::kHasSideEffect) | Bit(Trait::kHasControl);
    return columns_.is_root[node] || Type(node) == NodeType::kParameter ||
           (columns_.traits[node] & kKept);
  }

  void MarkOperandsAndCallees(int64_t node) {
    for (int64_t edge = first_edge_[node]; edge < first_edge_[node + 1]; ++edge) {
      if (TypeOfEdge(edge) == EdgeType::kData) live_[columns_.edge_index[edge]] = 1;
      if (TypeOfEdge(edge) == EdgeType::kCall) live_[columns_.edge_index[edges_ + edge]] = 1;
    }
  }

  void AddCalleeEffects(int64_t node) {
    for (int64_t edge = first_edge_[node]; edge < first_edge_[node + 1]; ++edge) {
      if (TypeOfEdge(edge) != EdgeType::kCall) continue;
      const int64_t callee = columns_.edge_index[edges_ + edge];
      columns_.traits[node] |= columns_.traits[callee] & Bit(Trait::kHasSideEffect);
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
  uint64_t HashOf(int64_t node) const {
    uint64_t hash = Mix(columns_.opcode[node], columns_.element_type[node]);
    hash = Mix(hash, columns_.elements[node]);
    for (int64_t i = columns_.dim_offsets[node]; i < columns_.dim_offsets[node + 1]; ++i) {
      hash = Mix(hash, 2 * columns_.dim_size[i] + columns_.dim_is_dynamic[i]);
    }
    bool has_literal = false;
    for (int64_t i = columns_.attribute_offsets[node]; i < columns_.attribute_offsets[node + 1];
         ++i) {
      const auto key = static_cast<AttributeKey>(columns_.attribute_key[i]);
      has_literal |= key == AttributeKey::kLiteralInts || key == AttributeKey::kLiteralFloats;
      hash = Mix(hash, columns_.attribute_key[i]);
      for (int64_t j = columns_.value_offsets[i]; j < columns_.value_offsets[i + 1]; ++j) {
        hash = Mix(hash, columns_.attribute_values[j]);
      }
    }
    for (int64_t edge = first_edge_[node]; edge < first_edge_[node + 1]; ++edge) {
      if (TypeOfEdge(edge) == EdgeType::kData) {
        hash = Mix(hash, hashes_[columns_.edge_index[edge]]);
      } else if (TypeOfEdge(edge) == EdgeType::kCall) {
        hash = Mix(hash, hashes_[columns_.edge_index[edges_ + edge]]);
      }
    }
    // Two constants whose values are not in the graph may differ, and so may two
    // calls of an effect: their node is part of the hash.
    const bool is_opaque =
        (Type(node) == NodeType::kConstant && !has_literal) || HasSideEffect(node);
    return is_opaque ? Mix(hash, node) : hash;
  }

  const std::vector<int64_t>& first_edge_;
  GraphColumns& columns_;
  const int64_t nodes_;
  const int64_t edges_;
  const int64_t first_computation_;
  std::vector<uint64_t> hashes_;
  std::vector<uint8_t> live_;
  std::vector<uint64_t> seen_;
};

}  // namespace

void AddRedundancyTraits(const std::vector<int64_t>& first_edge, GraphColumns& columns) {
  RedundancyBuilder builder(first_edge, columns);
  builder.FindDuplicates();
  builder.FindDead();
}

}  // namespace hlograph
