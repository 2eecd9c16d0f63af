#include "hlograph/native/rewrites/forms/comparators.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

bool IsValidSort(const Instruction* sort) {
  if (sort->opcode() != Opcode::kSort || sort->operand_count() == 0 || sort->has_sharding() ||
      sort->HasControlDependencies() || sort->has_backend_config() ||
      !sort->frontend_attributes().map().empty() || sort->dimensions().size() != 1) {
    return false;
  }
  const bool is_array = sort->shape().IsArray();
  if (is_array != (sort->operand_count() == 1)) return false;
  if (!is_array && (!sort->shape().IsTuple() ||
                    sort->shape().tuple_shapes().size() != sort->operands().size())) {
    return false;
  }
  const xla::HloComputation* const comparator = sort->to_apply();
  if (comparator->num_parameters() != 2 * sort->operand_count()) return false;
  for (int64_t i = 0; i < sort->operand_count(); ++i) {
    const xla::Shape& shape = sort->operand(i)->shape();
    const xla::Shape& result = is_array ? sort->shape() : sort->shape().tuple_shapes(i);
    if (!shape.IsArray() || !shape.is_static() || !IsCountable(shape.dimensions()) ||
        !xla::ShapeUtil::SameDimensions(shape, sort->operand(0)->shape()) ||
        !xla::ShapeUtil::Compatible(shape, result)) {
      return false;
    }
    for (int64_t side : {0, 1}) {
      const xla::Shape& scalar = comparator->parameter_instruction(2 * i + side)->shape();
      if (!xla::ShapeUtil::IsScalar(scalar) || scalar.element_type() != shape.element_type()) {
        return false;
      }
    }
  }
  return sort->dimensions(0) >= 0 && sort->dimensions(0) < RankOf(sort->operand(0)) &&
         !xla::ShapeUtil::IsZeroElementArray(sort->operand(0)->shape());
}

}  // namespace

bool IsFloat(xla::PrimitiveType type) {
  return type == xla::F16 || type == xla::BF16 || type == xla::F32 || type == xla::F64;
}

bool IsInteger(xla::PrimitiveType type) {
  switch (type) {
    case xla::S8:
    case xla::S16:
    case xla::S32:
    case xla::S64:
    case xla::U8:
    case xla::U16:
    case xla::U32:
    case xla::U64:
      return true;
    default:
      return false;
  }
}

bool ComparesNumbers(const Instruction* compare, Direction direction) {
  return compare->opcode() == Opcode::kCompare && compare->comparison_direction() == direction &&
         compare->comparison_order() == xla::Comparison::Order::kPartial;
}

bool IsPositiveNan(const Instruction* array) {
  const Instruction* const scalar = IsUniform(array) ? array->operand(0) : array;
  if (scalar->opcode() != Opcode::kConstant || !xla::ShapeUtil::IsScalar(scalar->shape()) ||
      !IsFloat(scalar->shape().element_type())) {
    return false;
  }
  const std::optional<double> value = scalar->literal().GetAsDouble({});
  return value.has_value() && std::isnan(*value) && !std::signbit(*value);
}

ComparedNumber FindComparedNumber(const Instruction* number) {
  ComparedNumber result{Forwarded(number)};
  std::vector<const Instruction*> tested;
  for (int i = 0; i < 2; ++i) {
    const Instruction* const select = result.number;
    if (select->opcode() != Opcode::kSelect || !IsPointwise(select) ||
        !SameType(select, select->operand(2))) {
      break;
    }
    const Instruction* const which = Forwarded(select->operand(0));
    const Instruction* const value = Forwarded(select->operand(1));
    if (ComparesNumbers(which, Direction::kNe) && IsPositiveNan(value) &&
        Forwarded(which->operand(0)) == Forwarded(which->operand(1))) {
      result.has_one_nan = true;
    } else if (ComparesNumbers(which, Direction::kEq) && HasOnly(which->operand(1), 0) &&
               HasOnly(value, 0)) {
      result.has_one_zero = true;
    } else {
      break;
    }
    tested.push_back(Forwarded(which->operand(0)));
    result.number = Forwarded(select->operand(2));
  }
  const bool all_test_it =
      absl::c_all_of(tested, [&](const Instruction* other) { return other == result.number; });
  return all_test_it ? result : ComparedNumber{Forwarded(number)};
}

std::optional<SortOrder> FindOrder(const Instruction* sort) {
  if (!IsValidSort(sort)) return std::nullopt;
  const Instruction* const root = sort->to_apply()->root_instruction();
  if (root->opcode() != Opcode::kCompare) return std::nullopt;
  const bool is_less = root->comparison_direction() == Direction::kLt;
  if (!is_less && root->comparison_direction() != Direction::kGt) return std::nullopt;
  const ComparedNumber lhs = FindComparedNumber(root->operand(0));
  const ComparedNumber rhs = FindComparedNumber(root->operand(1));
  for (const ComparedNumber& side : {lhs, rhs}) {
    const bool is_plain = !side.has_one_zero && !side.has_one_nan;
    if (side.number->opcode() != Opcode::kParameter || (!is_plain && !side.is_canonical()) ||
        side.is_canonical() != lhs.is_canonical()) {
      return std::nullopt;
    }
  }
  const int64_t one = lhs.number->parameter_number(), two = rhs.number->parameter_number();
  if (one / 2 != two / 2 || one == two) return std::nullopt;
  const xla::PrimitiveType type = lhs.number->shape().element_type();
  if (!IsInteger(type) &&
      (!IsFloat(type) || root->comparison_order() != xla::Comparison::Order::kTotal)) {
    return std::nullopt;
  }
  return SortOrder{one / 2, is_less != (one < two), lhs.is_canonical()};
}

bool IsStable(const Instruction* sort) {
  return static_cast<const xla::HloSortInstruction*>(sort)->is_stable();
}

bool IsPosition(const Instruction* value, int64_t dimension) {
  if (!value->shape().IsArray() || !IsInteger(value->shape().element_type())) return false;
  if (IsBroadcast(value)) {
    const auto dimensions = value->dimensions();
    const auto found = std::find(dimensions.begin(), dimensions.end(), dimension);
    if (found == dimensions.end()) return false;
    dimension = found - dimensions.begin();
    value = value->operand(0);
  }
  if (value->opcode() == Opcode::kReshape) {  // adds dimensions of size one
    const int64_t length = value->shape().dimensions(dimension);
    value = value->operand(0);
    if (RankOf(value) != 1 || value->shape().dimensions(0) != length) return false;
    dimension = 0;
  }
  return value->opcode() == Opcode::kIota && value->dimensions(0) == dimension;
}

}  // namespace hlograph
