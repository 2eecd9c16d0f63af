// Factors that are constant along what a product sums over, moved through it: a normalisation or
// a learned scale into the weights that come before.
#include <algorithm>
#include <cstddef>
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

// A multiplication by a broadcast.
struct Scaled {
  Instruction* value = nullptr;
  Instruction* factor = nullptr;  // the broadcast
};

// Which of the two is the broadcast; the second if both are.
std::optional<Scaled> FindScaled(const Instruction* instruction) {
  if (instruction->opcode() != xla::HloOpcode::kMultiply || !IsPlain(instruction)) {
    return std::nullopt;
  }
  Instruction* const one = instruction->operands()[0];
  Instruction* const two = instruction->operands()[1];
  if (!SameArray(instruction, one) || !SameArray(instruction, two)) return std::nullopt;
  if (IsBroadcast(two)) return Scaled{one, two};
  if (IsBroadcast(one)) return Scaled{two, one};
  return std::nullopt;
}

// Where the dimensions of a broadcast are on the other side of a product: `from` and `to` are
// fields of ResultDimension. None if some are not there, or in another order.
std::optional<std::vector<int64_t>> Carried(const Instruction* broadcast,
                                            const std::vector<ResultDimension>& dimensions,
                                            int64_t ResultDimension::* from,
                                            int64_t ResultDimension::* to) {
  std::vector<int64_t> carried;
  for (int64_t dimension : broadcast->dimensions()) {
    const auto found =
        std::find_if(dimensions.begin(), dimensions.end(),
                     [&](const ResultDimension& one) { return one.*from == dimension; });
    if (found == dimensions.end()) return std::nullopt;
    if (!carried.empty() && carried.back() >= (*found).*to) return std::nullopt;
    carried.push_back((*found).*to);
  }
  return carried;
}

// Where a factor goes: the side of the product, and the dimensions of the broadcast there.
struct Destination {
  int side = 0;
  std::vector<int64_t> dimensions;
};

class ScaleOperand : public InstructionRule {
 public:
  ScaleOperand(Identity identity, xla::HloOpcode opcode)
      : InstructionRule(std::move(identity)), opcode_(opcode) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    const std::optional<Scaled> scaled = FindScaled(instruction);
    return scaled.has_value() && IsProduct(scaled->value, opcode_) && HasOneType(scaled->value) &&
           Find(*scaled).has_value();
  }

  Instruction* Build(Instruction* multiply) const override {
    const Scaled scaled = *FindScaled(multiply);
    const Destination to = *Find(scaled);
    Instruction* const operand = scaled.value->mutable_operand(to.side);
    Instruction* const factor = AddBroadcast(scaled.factor, operand->shape(), to.dimensions);
    Instruction* const smaller = AddLike(multiply, operand->shape(), {operand, factor});
    return AddLike(scaled.value, multiply->shape(), OperandsWith(scaled.value, to.side, smaller));
  }

 private:
  // The second operand first: weights are there, as a rule.
  static std::optional<Destination> Find(const Scaled& scaled) {
    for (int side : {1, 0}) {
      auto dimensions = Carried(scaled.factor, ScalableDimensions(scaled.value, side),
                                &ResultDimension::result, &ResultDimension::operand);
      if (dimensions.has_value()) return Destination{side, *std::move(dimensions)};
    }
    return std::nullopt;
  }

  xla::HloOpcode opcode_;
};

class ScaleResult : public InstructionRule {
 public:
  ScaleResult(Identity identity, xla::HloOpcode opcode)
      : InstructionRule(std::move(identity)), opcode_(opcode) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    return IsProduct(instruction, opcode_) && HasOneType(instruction) &&
           Find(instruction).has_value();
  }

  Instruction* Build(Instruction* product) const override {
    const Destination from = *Find(product);
    Instruction* const multiply = product->mutable_operand(from.side);
    const Scaled scaled = *FindScaled(multiply);
    Instruction* const bare =
        AddLike(product, product->shape(), OperandsWith(product, from.side, scaled.value));
    Instruction* const factor = AddBroadcast(scaled.factor, product->shape(), from.dimensions);
    return AddLike(multiply, product->shape(), {bare, factor});
  }

 private:
  static std::optional<Destination> Find(const Instruction* product) {
    for (int side : {0, 1}) {
      const std::optional<Scaled> scaled = FindScaled(product->operand(side));
      if (!scaled.has_value()) continue;
      auto dimensions = Carried(scaled->factor, ScalableDimensions(product, side),
                                &ResultDimension::operand, &ResultDimension::result);
      if (dimensions.has_value()) return Destination{side, *std::move(dimensions)};
    }
    return std::nullopt;
  }

  xla::HloOpcode opcode_;
};

}  // namespace

const RuleTopic kScalingRules(103, [](std::vector<RulePtr>& rules) {
  using Opcode = xla::HloOpcode;
  rules.push_back(
      std::make_unique<ScaleOperand>(Identity{"scale-operand:dot", "(x·w)×s = x·(w×s)",
                                              "Scales an operand of a dot instead of its result."},
                                     Opcode::kDot));
  rules.push_back(std::make_unique<ScaleOperand>(
      Identity{"scale-operand:convolution", "(x*k)×s = x*(k×s)",
               "Scales the kernel of a convolution instead of its result."},
      Opcode::kConvolution));
  rules.push_back(
      std::make_unique<ScaleResult>(Identity{"scale-result:dot", "(x×s)·w = (x·w)×s",
                                             "Scales the result of a dot instead of an operand."},
                                    Opcode::kDot));
  rules.push_back(std::make_unique<ScaleResult>(
      Identity{"scale-result:convolution", "(x×s)*k = (x*k)×s",
               "Scales the result of a convolution instead of an operand."},
      Opcode::kConvolution));
});

}  // namespace hlograph
