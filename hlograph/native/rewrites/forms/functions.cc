// Functions for which XLA:CPU calls a library element by element, as arithmetic on vectors.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/choices.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

namespace {

using Opcode = xla::HloOpcode;
using Direction = xla::ComparisonDirection;

// Arrays of fewer elements do not pay for a conditional.
constexpr int64_t kLeastElements = 512;

// Elementwise arithmetic on arrays of one shape.
class Arithmetic {
 public:
  Arithmetic(Instruction* place, xla::Shape shape) : builder_(place), shape_(std::move(shape)) {}

  Instruction* Constant(double value) const { return builder_.Uniform(shape_, value); }
  Instruction* Add(Instruction* lhs, Instruction* rhs) const {
    return builder_.Binary(Opcode::kAdd, lhs, rhs);
  }
  Instruction* Subtract(Instruction* lhs, Instruction* rhs) const {
    return builder_.Binary(Opcode::kSubtract, lhs, rhs);
  }
  Instruction* Multiply(Instruction* lhs, Instruction* rhs) const {
    return builder_.Binary(Opcode::kMultiply, lhs, rhs);
  }
  Instruction* Scale(Instruction* operand, double factor) const {
    return Multiply(operand, Constant(factor));
  }
  Instruction* IsLess(Instruction* lhs, Instruction* rhs) const {
    return builder_.Compare(lhs, rhs, Direction::kLt);
  }
  // Coefficients from the highest power to the constant.
  Instruction* Polynomial(Instruction* x, absl::Span<const double> coefficients) const {
    Instruction* result = Constant(coefficients.front());
    for (double coefficient : coefficients.subspan(1)) {
      result = Add(Multiply(result, x), Constant(coefficient));
    }
    return result;
  }
  const Builder& builder() const { return builder_; }

 private:
  Builder builder_;
  xla::Shape shape_;
};

// Returns true for a plain elementwise operation on a large array of one of these types, unless it
// is what a rule chooses where its own form is not right.
bool IsLargeOperation(const Instruction* instruction, Opcode opcode,
                      absl::Span<const xla::PrimitiveType> types) {
  if (instruction->opcode() != opcode || !IsPlain(instruction) || IsSlowWay(instruction) ||
      !absl::c_linear_search(types, instruction->shape().element_type()) ||
      xla::ShapeUtil::ElementsIn(instruction->shape()) < kLeastElements) {
    return false;
  }
  return absl::c_all_of(instruction->operands(), [&](const Instruction* operand) {
    return SameArray(instruction, operand);
  });
}

// Sine and cosine: the angle is reduced to an eighth of a turn around a multiple of a quarter turn,
// which is subtracted in three parts of few bits. That is accurate for angles below 8192.
class SineByPolynomial : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsLargeOperation(instruction, Opcode::kSin, {xla::F32}) ||
           IsLargeOperation(instruction, Opcode::kCos, {xla::F32});
  }

  Instruction* Build(Instruction* place) const override {
    Instruction* const angle = place->mutable_operand(0);
    const Arithmetic on(place, angle->shape());
    const Builder& builder = on.builder();
    Instruction* const holds =
        builder.All(on.IsLess(builder.Unary(Opcode::kAbs, angle), on.Constant(kLargestAngle)));
    const Opcode function = place->opcode();
    return AddChoice(
        place, holds, {angle},
        [&](absl::Span<Instruction* const> values) { return Evaluate(function, values[0]); },
        [&](absl::Span<Instruction* const> values) {
          return Builder(values[0]).Unary(function, values[0]);
        });
  }

 private:
  static constexpr double kLargestAngle = 8192;

  static Instruction* Evaluate(Opcode function, Instruction* angle) {
    const Arithmetic on(angle, angle->shape());
    const Builder& builder = on.builder();
    Instruction* const quarters =
        builder.Unary(Opcode::kRoundNearestEven, on.Scale(angle, 0.63661977236758134));
    Instruction* rest = angle;
    for (double part : {1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8}) {
      rest = on.Subtract(rest, on.Scale(quarters, part));
    }
    Instruction* const square = on.Multiply(rest, rest);
    Instruction* const cubic =
        on.Polynomial(square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    Instruction* const sine = on.Add(on.Multiply(on.Multiply(cubic, square), rest), rest);
    Instruction* const cosine = on.Polynomial(
        square, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0});
    Instruction* place = builder.Convert(quarters, xla::S32);
    const Arithmetic integers(angle, place->shape());
    if (function == Opcode::kCos) place = integers.Add(place, integers.Constant(1));
    const auto has = [&](double bit) {
      return builder.Compare(builder.Binary(Opcode::kAnd, place, integers.Constant(bit)),
                             integers.Constant(0), Direction::kNe);
    };
    Instruction* value = builder.Select(has(1), cosine, sine);
    value = builder.Select(has(2), builder.Unary(Opcode::kNegate, value), value);
    if (function == Opcode::kCos) return value;
    // The sum above is 0 for -0, whose sine is -0.
    Instruction* const is_zero = builder.Compare(angle, on.Constant(0), Direction::kEq);
    return builder.Select(is_zero, angle, value);
  }
};

