#include "hlograph/native/graph/node_facts.h"

#include <cstddef>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/features.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/literals.h"
#include "hlograph/native/graph/own_traits.h"
#include "hlograph/native/graph/traits.h"
#include "hlograph/native/module/hasher.h"
#include "tsl/platform/fingerprint.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

NodeType TypeOf(const xla::HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case xla::HloOpcode::kParameter:
      return NodeType::kParameter;
    case xla::HloOpcode::kConstant:
      return NodeType::kConstant;
    default:
      return NodeType::kInstruction;
  }
}

struct Size {
  int64_t elements = 0;
  int64_t bytes = 0;
};

// Of an array. Dimensions without a bound count as 1; a product that does not
// fit saturates (text may say any size: nothing is allocated for it).
Size SizeOf(const xla::Shape& shape) {
  constexpr int64_t kMax = int64_t{1} << 48;
  int64_t elements = 1;
  for (int64_t dim : shape.dimensions()) {
    if (dim < 0) continue;
    if (__builtin_mul_overflow(elements, dim, &elements) || elements > kMax) elements = kMax;
  }
  return {elements, elements * xla::primitive_util::ByteWidth(shape.element_type())};
}

// Of an array, tuple, token or opaque value.
Size SizeOfLeaves(const xla::Shape& shape) {
  if (shape.IsArray()) return SizeOf(shape);
  Size sum;
  if (!shape.IsTuple()) return sum;
  for (const xla::Shape& element : shape.tuple_shapes()) {
    const Size size = SizeOfLeaves(element);
    sum.elements += size.elements;
    sum.bytes += size.bytes;
  }
  return sum;
}

// Adds what attributes tell to facts that have the shape.
class FactsOfAttributes : public AttributeSink {
 public:
  FactsOfAttributes(NodeFacts& facts, AttributeSink* also) : facts_(facts), also_(also) {}

  void Ints(AttributeKey key, absl::Span<const int64_t> values) override {
    if (also_ != nullptr) also_->Ints(key, values);
    if (key == AttributeKey::kDimensions) facts_.dimensions.assign(values.begin(), values.end());
    facts_.traits |= TraitsOfInts(key, values);
    AddFeature(facts_.features, key, values);
    facts_.hash = Mix(facts_.hash, static_cast<uint64_t>(key));
    for (int64_t value : values) facts_.hash = Mix(facts_.hash, value);
    if (key == AttributeKey::kLiteralInts || key == AttributeKey::kLiteralFloats) {
      facts_.is_opaque = false;
    }
  }

  void Text(AttributeKey key, absl::string_view text) override {
    if (also_ != nullptr) also_->Text(key, text);
    facts_.traits |= TraitsOfText(key, text);
    facts_.hash = Mix(facts_.hash, static_cast<uint64_t>(key));
    facts_.hash = Mix(facts_.hash, tsl::Fingerprint64(text));
  }

 private:
  NodeFacts& facts_;
  AttributeSink* const also_;
};

// Adds the sizes of dimensions, the trait kDynamic, and their part of the hash.
void AddDims(const xla::Shape& shape, NodeFacts& facts) {
  const absl::Span<const int64_t> dims = shape.dimensions();
  const absl::Span<const bool> dynamic = shape.dynamic_dimensions();
  facts.dims.assign(dims.begin(), dims.end());
  facts.traits |= BitIf(Trait::kDynamic, absl::c_linear_search(dynamic, true));
  for (size_t i = 0; i < dims.size(); ++i) {
    facts.hash = Mix(facts.hash, 2 * static_cast<uint64_t>(dims[i]) + dynamic[i]);
  }
}

}  // namespace

void ReadFacts(const xla::HloInstruction& instruction, NodeFacts& facts, AttributeSink* also) {
  const xla::Shape& shape = instruction.shape();
  const Size size = SizeOfLeaves(shape);
  facts.type = TypeOf(instruction);
  facts.is_opaque = facts.type == NodeType::kConstant;
  facts.element_type = static_cast<uint8_t>(shape.element_type());
  facts.opcode = static_cast<int16_t>(instruction.opcode());
  facts.traits = BitIf(Trait::kHasSideEffect, instruction.HasSideEffectNoRecurse()) |
                 BitIf(Trait::kIsSharded, instruction.has_sharding());
  facts.elements = size.elements;
  facts.bytes = size.bytes;
  facts.hash = Mix(facts.opcode, facts.element_type);
  facts.hash = Mix(facts.hash, facts.elements);
  facts.dims.clear();
  facts.dimensions.clear();
  if (shape.IsArray()) AddDims(shape, facts);
  facts.features = FirstFeaturesOf(facts);
  FactsOfAttributes sink(facts, also);
  VisitAttributes(instruction, sink);
  VisitLiteral(instruction, sink);
  if (instruction.opcode() == xla::HloOpcode::kTranspose) {
    facts.traits |= TraitsOfTranspose(facts.dimensions, facts.dims);
  }
}

NodeFacts FactsOfComputation(const NodeFacts& root) {
  NodeFacts facts;
  facts.type = NodeType::kComputation;
  facts.element_type = root.element_type;
  facts.traits = root.traits & Bit(Trait::kDynamic);
  facts.elements = root.elements;
  facts.bytes = root.bytes;
  facts.dims = root.dims;
  facts.features = FirstFeaturesOf(facts);
  return facts;
}

}  // namespace hlograph
