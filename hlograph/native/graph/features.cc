#include "hlograph/native/graph/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/node_facts.h"
#include "hlograph/native/graph/traits.h"
#include "hlograph/native/module/vocabulary.h"

namespace hlograph {
namespace {

constexpr float kSizeScale = 1.0f / 16;
constexpr float kDegreeScale = 1.0f / 4;

// log2(1 + size); nearly all sizes are small, and a look is a tenth of the time of a logarithm.
float LogOf(int64_t size) {
  constexpr int64_t kKnown = 1024;
  static const auto* const known = [] {
    auto* logs = new std::array<float, kKnown>();
    for (int64_t i = 0; i < kKnown; ++i) (*logs)[i] = std::log2(static_cast<float>(i + 1));
    return logs;
  }();
  if (size <= 0) return 0;
  return size < kKnown ? (*known)[size] : std::log2(static_cast<float>(size) + 1);
}

// Of the one value of a literal, cut off at +-3.
float LiteralFeature(AttributeKey key, int64_t bits) {
  double value = static_cast<double>(bits);
  if (key == AttributeKey::kLiteralFloats) std::memcpy(&value, &bits, sizeof(value));
  // fmin of a NaN and 3 is 3.
  const double magnitude = std::fmin(std::log2(1 + std::abs(value)) * 0.25, 3);
  return static_cast<float>(std::copysign(magnitude, value));
}

using ByteBits = std::array<float, 8>;
static_assert(static_cast<int>(Trait::kCount) == 32, "traits are written byte by byte");

// The bits of each byte, from the lowest, as floats.
const std::array<ByteBits, 256>& Bits() {
  static const auto* const bits = [] {
    auto* table = new std::array<ByteBits, 256>();
    for (int byte = 0; byte < 256; ++byte) {
      for (int bit = 0; bit < 8; ++bit) (*table)[byte][bit] = (byte >> bit) & 1;
    }
    return table;
  }();
  return *bits;
}

// Operands and users of a node; the users of a computation are its callers.
struct Degrees {
  int32_t operands = 0;
  int32_t users = 0;
};

std::vector<Degrees> DegreesOf(const Graph& graph) {
  std::vector<Degrees> degrees(graph.nodes.size());
  for (const Edge& edge : graph.edges) {
    if (edge.type == EdgeType::kData) {
      ++degrees[edge.target].operands;
      ++degrees[edge.source].users;
    } else if (edge.type == EdgeType::kCall) {
      ++degrees[edge.target].users;
    }
  }
  return degrees;
}

constexpr size_t At(NodeFeature feature) { return static_cast<size_t>(feature); }

void WriteNode(const Node& node, Degrees degrees, float* row) {
  std::memcpy(row, node.facts->features.data(), sizeof(FirstFeatures));
  row[At(NodeFeature::kLogOperands)] = LogOf(degrees.operands) * kDegreeScale;
  row[At(NodeFeature::kLogUsers)] = LogOf(degrees.users) * kDegreeScale;
  row[At(NodeFeature::kIsRoot)] = node.is_root;
  row[At(NodeFeature::kIsEntry)] = node.is_entry;
  for (size_t byte = 0; byte < sizeof(node.traits); ++byte) {
    std::memcpy(row + At(NodeFeature::kTraits) + 8 * byte,
                Bits()[(node.traits >> 8 * byte) & 0xff].data(), sizeof(ByteBits));
  }
}

}  // namespace

FirstFeatures FirstFeaturesOf(const NodeFacts& facts) {
  const size_t opcode = facts.opcode < 0 ? OpcodeNames().size() : facts.opcode;
  FirstFeatures features = {};
  features[At(NodeFeature::kNodeType)] = static_cast<float>(facts.type);
  features[At(NodeFeature::kOpcode)] = opcode;
  features[At(NodeFeature::kElementType)] = facts.element_type;
  features[At(NodeFeature::kLogElements)] = LogOf(facts.elements) * kSizeScale;
  features[At(NodeFeature::kLogBytes)] = LogOf(facts.bytes) * kSizeScale;
  features[At(NodeFeature::kRank)] = facts.dims.size() * 0.25f;
  const size_t kept = std::min(facts.dims.size(), kFeatureDims);
  for (size_t i = 0; i < kept; ++i) {
    const int64_t dim = facts.dims[facts.dims.size() - 1 - i];
    features[At(NodeFeature::kLogDims) + i] = LogOf(dim) * kSizeScale;
  }
  return features;
}

void AddFeature(FirstFeatures& features, AttributeKey key, absl::Span<const int64_t> values) {
  if (key == AttributeKey::kLhsContractingDimensions) {
    features[At(NodeFeature::kContractingDims)] = values.size() * 0.25f;
  } else if (values.size() == 1 &&
             (key == AttributeKey::kLiteralInts || key == AttributeKey::kLiteralFloats)) {
    features[At(NodeFeature::kLiteral)] = LiteralFeature(key, values[0]);
  }
}

GraphFeatures FeaturesOf(const Graph& graph, size_t further) {
  GraphFeatures features;
  features.num_nodes = graph.nodes.size();
  features.num_edges = graph.edges.size();
  features.columns = kNodeFeatures + further;
  // Not filled with zeros, as a vector would be.
  features.nodes.reset(new float[features.num_nodes * features.columns]);
  features.edges.reset(new float[features.num_edges * kEdgeFeatures]);
  features.links.reset(new int64_t[2 * features.num_edges]);
  const std::vector<Degrees> degrees = DegreesOf(graph);
  for (size_t i = 0; i < features.num_nodes; ++i) {
    WriteNode(graph.nodes[i], degrees[i], features.nodes.get() + i * features.columns);
  }
  for (size_t i = 0; i < features.num_edges; ++i) {
    const Edge& edge = graph.edges[i];
    features.edges[i * kEdgeFeatures] = static_cast<float>(edge.type);
    features.edges[i * kEdgeFeatures + 1] = edge.position;
    features.links[i] = edge.source;
    features.links[features.num_edges + i] = edge.target;
  }
  return features;
}

}  // namespace hlograph
