// Arrays of floats that describe a graph to a neural network; the same as those that
// hlograph/graph/features.py computes from an HloGraph.
#ifndef HLOGRAPH_NATIVE_GRAPH_FEATURES_H_
#define HLOGRAPH_NATIVE_GRAPH_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/node_facts.h"
#include "hlograph/native/graph/traits.h"

namespace hlograph {

inline constexpr size_t kNodeFeatures =
    static_cast<size_t>(NodeFeature::kTraits) + static_cast<size_t>(Trait::kCount);
inline constexpr size_t kEdgeFeatures = 2;  // type and position

// The features that the type, opcode and shape of a node tell.
FirstFeatures FirstFeaturesOf(const NodeFacts& facts);
// Adds that of an attribute, if it has one.
void AddFeature(FirstFeatures& features, AttributeKey key, absl::Span<const int64_t> values);

struct GraphFeatures {
  size_t num_nodes = 0;
  size_t num_edges = 0;
  size_t columns = 0;                // kNodeFeatures, and those that the caller fills
  std::unique_ptr<float[]> nodes;    // [nodes, columns]
  std::unique_ptr<float[]> edges;    // [edges, kEdgeFeatures]
  std::unique_ptr<int64_t[]> links;  // [2, edges]: sources, then targets
};

// Rows have `further` columns more, which are not written.
GraphFeatures FeaturesOf(const Graph& graph, size_t further = 0);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_FEATURES_H_
