// Positions of the greatest or least elements, without a reduction of pairs.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/integer_keys.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

bool IsParameter(const Instruction* instruction, int64_t number) {
  return instruction->opcode() == Opcode::kParameter && instruction->parameter_number() == number;
}

bool IsBinary(const Instruction* instruction, Opcode opcode) {
  return instruction->opcode() == opcode && instruction->operand_count() == 2 &&
         xla::ShapeUtil::IsScalar(instruction->shape()) &&
         instruction->shape().element_type() == xla::PRED;
}

// Floats are compared as numbers: by the total order, zeros of both signs would not be equal.
bool IsComparison(const Instruction* instruction, Direction direction, int64_t one, int64_t two) {
  return instruction->opcode() == Opcode::kCompare &&
         instruction->comparison_direction() == direction &&
         (!xla::primitive_util::IsFloatingPointType(
              instruction->operand(0)->shape().element_type()) ||
          instruction->comparison_order() == xla::Comparison::Order::kPartial) &&
         IsParameter(instruction->operand(0), one) && IsParameter(instruction->operand(1), two);
}

bool IsChoice(const Instruction* select, const Instruction* which, int64_t one, int64_t two) {
  return select->opcode() == Opcode::kSelect && select->operand(0) == which &&
         IsParameter(select->operand(1), one) && IsParameter(select->operand(2), two);
}

// Which reduction of values and positions this is, as jax.lax.argmax and argmin write it: kMaximum
// or kMinimum. NaNs come before all, and the first of equal elements wins.
std::optional<Opcode> FindChoice(const xla::HloComputation* computation, bool has_nan) {
  const Instruction* const root = computation->root_instruction();
  if (computation->num_parameters() != 4 || root->opcode() != Opcode::kTuple ||
      root->operand_count() != 2 || root->operand(0)->opcode() != Opcode::kSelect ||
      root->operand(1)->opcode() != Opcode::kSelect) {
    return std::nullopt;
  }
  const Instruction* is_better = root->operand(0)->operand(0);
  const Instruction* const is_first = root->operand(1)->operand(0);
  if (!IsChoice(root->operand(0), is_better, 0, 2) || !IsChoice(root->operand(1), is_first, 1, 3) ||
      !IsBinary(is_first, Opcode::kOr) || is_first->operand(0) != is_better ||
      !IsBinary(is_first->operand(1), Opcode::kAnd) ||
      !IsComparison(is_first->operand(1)->operand(0), Direction::kEq, 0, 2) ||
      !IsComparison(is_first->operand(1)->operand(1), Direction::kLt, 1, 3)) {
    return std::nullopt;
  }
  if (has_nan) {
    if (!IsBinary(is_better, Opcode::kOr) ||
        !IsComparison(is_better->operand(1), Direction::kNe, 0, 0)) {
      return std::nullopt;
    }
    is_better = is_better->operand(0);
  }
  if (IsComparison(is_better, Direction::kGt, 0, 2)) return Opcode::kMaximum;
  if (IsComparison(is_better, Direction::kLt, 0, 2)) return Opcode::kMinimum;
  return std::nullopt;
}

std::optional<Opcode> FindChoice(const Instruction* reduce) {
  const xla::Shape& shape = reduce->operand(0)->shape();
  if (!shape.IsArray()) return std::nullopt;
  return FindChoice(reduce->to_apply(),
                    xla::primitive_util::IsFloatingPointType(shape.element_type()));
}

bool IsSearchable(xla::PrimitiveType type) {
  return HasKeys(type, 64) && type != xla::U8 && type != xla::U16 && type != xla::U32 &&
         type != xla::U64;
}

bool IsStart(const Instruction* scalar, Opcode opcode) {
  if (scalar->opcode() != Opcode::kConstant || !xla::ShapeUtil::IsScalar(scalar->shape())) {
    return false;
  }
  const xla::PrimitiveType type = scalar->shape().element_type();
  return scalar->literal() == (opcode == Opcode::kMaximum ? xla::LiteralUtil::MinValue(type)
                                                          : xla::LiteralUtil::MaxValue(type));
}

bool IsZero(const Instruction* scalar) {
  return scalar->opcode() == Opcode::kConstant && xla::ShapeUtil::IsScalar(scalar->shape()) &&
         scalar->literal().IsAll(0);
}

// Twice as many positions are 32-bit integers.
constexpr int64_t kMaxSize = int64_t{1} << 30;

