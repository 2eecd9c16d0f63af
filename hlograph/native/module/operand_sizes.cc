#include "hlograph/native/module/operand_sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

double Elements(const xla::Shape& shape) {
  double elements = 0;
  if (shape.IsTuple()) {
    for (const xla::Shape& part : shape.tuple_shapes()) elements += Elements(part);
  } else if (shape.IsArray()) {
    elements = 1;
    for (int64_t size : shape.dimensions()) elements *= std::max<int64_t>(size, 0);
  }
  return elements;
}

double Bytes(const xla::Shape& shape) {
  if (shape.IsArray()) {
    return Elements(shape) * xla::primitive_util::ByteWidth(shape.element_type());
  }
  double bytes = 0;
  if (shape.IsTuple()) {
    for (const xla::Shape& part : shape.tuple_shapes()) bytes += Bytes(part);
  }
  return bytes;
}

double Weight(const xla::Shape& shape) {
  if (!shape.IsArray()) return 1;
  switch (shape.element_type()) {
    case xla::F64:
    case xla::S64:
    case xla::U64:
    case xla::C64:
      return 2;
    case xla::C128:
      return 4;
    default:
      return 1;
  }
}

double Weighed(const xla::Shape& shape) { return Elements(shape) * Weight(shape); }

double Dimension(const xla::Shape& shape, int64_t dimension) {
  const int64_t rank = shape.IsArray() ? shape.dimensions().size() : 0;
  if (dimension < 0 || dimension >= rank) return 1;
  return std::max<int64_t>(shape.dimensions(static_cast<int>(dimension)), 0);
}

bool IsFloat(const xla::Shape& shape) {
  return shape.IsArray() && xla::primitive_util::IsFloatingPointType(shape.element_type());
}

const xla::Shape& OperandShape(const xla::HloInstruction* instruction, int64_t number) {
  return instruction->operand(number)->shape();
}

double Logarithm(double number) { return std::ceil(std::log2(std::max(number, 2.0))); }

}  // namespace hlograph
