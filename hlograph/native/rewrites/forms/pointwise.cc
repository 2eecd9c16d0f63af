// Elementwise functions computed from cheaper ones, or on fewer elements.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

namespace {

using Opcode = xla::HloOpcode;

// Returns true for a plain elementwise operation on floats.
bool IsFloatOperation(const Instruction* instruction, Opcode opcode) {
  if (instruction->opcode() != opcode || !IsPlain(instruction) || !IsFloat(instruction)) {
    return false;
  }
  for (const Instruction* operand : instruction->operands()) {
    if (!SameArray(instruction, operand)) return false;
  }
  return true;
}

// Returns true for a broadcast that repeats each element several times.
bool Repeats(const Instruction* instruction) {
  return IsBroadcast(instruction) && 4 * SizeOf(instruction->operand(0)) <= SizeOf(instruction);
}

// Value of a scalar constant, or of a broadcast of one.
std::optional<double> ConstantIn(const Instruction* instruction) {
  if (IsUniform(instruction)) instruction = instruction->operand(0);
  if (instruction->opcode() != Opcode::kConstant ||
      !xla::ShapeUtil::IsScalar(instruction->shape()) || !IsFloat(instruction)) {
    return std::nullopt;
  }
  return instruction->literal().GetAsDouble({});
}

// A power of a constant exponent: a call of a library per element.
class PowerAsRoots : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsFloatOperation(instruction, Opcode::kPower) &&
           Quarters(instruction->operand(1)).has_value();
  }

  Instruction* Build(Instruction* power) const override {
    const Builder builder(power);
    const int64_t quarters = *Quarters(power->operand(1));
    const bool has_roots = quarters % 4 != 0;
    Instruction* const base = power->mutable_operand(0);
    return Expanded(builder, has_roots ? Magnitude(builder, base) : base, quarters);
  }

 private:
  static constexpr int64_t kMaxQuarters = 32;

  // The exponent in quarters, if XLA does not know a form of its own.
  static std::optional<int64_t> Quarters(const Instruction* exponent) {
    const std::optional<double> value = ConstantIn(exponent);
    if (!value.has_value() || !(std::abs(4 * *value) <= kMaxQuarters)) return std::nullopt;
    const auto quarters = static_cast<int64_t>(4 * *value);
    if (quarters != 4 * *value || quarters == 0) return std::nullopt;
    for (int64_t known : {-4, 4, 8, 12}) {
      if (quarters == known) return std::nullopt;
    }
    return quarters;
  }

  // The base of a power that is no integer: pow(-0, y) is pow(0, y), pow(-inf, y) is pow(inf, y),
  // and that of other negative numbers is NaN.
  static Instruction* Magnitude(const Builder& builder, Instruction* base) {
    using Direction = xla::ComparisonDirection;
    const auto uniform = [&](double value) { return builder.Uniform(base->shape(), value); };
    Instruction* const has_none = builder.Binary(
        Opcode::kAnd, builder.Compare(base, uniform(0), Direction::kLt),
        builder.Compare(base, uniform(-std::numeric_limits<double>::infinity()), Direction::kGt));
    return builder.Select(has_none, uniform(std::numeric_limits<double>::quiet_NaN()),
                          builder.Unary(Opcode::kAbs, base));
  }

  static Instruction* Expanded(const Builder& builder, Instruction* base, int64_t quarters) {
    // A power of the reciprocal of the root overflows only where the result does.
    if (quarters < 0 && quarters % 4 == -2) {
      return Power(builder, builder.Unary(Opcode::kRsqrt, base), -quarters / 2);
    }
    if (quarters > 0) return Roots(builder, base, quarters);
    // XLA:CPU takes denormal numbers for zero. A power may be one although its reciprocal is
    // finite, as the reciprocal of a large base may be although a root of it is not.
    Instruction* const one = builder.Uniform(base->shape(), 1);
    if (quarters > -4) {
      return builder.Binary(Opcode::kDivide, one, Roots(builder, base, -quarters));
    }
    return Roots(builder, builder.Binary(Opcode::kDivide, one, base), -quarters);
  }

  static Instruction* Power(const Builder& builder, Instruction* base, int64_t exponent) {
    Instruction* result = nullptr;
    for (;; base = builder.Binary(Opcode::kMultiply, base, base)) {
      if (exponent % 2 == 1) {
        result = result == nullptr ? base : builder.Binary(Opcode::kMultiply, result, base);
      }
      exponent /= 2;
      if (exponent == 0) return result;
    }
  }

  static Instruction* Roots(const Builder& builder, Instruction* base, int64_t quarters) {
    std::vector<Instruction*> factors;
    if (quarters >= 4) factors.push_back(Power(builder, base, quarters / 4));
    if (quarters % 4 != 0) {
      Instruction* const root = builder.Unary(Opcode::kSqrt, base);
      if (quarters % 4 >= 2) factors.push_back(root);
      if (quarters % 2 == 1) factors.push_back(builder.Unary(Opcode::kSqrt, root));
    }
    Instruction* result = factors.front();
    for (size_t i = 1; i < factors.size(); ++i) {
      result = builder.Binary(Opcode::kMultiply, result, factors[i]);
    }
    return result;
  }
};

// A sine or cosine at all sums or differences of two sets of angles.
class SineOfSum : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsFloatOperation(instruction, Opcode::kSin) &&
        !IsFloatOperation(instruction, Opcode::kCos)) {
      return false;
    }
    const Instruction* const sum = instruction->operand(0);
    return (IsFloatOperation(sum, Opcode::kAdd) || IsFloatOperation(sum, Opcode::kSubtract)) &&
           Repeats(sum->operand(0)) && Repeats(sum->operand(1));
  }

  Instruction* Build(Instruction* place) const override {
    const Builder builder(place);
    Instruction* const sum = place->mutable_operand(0);
    const bool is_sine = place->opcode() == Opcode::kSin;
    const bool adds = sum->opcode() == Opcode::kAdd;
    const auto at = [&](Opcode function, int side) {
      Instruction* const broadcast = sum->mutable_operand(side);
      // XLA would compute it inside of a library's reduction, for each element.
      Instruction* const few =
          builder.Barrier(builder.Unary(function, broadcast->mutable_operand(0)));
      return builder.Broadcast(few, place->shape().dimensions(), broadcast->dimensions());
    };
    Instruction* const first =
        builder.Binary(Opcode::kMultiply, at(place->opcode(), 0), at(Opcode::kCos, 1));
    Instruction* const second = builder.Binary(
        Opcode::kMultiply, at(is_sine ? Opcode::kCos : Opcode::kSin, 0), at(Opcode::kSin, 1));
    return builder.Binary(is_sine == adds ? Opcode::kAdd : Opcode::kSubtract, first, second);
  }
};

}  // namespace

const RuleTopic kPointwiseForms(322, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<PowerAsRoots>(
      Identity{"power-as-roots", "x^(n/4) = x^i × √x^j × √√x^k",
               "Computes a power of a constant exponent, a multiple of a quarter, by products, "
               "roots and a division.",
               Numerics::kClose}));
  rules.push_back(std::make_unique<SineOfSum>(
      Identity{"sine-of-sum", "sin(B(a) ± B(b)) = B(sin a)×B(cos b) ± B(cos a)×B(sin b)",
               "Computes the sine or cosine of all sums of two sets of angles from the sines and "
               "cosines of both sets.",
               Numerics::kClose}));
});

}  // namespace hlograph