// Remainder of numbers that are less than four times the divisor, as of positions in a periodic
// box: at most two exact subtractions.
class RemainderBySubtraction : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsLargeOperation(instruction, Opcode::kRemainder, {xla::F32, xla::F64});
  }

  Instruction* Build(Instruction* place) const override {
    Instruction* const number = place->mutable_operand(0);
    Instruction* const divisor = place->mutable_operand(1);
    const Arithmetic on(place, place->shape());
    const Builder& builder = on.builder();
    Instruction* const holds = builder.All(on.IsLess(
        builder.Unary(Opcode::kAbs, number), on.Scale(builder.Unary(Opcode::kAbs, divisor), 4)));
    const bool is_uniform = IsUniform(divisor);
    const auto divisor_in = [&](absl::Span<Instruction* const> values) {
      return is_uniform
                 ? Builder(values[0]).Broadcast(values[1], values[0]->shape().dimensions(), {})
                 : values[1];
    };
    return AddChoice(
        place, holds, {number, is_uniform ? divisor->mutable_operand(0) : divisor},
        [&](absl::Span<Instruction* const> values) {
          return Evaluate(values[0], divisor_in(values));
        },
        [&](absl::Span<Instruction* const> values) {
          return Builder(values[0]).Binary(Opcode::kRemainder, values[0], divisor_in(values));
        });
  }

 private:
  static Instruction* Evaluate(Instruction* number, Instruction* divisor) {
    const Arithmetic on(number, number->shape());
    const Builder& builder = on.builder();
    Instruction* const once = builder.Unary(Opcode::kAbs, divisor);
    Instruction* rest = builder.Unary(Opcode::kAbs, number);
    for (Instruction* multiple : {on.Scale(once, 2), once}) {
      rest = builder.Select(on.IsLess(rest, multiple), rest, on.Subtract(rest, multiple));
    }
    // The result has the sign of the number, also where it is zero.
    Instruction* const is_negative = on.IsLess(number, on.Constant(0));
    Instruction* const value =
        builder.Select(is_negative, builder.Unary(Opcode::kNegate, rest), rest);
    return builder.Select(on.IsLess(builder.Unary(Opcode::kAbs, number), once), number, value);
  }
};

// Angle of a point: the arc tangent of the smaller over the larger coordinate, then moved to its
// octant.
class ArcTangentByPolynomial : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsLargeOperation(instruction, Opcode::kAtan2, {xla::F32});
  }

  Instruction* Build(Instruction* place) const override {
    const Arithmetic on(place, place->shape());
    const Builder& builder = on.builder();
    Instruction* const y = place->mutable_operand(0);
    Instruction* const x = place->mutable_operand(1);
    Instruction* const height = builder.Unary(Opcode::kAbs, y);
    Instruction* const width = builder.Unary(Opcode::kAbs, x);
    Instruction* const most = builder.Binary(Opcode::kMaximum, height, width);
    Instruction* const least = builder.Binary(Opcode::kMinimum, height, width);
    Instruction* const zero = on.Constant(0);
    Instruction* const one = on.Constant(1);
    // Two infinities have the ratio 1 here, and two zeros 0.
    const auto is = [&](Instruction* value, double constant) {
      return builder.Compare(value, on.Constant(constant), Direction::kEq);
    };
    Instruction* ratio = builder.Binary(Opcode::kDivide, least, most);
    ratio = builder.Select(is(least, std::numeric_limits<double>::infinity()), one, ratio);
    ratio = builder.Select(is(most, 0), zero, ratio);
    Instruction* angle = on.Multiply(on.Polynomial(on.Multiply(ratio, ratio), kArcTangent), ratio);
    angle =
        builder.Select(on.IsLess(width, height), on.Subtract(on.Constant(M_PI_2), angle), angle);
    const auto bits = [&](Instruction* value) { return builder.BitcastConvert(value, xla::S32); };
    const Arithmetic integers(place, bits(x)->shape());
    // The sign bit tells -0 from 0.
    angle = builder.Select(integers.IsLess(bits(x), integers.Constant(0)),
                           on.Subtract(on.Constant(M_PI), angle), angle);
    return builder.Select(integers.IsLess(bits(y), integers.Constant(0)),
                          builder.Unary(Opcode::kNegate, angle), angle);
  }

 private:
  // arctan(t) / t as a polynomial of t² from 0 to 1, from the highest power.
  static constexpr double kArcTangent[] = {-0.0017011701129376888, 0.010487649589776993,
                                           -0.03035186603665352,   0.05708955600857735,
                                           -0.08349724858999252,   0.1093234121799469,
                                           -0.1426001638174057,    0.1999807506799698,
                                           -0.33333277702331543,   1.0};
};

}  // namespace

const RuleTopic kFunctionForms(323, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SineByPolynomial>(
      Identity{"sine-by-polynomial", "sin x = ±p(x - kπ/2)",
               "Computes sines or cosines by polynomials where no angle of the array exceeds 8192, "
               "instead of calling a library for each element.",
               Numerics::kClose}));
  rules.push_back(std::make_unique<RemainderBySubtraction>(
      Identity{"remainder-by-subtraction", "rem(x, y) = x - y×[x ≥ y]",
               "Computes remainders by exact subtractions where all numbers of the array are less "
               "than four times their divisors, instead of calling a library for each element.",
               Numerics::kClose}));
  rules.push_back(std::make_unique<ArcTangentByPolynomial>(
      Identity{"arctangent-by-polynomial", "atan2(y, x) = kπ/2 ± p(min / max)",
               "Computes angles of points by a polynomial, instead of calling a library for each "
               "element.",
               Numerics::kClose}));
});

}  // namespace hlograph
