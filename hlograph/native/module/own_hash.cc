#include "hlograph/native/module/own_hash.h"

#include <cstddef>
#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/module/hasher.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

bool IsDefaultLayout(const xla::Layout& layout, size_t rank) {
  const absl::Span<const int64_t> order = layout.minor_to_major();
  if (order.size() != rank) return false;
  for (size_t i = 0; i < rank; ++i) {
    if (order[i] != static_cast<int64_t>(rank - 1 - i)) return false;
  }
  return layout.tiles().empty() && layout.memory_space() == 0 &&
         layout.element_size_in_bits() == 0 && layout.tail_padding_alignment_in_elements() == 1 &&
         !layout.has_physical_shape() && layout.dynamic_shape_metadata_prefix_bytes() == 0;
}

absl::string_view BytesOf(const xla::Literal& literal) {
  return {static_cast<const char*>(literal.untyped_data()),
          static_cast<size_t>(literal.size_bytes())};
}

// Whether the elements of an array are stored in another order than the default.
bool IsReordered(const xla::Literal& literal) {
  const xla::Shape& shape = literal.shape();
  return shape.dimensions().size() > 1 && shape.has_layout() &&
         !xla::LayoutUtil::IsMonotonicWithDim0Major(shape.layout());
}

// Null if there is none.
const xla::Literal* LiteralOf(const xla::HloInstruction& instruction) {
  if (instruction.opcode() != xla::HloOpcode::kConstant) return nullptr;
  const auto* constant = xla::Cast<xla::HloConstantInstruction>(&instruction);
  return constant->HasLiteral() ? &constant->literal() : nullptr;
}

void AddLiteral(const xla::Literal& literal, Hasher& hasher) {
  if (!literal.shape().IsArray()) {
    hasher.Add(literal.ToString());
  } else if (IsReordered(literal)) {
    const int64_t rank = literal.shape().dimensions().size();
    hasher.Add(BytesOf(literal.Relayout(xla::LayoutUtil::GetDefaultLayoutForRank(rank))));
  } else {
    hasher.Add(BytesOf(literal));
  }
}

class HashingSink : public AttributeSink {
 public:
  explicit HashingSink(Hasher& hasher) : hasher_(hasher) {}
  void Ints(AttributeKey key, absl::Span<const int64_t> values) override {
    hasher_.Add(static_cast<uint64_t>(key));
    hasher_.Add(values);
  }
  void Text(AttributeKey key, absl::string_view text) override {
    hasher_.Add(static_cast<uint64_t>(key));
    hasher_.Add(text);
  }

 private:
  Hasher& hasher_;
};

}  // namespace

void AddShape(const xla::Shape& shape, Hasher& hasher) {
  hasher.Add(static_cast<uint64_t>(shape.element_type()));
  if (shape.IsTuple()) {
    hasher.Add(shape.tuple_shapes().size());
    for (const xla::Shape& element : shape.tuple_shapes()) AddShape(element, hasher);
    return;
  }
  if (!shape.IsArray()) return;
  const absl::Span<const int64_t> dimensions = shape.dimensions();
  hasher.Add(dimensions);
  const absl::Span<const bool> dynamic = shape.dynamic_dimensions();
  if (absl::c_linear_search(dynamic, true)) {
    for (bool is_dynamic : dynamic) hasher.Add(static_cast<uint64_t>(is_dynamic));
  }
  // No layout and the default one are the same state: XLA's printer and parser
  // turn one into the other.
  if (!shape.has_layout()) return;
  const xla::Layout& layout = shape.layout();
  if (!IsDefaultLayout(layout, dimensions.size())) hasher.Add(layout.ToString());
}

void AddInstruction(const xla::HloInstruction& instruction, Hasher& hasher) {
  hasher.Add(static_cast<uint64_t>(instruction.opcode()));
  AddShape(instruction.shape(), hasher);
  HashingSink sink(hasher);
  VisitAttributes(instruction, sink);
  if (const xla::Literal* literal = LiteralOf(instruction)) AddLiteral(*literal, hasher);
}

Hash OwnHash(const xla::HloInstruction& instruction, Hasher hasher) {
  // The fingerprint sees the elements of a literal in the default order, however they are stored.
  const xla::Literal* literal = LiteralOf(instruction);
  if (literal != nullptr && literal->shape().IsArray() && IsReordered(*literal)) {
    hasher.Add(literal->shape().layout().ToString());
  }
  Hash state = hasher.State();
  state.low |= 1;
  return state;
}

}  // namespace hlograph
