#include "hlograph/native/module/newer_fields.h"

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "google/protobuf/unknown_field_set.h"
#include "xla/comparison_util.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// HloInstructionProto.comparison_order, a text: TOTAL or PARTIAL.
constexpr int kComparisonOrder = 102;

bool IsInTotalOrder(const xla::HloInstructionProto& instruction) {
  const google::protobuf::UnknownFieldSet& fields = instruction.unknown_fields();
  for (int index = 0; index < fields.field_count(); ++index) {
    const google::protobuf::UnknownField& field = fields.field(index);
    if (field.number() == kComparisonOrder &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      return field.length_delimited() == "TOTAL";
    }
  }
  return false;
}

absl::flat_hash_map<int64_t, xla::PrimitiveType> TypesOf(
    const xla::HloComputationProto& computation) {
  absl::flat_hash_map<int64_t, xla::PrimitiveType> types;
  for (const xla::HloInstructionProto& instruction : computation.instructions()) {
    types[instruction.id()] = instruction.shape().element_type();
  }
  return types;
}

}  // namespace

void ReadNewerFields(xla::HloModuleProto& module) {
  for (xla::HloComputationProto& computation : *module.mutable_computations()) {
    absl::flat_hash_map<int64_t, xla::PrimitiveType> types;  // made for the first comparison
    for (xla::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      if (!instruction.comparison_type().empty() || instruction.operand_ids().empty() ||
          !IsInTotalOrder(instruction)) {
        continue;
      }
      if (types.empty()) types = TypesOf(computation);
      // Integers are in total order, which is the linked XLA's default for them.
      const auto operand = types.find(instruction.operand_ids(0));
      if (operand != types.end() && xla::primitive_util::IsFloatingPointType(operand->second)) {
        instruction.set_comparison_type(
            xla::ComparisonTypeToString(xla::Comparison::Type::kFloatTotalOrder));
      }
    }
  }
}

}  // namespace hlograph
