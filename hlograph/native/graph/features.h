// Arrays of floats that describe a graph to a neural network; the same as those that
// hlograph/graph/features.py computes from an HloGraph.
#ifndef HLOGRAPH_NATIVE_GRAPH_FEATURES_H_
#define HLOGRAPH_NATIVE_GRAPH_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/traits.h"

namespace hlograph {

// Number of dimensions with features of their own, counted from the last.
inline constexpr size_t kFeatureDims = 6;

// The columns of a node, in the order of NODE_FEATURES in hlograph/graph/features.py, which a test
// holds against this; the traits follow.
enum class NodeFeature : size_t {
  kNodeType,
  kOpcode,
  kElementType,
  kLogElements,
  kLogBytes,
  kLogDims,
  kLogOperands = kLogDims + kFeatureDims,
  kLogUsers,
  kRank,
  kContractingDims,
  kLiteral,
  kIsRoot,
  kIsEntry,
  kTraits,
};

inline constexpr size_t kNodeFeatures =
    static_cast<size_t>(NodeFeature::kTraits) + static_cast<size_t>(Trait::kCount);
inline constexpr size_t kEdgeFeatures = 2;  // type and position

struct GraphFeatures {
  std::vector<float> nodes;    // [nodes, kNodeFeatures]
  std::vector<float> edges;    // [edges, kEdgeFeatures]
  std::vector<int64_t> links;  // [2, edges]: sources, then targets
};

// Takes the links out of the columns.
GraphFeatures FeaturesOf(GraphColumns columns);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_FEATURES_H_
