// Pointwise operations on concatenations, and concatenations of their results.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

// f([a b], [c d]) = [f(a, c) f(b, d)]
class SplitPointwise : public InstructionRule {
 public:
  using InstructionRule::InstructionRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsPointwise(instruction)) return false;
    const Instruction* const first = FirstConcatenate(instruction);
    if (first == nullptr) return false;
    for (const Instruction* operand : instruction->operands()) {
      if (!IsUniform(operand) && !(IsConcatenate(operand) && AreSplitAlike(operand, first))) {
        return false;
      }
    }
    return true;
  }

  Instruction* Build(Instruction* pointwise) const override {
    const Instruction* const first = FirstConcatenate(pointwise);
    std::vector<Instruction*> parts;
    for (int64_t i = 0; i < first->operand_count(); ++i) {
      const xla::Shape& shape = first->operand(i)->shape();
      std::vector<Instruction*> operands;
      for (Instruction* operand : pointwise->operands()) {
        operands.push_back(IsUniform(operand) ? AddBroadcast(operand, Retyped(shape, operand), {})
                                              : operand->mutable_operand(i));
      }
      parts.push_back(AddLike(pointwise, Retyped(shape, pointwise), operands));
    }
    return AddConcatenate(pointwise, parts, first->concatenate_dimension());
  }

 private:
  static const Instruction* FirstConcatenate(const Instruction* pointwise) {
    for (const Instruction* operand : pointwise->operands()) {
      if (IsConcatenate(operand)) return operand;
    }
    return nullptr;
  }

  static bool AreSplitAlike(const Instruction* one, const Instruction* two) {
    if (one->concatenate_dimension() != two->concatenate_dimension() ||
        one->operand_count() != two->operand_count()) {
      return false;
    }
    for (int64_t i = 0; i < one->operand_count(); ++i) {
      if (!xla::ShapeUtil::SameDimensions(one->operand(i)->shape(), two->operand(i)->shape())) {
        return false;
      }
    }
    return true;
  }
};

// [f(a, c) f(b, d)] = f([a b], [c d])
class JoinPointwise : public InstructionRule {
 public:
  using InstructionRule::InstructionRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConcatenate(instruction)) return false;
    const Instruction* const first = instruction->operand(0);
    for (const Instruction* part : instruction->operands()) {
      if (part->opcode() != first->opcode() || !IsPointwise(part) ||
          part->operand_count() != first->operand_count()) {
        return false;
      }
    }
    for (int64_t i = 0; i < first->operand_count(); ++i) {
      for (const Instruction* part : instruction->operands()) {
        if (!SameType(part->operand(i), first->operand(i))) return false;
      }
    }
    return true;
  }

  Instruction* Build(Instruction* concatenate) const override {
    Instruction* const first = concatenate->mutable_operand(0);
    std::vector<Instruction*> operands;
    for (int64_t i = 0; i < first->operand_count(); ++i) {
      operands.push_back(Joined(concatenate, i));
    }
    return AddLike(first, concatenate->shape(), operands);
  }

 private:
  // The operands of that number, concatenated; a scalar that all have stays one.
  static Instruction* Joined(Instruction* concatenate, int64_t number) {
    std::vector<Instruction*> operands;
    for (Instruction* part : concatenate->operands()) {
      operands.push_back(part->mutable_operand(number));
    }
    Instruction* const first = operands.front();
    bool is_uniform = IsUniform(first);
    for (const Instruction* operand : operands) {
      is_uniform = is_uniform && IsUniform(operand) && operand->operand(0) == first->operand(0);
    }
    return is_uniform ? AddBroadcast(first, Retyped(concatenate->shape(), first), {})
                      : AddConcatenate(concatenate, operands, concatenate->concatenate_dimension());
  }
};

}  // namespace

const RuleTopic kPointwiseRules(105, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SplitPointwise>(
      Identity{"split-pointwise", "f([a b], [c d]) = [f(a, c) f(b, d)]",
               "Takes a pointwise operation on concatenations apart."}));
  rules.push_back(std::make_unique<JoinPointwise>(
      Identity{"join-pointwise", "[f(a, c) f(b, d)] = f([a b], [c d])",
               "Computes pointwise operations that are concatenated in one."}));
});

}  // namespace hlograph
