#include "hlograph/native/graph/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "hlograph/native/graph/graph.h"
#include "hlograph/native/graph/instruction_attributes.h"
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

class FeatureWriter {
 public:
  explicit FeatureWriter(const GraphColumns& columns)
      : columns_(columns),
        num_nodes_(columns.node_type.size()),
        num_edges_(columns.edge_type.size()),
        opcode_of_computation_(OpcodeNames().size()) {}

  std::vector<float> Nodes() {
    CountDegrees();
    nodes_.resize(num_nodes_ * kNodeFeatures);
    for (size_t node = 0; node < num_nodes_; ++node) WriteNode(node);
    return std::move(nodes_);
  }

  std::vector<float> Edges() const {
    std::vector<float> edges(num_edges_ * kEdgeFeatures);
    for (size_t edge = 0; edge < num_edges_; ++edge) {
      edges[edge * kEdgeFeatures] = columns_.edge_type[edge];
      edges[edge * kEdgeFeatures + 1] = columns_.edge_position[edge];
    }
    return edges;
  }

 private:
  // Operands and users of each node; the users of a computation are its callers.
  void CountDegrees() {
    operands_.resize(num_nodes_);
    users_.resize(num_nodes_);
    for (size_t edge = 0; edge < num_edges_; ++edge) {
      const int64_t target = columns_.edge_index[num_edges_ + edge];
      const auto type = static_cast<EdgeType>(columns_.edge_type[edge]);
      if (type == EdgeType::kData) {
        ++operands_[target];
        ++users_[columns_.edge_index[edge]];
      } else if (type == EdgeType::kCall) {
        ++users_[target];
      }
    }
  }

  void WriteNode(size_t node) {
    row_ = nodes_.data() + node * kNodeFeatures;
    const int16_t opcode = columns_.opcode[node];
    Feature(NodeFeature::kNodeType) = columns_.node_type[node];
    Feature(NodeFeature::kOpcode) = opcode < 0 ? opcode_of_computation_ : opcode;
    Feature(NodeFeature::kElementType) = columns_.element_type[node];
    Feature(NodeFeature::kLogElements) = LogOf(columns_.elements[node]) * kSizeScale;
    Feature(NodeFeature::kLogBytes) = LogOf(columns_.bytes[node]) * kSizeScale;
    Feature(NodeFeature::kLogOperands) = LogOf(operands_[node]) * kDegreeScale;
    Feature(NodeFeature::kLogUsers) = LogOf(users_[node]) * kDegreeScale;
    Feature(NodeFeature::kIsRoot) = columns_.is_root[node];
    Feature(NodeFeature::kIsEntry) = columns_.is_entry[node];
    WriteDims(columns_.dim_offsets[node], columns_.dim_offsets[node + 1]);
    WriteAttributes(columns_.attribute_offsets[node], columns_.attribute_offsets[node + 1]);
    WriteTraits(columns_.traits[node]);
  }

  void WriteTraits(uint32_t traits) {
    float* to = &Feature(NodeFeature::kTraits);
    for (size_t byte = 0; byte < sizeof(traits); ++byte) {
      std::memcpy(to + 8 * byte, Bits()[(traits >> 8 * byte) & 0xff].data(), sizeof(ByteBits));
    }
  }

  void WriteDims(int64_t begin, int64_t end) {
    Feature(NodeFeature::kRank) = (end - begin) * 0.25f;
    float* logs = &Feature(NodeFeature::kLogDims);
    const int64_t kept = std::min<int64_t>(end - begin, kFeatureDims);
    for (int64_t i = 0; i < kept; ++i) {
      logs[i] = LogOf(columns_.dim_size[end - 1 - i]) * kSizeScale;
    }
  }

  void WriteAttributes(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto key = static_cast<AttributeKey>(columns_.attribute_key[i]);
      const int64_t value = columns_.value_offsets[i];
      const int64_t length = columns_.value_offsets[i + 1] - value;
      if (key == AttributeKey::kLhsContractingDimensions) {
        Feature(NodeFeature::kContractingDims) = length * 0.25f;
      } else if (length == 1 &&
                 (key == AttributeKey::kLiteralInts || key == AttributeKey::kLiteralFloats)) {
        Feature(NodeFeature::kLiteral) = LiteralFeature(key, columns_.attribute_values[value]);
      }
    }
  }

  float& Feature(NodeFeature feature) { return row_[static_cast<size_t>(feature)]; }

  const GraphColumns& columns_;
  const size_t num_nodes_;
  const size_t num_edges_;
  const int64_t opcode_of_computation_;
  std::vector<int64_t> operands_;
  std::vector<int64_t> users_;
  std::vector<float> nodes_;
  float* row_ = nullptr;  // of the node at hand
};

}  // namespace

GraphFeatures FeaturesOf(GraphColumns columns) {
  FeatureWriter writer(columns);
  GraphFeatures features = {writer.Nodes(), writer.Edges(), {}};
  features.links = std::move(columns.edge_index);
  return features;
}

}  // namespace hlograph
