// Pointwise operations on transposed or reshaped values, and transposed or reshaped results.
#include <memory>
#include <vector>

#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

bool RearrangesAlike(const Instruction* one, const Instruction* two) {
  return one->opcode() == two->opcode() &&
         xla::ShapeUtil::SameDimensions(one->operand(0)->shape(), two->operand(0)->shape()) &&
         (one->opcode() == xla::HloOpcode::kReshape || one->dimensions() == two->dimensions());
}

// The same rearrangement of another value.
Instruction* AddRearrangement(Instruction* like, Instruction* operand) {
  return AddLike(like, Retyped(like->shape(), operand), {operand});
}

// f(t(a), t(b)) = t(f(a, b))
class RearrangeResult : public InstructionRule {
 public:
  using InstructionRule::InstructionRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsPointwise(instruction)) return false;
    const Instruction* const first = FirstRearrangement(instruction);
    if (first == nullptr) return false;
    for (const Instruction* operand : instruction->operands()) {
      if (!IsUniform(operand) && !(IsRearrangement(operand) && RearrangesAlike(operand, first))) {
        return false;
      }
    }
    return true;
  }

  Instruction* Build(Instruction* pointwise) const override {
    Instruction* const first = FirstRearrangement(pointwise);
    const xla::Shape& shape = first->operand(0)->shape();
    std::vector<Instruction*> operands;
    for (Instruction* operand : pointwise->operands()) {
      operands.push_back(IsUniform(operand) ? AddBroadcast(operand, Retyped(shape, operand), {})
                                            : operand->mutable_operand(0));
    }
    return AddRearrangement(first, AddLike(pointwise, Retyped(shape, pointwise), operands));
  }

 private:
  static Instruction* FirstRearrangement(const Instruction* pointwise) {
    for (Instruction* operand : pointwise->operands()) {
      if (IsRearrangement(operand)) return operand;
    }
    return nullptr;
  }
};

// t(f(a, b)) = f(t(a), t(b))
class RearrangeOperands : public InstructionRule {
 public:
  using InstructionRule::InstructionRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsRearrangement(instruction) && IsPointwise(instruction->operand(0));
  }

  Instruction* Build(Instruction* rearrangement) const override {
    Instruction* const pointwise = rearrangement->mutable_operand(0);
    std::vector<Instruction*> operands;
    for (Instruction* operand : pointwise->operands()) {
      operands.push_back(IsUniform(operand)
                             ? AddBroadcast(operand, Retyped(rearrangement->shape(), operand), {})
                             : AddRearrangement(rearrangement, operand));
    }
    return AddLike(pointwise, rearrangement->shape(), operands);
  }
};

}  // namespace

const RuleTopic kRearrangingRules(106, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<RearrangeResult>(
      Identity{"rearrange-result", "f(t(a), t(b)) = t(f(a, b))",
               "Transposes or reshapes the result of a pointwise operation, not its operands."}));
  rules.push_back(std::make_unique<RearrangeOperands>(
      Identity{"rearrange-operands", "t(f(a, b)) = f(t(a), t(b))",
               "Transposes or reshapes the operands of a pointwise operation, not its result."}));
});

}  // namespace hlograph
