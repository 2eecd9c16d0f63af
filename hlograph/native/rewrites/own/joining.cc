// Products of concatenations, and concatenations of products.
#include <cstdint>
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

// The operand of a product that a rule is about, and the dimension.
struct ProductSide {
  int side = 0;
  ResultDimension dimension;
};

class SplitProduct : public InstructionRule {
 public:
  SplitProduct(Identity identity, xla::HloOpcode opcode)
      : InstructionRule(std::move(identity)), opcode_(opcode) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsProduct(instruction, opcode_) && Find(instruction).has_value();
  }

  Instruction* Build(Instruction* product) const override {
    const auto [side, dimension] = *Find(product);
    std::vector<Instruction*> parts;
    for (Instruction* operand : product->mutable_operand(side)->operands()) {
      const int64_t size = operand->shape().dimensions(dimension.operand);
      parts.push_back(AddLike(product, Resized(product->shape(), dimension.result, size),
                              OperandsWith(product, side, operand)));
    }
    return AddConcatenate(product, parts, dimension.result);
  }

 private:
  static std::optional<ProductSide> Find(const Instruction* product) {
    for (int side : {0, 1}) {
      const Instruction* const operand = product->operand(side);
      if (!IsConcatenate(operand)) continue;
      for (ResultDimension dimension : FreeDimensions(product, side)) {
        if (dimension.operand == operand->concatenate_dimension()) return {{side, dimension}};
      }
    }
    return std::nullopt;
  }

  xla::HloOpcode opcode_;
};

class JoinProducts : public InstructionRule {
 public:
  JoinProducts(Identity identity, xla::HloOpcode opcode)
      : InstructionRule(std::move(identity)), opcode_(opcode) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConcatenate(instruction)) return false;
    for (const Instruction* part : instruction->operands()) {
      if (!IsProduct(part, opcode_) || !SameProduct(part, instruction->operand(0))) return false;
    }
    return Find(instruction).has_value();
  }

  Instruction* Build(Instruction* concatenate) const override {
    const auto [side, dimension] = *Find(concatenate);
    std::vector<Instruction*> operands;
    for (Instruction* part : concatenate->operands()) {
      operands.push_back(part->mutable_operand(side));
    }
    Instruction* const joint = AddConcatenate(concatenate, operands, dimension.operand);
    Instruction* const first = concatenate->mutable_operand(0);
    return AddLike(first, concatenate->shape(), OperandsWith(first, side, joint));
  }

 private:
  static std::optional<ProductSide> Find(const Instruction* concatenate) {
    for (int side : {0, 1}) {
      for (ResultDimension dimension : FreeDimensions(concatenate->operand(0), side)) {
        if (dimension.result == concatenate->concatenate_dimension() &&
            AreJoinable(concatenate, side, dimension.operand)) {
          return {{side, dimension}};
        }
      }
    }
    return std::nullopt;
  }

  static bool AreJoinable(const Instruction* concatenate, int side, int64_t dimension) {
    const Instruction* const first = concatenate->operand(0);
    for (const Instruction* part : concatenate->operands()) {
      if (part->operand(1 - side) != first->operand(1 - side) ||
          !SameElsewhere(part->operand(side)->shape(), first->operand(side)->shape(), dimension)) {
        return false;
      }
    }
    return true;
  }

  xla::HloOpcode opcode_;
};

// Sums of products are one product where what is summed over is concatenated.
class JoinContractions : public InstructionRule {
 public:
  using InstructionRule::InstructionRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (instruction->opcode() != xla::HloOpcode::kAdd || !IsPlain(instruction)) return false;
    const Instruction* const one = instruction->operand(0);
    const Instruction* const two = instruction->operand(1);
    return one != two && IsProduct(one, xla::HloOpcode::kDot) &&
           IsProduct(two, xla::HloOpcode::kDot) && SameProduct(one, two) && HasOneType(one) &&
           SameArray(one, two) && SameArray(one, instruction) && Find(one, two).has_value();
  }

  Instruction* Build(Instruction* sum) const override {
    Instruction* const one = sum->mutable_operand(0);
    Instruction* const two = sum->mutable_operand(1);
    const Contraction found = *Find(one, two);
    Instruction* const lhs =
        AddConcatenate(sum, {one->mutable_operand(0), two->mutable_operand(0)}, found.lhs);
    Instruction* const rhs =
        AddConcatenate(sum, {one->mutable_operand(1), two->mutable_operand(1)}, found.rhs);
    return AddLike(one, sum->shape(), {lhs, rhs});
  }

 private:
  struct Contraction {
    int64_t lhs = 0, rhs = 0;
  };

  static std::optional<Contraction> Find(const Instruction* one, const Instruction* two) {
    const xla::DotDimensionNumbers& numbers = one->dot_dimension_numbers();
    for (int i = 0; i < numbers.lhs_contracting_dimensions_size(); ++i) {
      const Contraction found = {numbers.lhs_contracting_dimensions(i),
                                 numbers.rhs_contracting_dimensions(i)};
      if (SameElsewhere(one->operand(0)->shape(), two->operand(0)->shape(), found.lhs) &&
          SameElsewhere(one->operand(1)->shape(), two->operand(1)->shape(), found.rhs)) {
        return found;
      }
    }
    return std::nullopt;
  }
};

}  // namespace

const RuleTopic kJoiningRules(101, [](std::vector<RulePtr>& rules) {
  using Opcode = xla::HloOpcode;
  rules.push_back(std::make_unique<SplitProduct>(
      Identity{"split-dot", "[x y]·w = [x·w y·w]", "Takes a dot of a concatenation apart."},
      Opcode::kDot));
  rules.push_back(std::make_unique<SplitProduct>(
      Identity{"split-convolution", "[x y]*k = [x*k y*k]",
               "Takes a convolution of a concatenation, in batch or output features, apart."},
      Opcode::kConvolution));
  rules.push_back(std::make_unique<JoinProducts>(
      Identity{"join-dots", "[x·w y·w] = [x y]·w", "Computes dots that are concatenated in one."},
      Opcode::kDot));
  rules.push_back(std::make_unique<JoinProducts>(
      Identity{"join-convolutions", "[x*k y*k] = [x y]*k",
               "Computes convolutions that are concatenated in one."},
      Opcode::kConvolution));
  rules.push_back(std::make_unique<JoinContractions>(
      Identity{"join-contractions", "x·v + y·w = [x y]·[v; w]",
               "Computes a sum of two dots in one, of concatenated operands."}));
});

}  // namespace hlograph
