// Distributivity of multiply, dot and convolution over sums and differences.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

// Of one type and ring, elementwise or not.
bool IsBilinear(const Instruction* instruction, xla::HloOpcode opcode) {
  if (opcode != xla::HloOpcode::kMultiply) {
    return IsProduct(instruction, opcode) && HasOneType(instruction);
  }
  return instruction->opcode() == opcode && IsPlain(instruction) &&
         IsRing(instruction->shape().element_type()) &&
         SameArray(instruction, instruction->operand(0)) &&
         SameArray(instruction, instruction->operand(1));
}

// A plain sum or difference.
bool IsSum(const Instruction* instruction) {
  return (instruction->opcode() == xla::HloOpcode::kAdd ||
          instruction->opcode() == xla::HloOpcode::kSubtract) &&
         IsPlain(instruction) && IsRing(instruction->shape().element_type()) &&
         SameArray(instruction, instruction->operand(0)) &&
         SameArray(instruction, instruction->operand(1));
}

class Factor : public InstructionRule {
 public:
  Factor(Identity identity, xla::HloOpcode opcode)
      : InstructionRule(std::move(identity)), opcode_(opcode) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsSum(instruction)) return false;
    const Instruction* const one = instruction->operand(0);
    const Instruction* const two = instruction->operand(1);
    if (one == two || !IsBilinear(one, opcode_) || !IsBilinear(two, opcode_)) return false;
    return (Commutes() || SameProduct(one, two)) && Find(one, two).has_value();
  }

  Instruction* Build(Instruction* sum) const override {
    Instruction* const one = sum->mutable_operand(0);
    Instruction* const two = sum->mutable_operand(1);
    const Sides terms = *Find(one, two);
    Instruction* const left = one->mutable_operand(terms.one);
    Instruction* const inner = AddLike(sum, left->shape(), {left, two->mutable_operand(terms.two)});
    return AddLike(one, sum->shape(), OperandsWith(one, terms.one, inner));
  }

 private:
  // On which side of either product the operand is that they do not share.
  struct Sides {
    int one = 0, two = 0;
  };

  bool Commutes() const { return opcode_ == xla::HloOpcode::kMultiply; }

  std::optional<Sides> Find(const Instruction* one, const Instruction* two) const {
    for (int i : {0, 1}) {
      for (int j : {0, 1}) {
        if (i != j && !Commutes()) continue;
        if (one->operand(1 - i) == two->operand(1 - j) &&
            SameArray(one->operand(i), two->operand(j))) {
          return Sides{i, j};
        }
      }
    }
    return std::nullopt;
  }

  xla::HloOpcode opcode_;
};

class Distribute : public InstructionRule {
 public:
  Distribute(Identity identity, xla::HloOpcode opcode)
      : InstructionRule(std::move(identity)), opcode_(opcode) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsBilinear(instruction, opcode_) &&
           (IsSum(instruction->operand(0)) || IsSum(instruction->operand(1)));
  }

  Instruction* Build(Instruction* product) const override {
    const int side = IsSum(product->operand(0)) ? 0 : 1;
    Instruction* const sum = product->mutable_operand(side);
    std::vector<Instruction*> terms;
    for (Instruction* term : sum->operands()) {
      terms.push_back(AddLike(product, product->shape(), OperandsWith(product, side, term)));
    }
    return AddLike(sum, product->shape(), terms);
  }

 private:
  xla::HloOpcode opcode_;
};

}  // namespace

const RuleTopic kFactoringRules(102, [](std::vector<RulePtr>& rules) {
  using Opcode = xla::HloOpcode;
  rules.push_back(
      std::make_unique<Factor>(Identity{"factor-products", "a×c ± b×c = (a ± b)×c",
                                        "Takes a common factor out of a sum or difference."},
                               Opcode::kMultiply));
  rules.push_back(std::make_unique<Factor>(
      Identity{"factor-dots", "x·w ± y·w = (x ± y)·w",
               "Takes a common operand out of a sum or difference of dots."},
      Opcode::kDot));
  rules.push_back(std::make_unique<Factor>(
      Identity{"factor-convolutions", "x*k ± y*k = (x ± y)*k",
               "Takes a common operand out of a sum or difference of convolutions."},
      Opcode::kConvolution));
  rules.push_back(
      std::make_unique<Distribute>(Identity{"distribute-dot", "(x ± y)·w = x·w ± y·w",
                                            "Takes a dot of a sum or difference apart."},
                                   Opcode::kDot));
  rules.push_back(
      std::make_unique<Distribute>(Identity{"distribute-convolution", "(x ± y)*k = x*k ± y*k",
                                            "Takes a convolution of a sum or difference apart."},
                                   Opcode::kConvolution));
});

}  // namespace hlograph
