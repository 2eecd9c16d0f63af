#include "hlograph/native/rewrites/forms/known_elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// XLA multiplies by reciprocals instead of dividing, and by the product of two factors, so that a
// number may be this far off.
constexpr double kUncertainStep = 1e-3;

std::optional<double> CommonElement(Opcode opcode, const double* given) {
  switch (opcode) {
    case Opcode::kAdd:
      return given[0] + given[1];
    case Opcode::kSubtract:
      return given[0] - given[1];
    case Opcode::kMultiply:
      return given[0] * given[1];
    case Opcode::kNegate:
      return -given[0];
    case Opcode::kMaximum:
      return std::max(given[0], given[1]);
    case Opcode::kMinimum:
      return std::min(given[0], given[1]);
    case Opcode::kSelect:
      return given[0] != 0 ? given[1] : given[2];
    case Opcode::kClamp:
      return std::min(std::max(given[0], given[1]), given[2]);
    default:
      return std::nullopt;
  }
}

double ComparedElements(const Instruction* array, const double* given) {
  switch (array->comparison_direction()) {
    case xla::ComparisonDirection::kEq:
      return given[0] == given[1];
    case xla::ComparisonDirection::kNe:
      return given[0] != given[1];
    case xla::ComparisonDirection::kGe:
      return given[0] >= given[1];
    case xla::ComparisonDirection::kGt:
      return given[0] > given[1];
    case xla::ComparisonDirection::kLe:
      return given[0] <= given[1];
    case xla::ComparisonDirection::kLt:
      return given[0] < given[1];
  }
  return 0;
}

// An element of s32 or pred.
std::optional<double> IntegerElement(const Instruction* array, const double* given) {
  const auto x = static_cast<int64_t>(given[0]), y = static_cast<int64_t>(given[1]);
  const bool is_pred = array->shape().element_type() == xla::PRED;
  switch (array->opcode()) {
    case Opcode::kAnd:
      return static_cast<double>(x & y);
    case Opcode::kOr:
      return static_cast<double>(x | y);
    case Opcode::kXor:
      return static_cast<double>(x ^ y);
    case Opcode::kNot:
      return is_pred ? given[0] == 0 : static_cast<double>(~x);
    case Opcode::kDivide:
      if (y == 0) return std::nullopt;
      return static_cast<double>(x / y);
    case Opcode::kRemainder:
      if (y == 0) return std::nullopt;
      return static_cast<double>(x % y);
    case Opcode::kShiftRightArithmetic:
      if (y < 0 || y > 31) return std::nullopt;
      return static_cast<double>(x >> y);
    case Opcode::kShiftLeft:
      if (y < 0 || y > 31) return std::nullopt;
      return static_cast<double>(x * (int64_t{1} << y));
    case Opcode::kSign:
      return static_cast<double>((x > 0) - (x < 0));
    case Opcode::kAbs:
      return std::abs(given[0]);
    case Opcode::kCompare:
      // By the total order, zeros of both signs would not be equal.
      if (!HasIntegers(array->operand(0)) &&
          array->comparison_order() != xla::Comparison::Order::kPartial) {
        return std::nullopt;
      }
      return ComparedElements(array, given);
    case Opcode::kConvert:
      return is_pred ? given[0] != 0 : std::trunc(given[0]);
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kNegate:
      if (is_pred) return std::nullopt;
      return CommonElement(array->opcode(), given);
    default:
      return CommonElement(array->opcode(), given);
  }
}

// The result in double precision, which rounds to the one in single precision.
std::optional<double> FloatElement(const Instruction* array, const double* given) {
  switch (array->opcode()) {
    case Opcode::kFloor:
      return std::floor(given[0]);
    case Opcode::kCeil:
      return std::ceil(given[0]);
    case Opcode::kDivide:
      return given[0] / given[1];
    case Opcode::kConvert:
      return given[0];
    default:
      return CommonElement(array->opcode(), given);
  }
}

}  // namespace

bool HasIntegers(const Instruction* array) { return array->shape().element_type() != xla::F32; }

bool IsStep(const Instruction* array) {
  switch (array->opcode()) {
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kCompare:
      return true;
    case Opcode::kConvert:
      return HasIntegers(array);
    default:
      return false;
  }
}

std::optional<double> KnownElement(const Instruction* array, const double* given, bool& rounded) {
  if (rounded && IsStep(array)) {
    const double step = array->opcode() == Opcode::kCompare ? given[1] : std::round(given[0]);
    if (std::abs(given[0] - step) < kUncertainStep) return std::nullopt;
  }
  std::optional<double> value =
      HasIntegers(array) ? IntegerElement(array, given) : FloatElement(array, given);
  if (value.has_value() && !HasIntegers(array)) {
    const double single = static_cast<float>(*value);
    rounded |= array->opcode() == Opcode::kDivide || single != *value;
    value = single;
  }
  if (value.has_value() && !std::isfinite(*value)) return std::nullopt;
  return value;
}

}  // namespace hlograph
