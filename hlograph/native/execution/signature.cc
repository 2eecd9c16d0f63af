#include "hlograph/native/execution/signature.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

// The shape with every array in row-major order, which is what numpy sees.
xla::Shape RowMajor(const xla::Shape& shape) {
  xla::Shape result = shape;
  xla::ShapeUtil::ForEachMutableSubshape(
      &result, [](xla::Shape* subshape, const xla::ShapeIndex& /*index*/) {
        if (subshape->IsArray()) {
          *subshape = xla::ShapeUtil::MakeShape(subshape->element_type(), subshape->dimensions());
        }
      });
  return result;
}

// `prefix` is what comes before the position in the shape in `ArraySpec::index`.
absl::Status AddLeaves(const xla::Shape& shape, const std::vector<int64_t>& prefix,
                       std::vector<ArraySpec>& leaves) {
  absl::Status status;
  xla::ShapeUtil::ForEachSubshape(
      shape, [&](const xla::Shape& subshape, const xla::ShapeIndex& position) {
        if (subshape.IsTuple() || !status.ok()) return;
        if (!subshape.IsArray() || !subshape.is_static()) {
          status = absl::UnimplementedError(absl::StrCat("expected arrays of fixed size, got ",
                                                         xla::ShapeUtil::HumanString(subshape)));
          return;
        }
        const absl::Span<const int64_t> dims = subshape.dimensions();
        std::vector<int64_t> index = prefix;
        index.insert(index.end(), position.begin(), position.end());
        leaves.push_back({xla::primitive_util::LowercasePrimitiveTypeName(subshape.element_type()),
                          {dims.begin(), dims.end()},
                          std::move(index),
                          xla::ShapeUtil::ElementsIn(subshape) *
                              xla::ShapeUtil::ByteSizeOfPrimitiveType(subshape.element_type())});
      });
  return status;
}

}  // namespace

absl::StatusOr<Signature> SignatureOf(const xla::HloModule& module) {
  Signature signature;
  for (const xla::HloInstruction* parameter :
       module.entry_computation()->parameter_instructions()) {
    absl::Status status =
        AddLeaves(parameter->shape(), {parameter->parameter_number()}, signature.parameters);
    if (!status.ok()) return status;
  }
  absl::Status status = AddLeaves(module.result_shape(), {}, signature.results);
  if (!status.ok()) return status;
  return signature;
}

std::vector<xla::Shape> ParameterShapes(const xla::HloModule& module) {
  std::vector<xla::Shape> shapes;
  for (const xla::HloInstruction* parameter :
       module.entry_computation()->parameter_instructions()) {
    shapes.push_back(RowMajor(parameter->shape()));
  }
  return shapes;
}

absl::StatusOr<std::vector<xla::Literal>> MakeLiterals(absl::Span<const xla::Shape> shapes,
                                                       const Signature& signature,
                                                       absl::Span<const absl::string_view> inputs) {
  if (inputs.size() != signature.parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", signature.parameters.size(), " arrays, got ", inputs.size()));
  }
  std::vector<xla::Literal> literals;
  size_t next = 0;
  for (const xla::Shape& shape : shapes) {
    absl::StatusOr<xla::Literal> made = xla::Literal::Make(shape);
    if (!made.ok()) return made.status();
    xla::Literal literal = *std::move(made);
    for (const xla::ShapeUtil::IndexedShape& leaf : xla::ShapeUtil::GetLeafShapes(shape)) {
      if (!leaf.shape.IsArray()) continue;  // an empty tuple
      const int64_t expected = signature.parameters[next].byte_size;
      if (static_cast<int64_t>(inputs[next].size()) != expected) {
        return absl::InvalidArgumentError(absl::StrCat("expected ", expected, " bytes for array ",
                                                       next, ", got ", inputs[next].size()));
      }
      if (expected > 0) {
        std::memcpy(literal.untyped_data(leaf.index), inputs[next].data(), expected);
      }
      ++next;
    }
    literals.push_back(std::move(literal));
  }
  return literals;
}

std::vector<std::string> LeafBytes(const xla::Literal& result) {
  const xla::Literal literal = result.Relayout(RowMajor(result.shape()));
  std::vector<std::string> leaves;
  for (const xla::ShapeUtil::IndexedShape& leaf : xla::ShapeUtil::GetLeafShapes(literal.shape())) {
    if (!leaf.shape.IsArray()) continue;
    leaves.emplace_back(static_cast<const char*>(literal.untyped_data(leaf.index)),
                        literal.size_bytes(leaf.index));
  }
  return leaves;
}

}  // namespace hlograph
