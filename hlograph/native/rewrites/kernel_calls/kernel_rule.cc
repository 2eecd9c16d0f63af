#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

xla::Shape InUsualLayout(const xla::Shape& shape) {
  return xla::ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), shape.dimensions());
}

}  // namespace

int64_t ColumnsOf(const Instruction* array) {
  return RankOf(array) == 0 ? 1 : array->shape().dimensions().back();
}

int64_t RowsOf(const Instruction* array) {
  const int64_t columns = ColumnsOf(array);
  return columns == 0 ? 0 : SizeOf(array) / columns;
}

std::string KernelRule::kernel() const { return absl::StrCat("hlograph.kernel.", kernel_); }

Instruction* KernelRule::AddCall(Instruction* place, absl::Span<Instruction* const> operands,
                                 absl::Span<const xla::Shape> results,
                                 const std::string& attributes) const {
  std::vector<xla::Shape> given, made;
  for (const Instruction* operand : operands) given.push_back(InUsualLayout(operand->shape()));
  for (const xla::Shape& result : results) made.push_back(InUsualLayout(result));
  const xla::Shape shape = made.size() == 1 ? made.front() : xla::ShapeUtil::MakeTupleShape(made);
  return place->AddInstruction(
      Instruction::CreateCustomCall(shape, operands, kernel(), given, attributes,
                                    xla::CustomCallApiVersion::API_VERSION_TYPED_FFI));
}

CallAttributes& CallAttributes::AddText(const std::string& name, const std::string& value) {
  absl::StrAppend(&text_, text_.empty() ? "" : ", ", name, " = ", value);
  return *this;
}

CallAttributes& CallAttributes::Add(const std::string& name, bool value) {
  return AddText(name, value ? "true" : "false");
}

CallAttributes& CallAttributes::Add(const std::string& name, int64_t value) {
  return AddText(name, absl::StrCat(value, " : i64"));
}

CallAttributes& CallAttributes::Add(const std::string& name, double value) {
  return AddText(name, absl::StrFormat("%.17e : f64", value));
}

CallAttributes& CallAttributes::Add(const std::string& name, const std::string& value) {
  return AddText(name, absl::StrCat("\"", value, "\""));
}

CallAttributes& CallAttributes::Add(const std::string& name, const std::vector<int64_t>& values) {
  return AddText(name, absl::StrCat("array<i64: ", absl::StrJoin(values, ", "), ">"));
}

}  // namespace hlograph
