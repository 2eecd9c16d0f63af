// Facts about a node of a graph that do not depend on its operands, users and callees.
#ifndef HLOGRAPH_NATIVE_GRAPH_NODE_FACTS_H_
#define HLOGRAPH_NATIVE_GRAPH_NODE_FACTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "hlograph/native/graph/traits.h"

namespace xla {
class HloInstruction;
}  // namespace xla

namespace hlograph {

class AttributeSink;

enum class NodeType : uint8_t { kInstruction, kParameter, kConstant, kComputation };

// Number of dimensions with features of their own, counted from the last.
inline constexpr size_t kFeatureDims = 6;

// The columns of a node's features, in the order of NODE_FEATURES in hlograph/graph/features.py,
// which a test holds against this; the traits follow.
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

// The features before the traits.
using FirstFeatures = std::array<float, static_cast<size_t>(NodeFeature::kTraits)>;

struct NodeFacts {
  NodeType type = NodeType::kInstruction;
  bool is_opaque = false;    // a constant whose values are not among its attributes
  uint8_t element_type = 0;  // xla::PrimitiveType
  int16_t opcode = -1;       // index in the opcode vocabulary; -1: computation
  uint32_t traits = 0;       // those that take no look at other nodes
  int64_t elements = 0;      // of an array, summed over a tuple's leaves
  int64_t bytes = 0;
  uint64_t hash = 0;  // of all that an instruction computes, whatever its name or layout
  absl::InlinedVector<int64_t, kFeatureDims> dims;
  absl::InlinedVector<int64_t, kFeatureDims> dimensions;  // the attribute
  FirstFeatures features = {};  // without those that take a look at other nodes
};

// Replaces facts by those of an instruction. Tells `also` all attributes, if there is one.
void ReadFacts(const xla::HloInstruction& instruction, NodeFacts& facts,
               AttributeSink* also = nullptr);
// Of a computation, which has the shape of its root.
NodeFacts FactsOfComputation(const NodeFacts& root);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_NODE_FACTS_H_