class ArgmaxAsFirstMaximum : public CalleeRule {
 public:
  using CalleeRule::CalleeRule;

  // Reduction, iota and its operand.
  Reach reach() const override { return {.operands = 3, .users = 0}; }

 protected:
  bool Matches(const Instruction* element) const override {
    if (element->opcode() != Opcode::kGetTupleElement || element->tuple_index() != 1 ||
        !IsPlain(element) || element->shape().element_type() != xla::S32) {
      return false;
    }
    const Instruction* const reduce = element->operand(0);
    if (reduce->opcode() != Opcode::kReduce || reduce->operand_count() != 4 ||
        reduce->dimensions().size() != 1) {
      return false;
    }
    const std::optional<Opcode> opcode = FindChoice(reduce);
    if (!opcode.has_value()) return false;
    const xla::Shape& shape = reduce->operand(0)->shape();
    const int64_t dimension = reduce->dimensions(0);
    return shape.IsArray() && shape.is_static() && IsCountable(shape.dimensions()) &&
           !xla::ShapeUtil::IsZeroElementArray(shape) && IsSearchable(shape.element_type()) &&
           dimension >= 0 && dimension < static_cast<int64_t>(shape.dimensions().size()) &&
           shape.dimensions(dimension) < kMaxSize &&
           xla::ShapeUtil::Compatible(
               element->shape(),
               xla::ShapeUtil::DeleteDimension(
                   dimension, xla::ShapeUtil::ChangeElementType(shape, xla::S32))) &&
           SameType(reduce->operand(0), reduce->operand(2)) &&
           xla::ShapeUtil::SameDimensions(shape, reduce->operand(1)->shape()) &&
           reduce->operand(1)->shape().element_type() == xla::S32 &&
           IsPosition(reduce->operand(1), dimension) && IsStart(reduce->operand(2), *opcode) &&
           IsZero(reduce->operand(3));
  }

  Instruction* Build(Instruction* element) const override {
    Instruction* const reduce = element->mutable_operand(0);
    const Opcode opcode = *FindChoice(reduce);
    const Builder builder(element);
    const int64_t dimension = reduce->dimensions(0);
    Instruction* const values = reduce->mutable_operand(0);
    const xla::Shape& shape = values->shape();
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < static_cast<int64_t>(shape.dimensions().size()); ++i) {
      if (i != dimension) kept.push_back(i);
    }
    Instruction* const best =
        builder.Broadcast(builder.Reduce(opcode, values, {dimension}), shape.dimensions(), kept);
    return First(builder, values, builder.Compare(values, best, Direction::kEq), dimension);
  }

 private:
  // The first position of a NaN, or else of what was found, which comes after all positions here.
  // The best element need not be NaN if any is: the maxima of jaxlib 0.10.2 may lose a NaN.
  static Instruction* First(const Builder& builder, Instruction* values, Instruction* found,
                            int64_t dimension) {
    const xla::Shape type = xla::ShapeUtil::ChangeElementType(values->shape(), xla::S32);
    const int64_t size = type.dimensions(dimension);
    Instruction* const positions = builder.Iota(type, dimension);
    const auto first = [&](Instruction* which, Instruction* yes, Instruction* no) {
      return builder.Reduce(Opcode::kMinimum, builder.Select(which, yes, no), {dimension});
    };
    if (!xla::primitive_util::IsFloatingPointType(values->shape().element_type())) {
      return first(found, positions, AddUniform(builder, type, size));
    }
    Instruction* const later =
        builder.Binary(Opcode::kAdd, positions, AddUniform(builder, type, size));
    Instruction* const others = builder.Select(found, later, AddUniform(builder, type, 2 * size));
    Instruction* const is_nan = builder.Compare(values, values, Direction::kNe);
    Instruction* const position = first(is_nan, positions, others);
    Instruction* const shift = AddUniform(builder, position->shape(), size);
    return builder.Select(builder.Compare(position, shift, Direction::kLt), position,
                          builder.Binary(Opcode::kSubtract, position, shift));
  }
};

}  // namespace

const RuleTopic kArgmaxForms(310, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ArgmaxAsFirstMaximum>(Identity{
      "argmax-as-first-maximum", "argmax(x) = min(i where x = max(x))",
      "Computes the position of the greatest or least element as the first that is equal to it.",
      Numerics::kExact}));
});

}  // namespace hlograph
