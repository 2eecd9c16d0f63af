#include "hlograph/native/graph/literals.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/index_util.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"

namespace hlograph {
namespace {

int64_t DoubleBits(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// One element of an integer, boolean or real literal, as an int64 or as the
// bits of a double; nothing for other types (complex).
std::optional<int64_t> Element(const xla::Literal& literal, int64_t index) {
  const xla::PrimitiveType type = literal.shape().element_type();
  if (type == xla::PRED || xla::primitive_util::IsIntegralType(type)) {
    return literal.GetIntegralAsS64(
        literal.shape().dimensions().empty()
            ? absl::Span<const int64_t>()
            : xla::IndexUtil::LinearIndexToMultidimensionalIndex(literal.shape(), index));
  }
  if (!xla::primitive_util::IsFloatingPointType(type)) return std::nullopt;
  std::optional<double> value = literal.GetAsDouble(
      literal.shape().dimensions().empty()
          ? absl::Span<const int64_t>()
          : xla::IndexUtil::LinearIndexToMultidimensionalIndex(literal.shape(), index));
  if (!value) return std::nullopt;
  return DoubleBits(*value);
}

}  // namespace

void VisitLiteral(const xla::HloInstruction& instruction, AttributeSink& sink) {
  if (instruction.opcode() != xla::HloOpcode::kConstant) return;
  const auto* constant = xla::Cast<xla::HloConstantInstruction>(&instruction);
  if (!constant->HasLiteral() || !constant->literal().shape().IsArray()) return;
  const xla::Literal& literal = constant->literal();
  const int64_t elements = literal.element_count();
  if (elements == 0) return;
  const bool splat = elements > 1 && literal.IsAllFirst();
  if (!splat && elements > kMaxLiteralElements) return;
  absl::InlinedVector<int64_t, kMaxLiteralElements> values;
  for (int64_t i = 0; i < (splat ? 1 : elements); ++i) {
    const std::optional<int64_t> value = Element(literal, i);
    if (!value) return;
    values.push_back(*value);
  }
  const bool is_float = xla::primitive_util::IsFloatingPointType(literal.shape().element_type());
  sink.Ints(is_float ? AttributeKey::kLiteralFloats : AttributeKey::kLiteralInts, values);
  if (splat) {
    const int64_t one = 1;
    sink.Ints(AttributeKey::kLiteralIsSplat, {&one, 1});
  }
}

}  // namespace hlograph
