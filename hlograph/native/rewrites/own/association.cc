// Associativity of dots: chains of matrices, in another order.
#include <algorithm>
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
#include "xla/protobuf_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Dimensions as in einsum: those of one letter are summed over or batched together.
using Letters = std::vector<int>;

bool Has(const Letters& letters, int letter) {
  return std::find(letters.begin(), letters.end(), letter) != letters.end();
}

// Two dots in a row, and the letters of what they multiply.
struct Chain {
  Instruction* operands[3] = {};
  Letters letters[3];
  Letters batch;
  Letters result;
  std::vector<int64_t> sizes;  // by letter
};

// The letters of a dot, batch first, then what is left of either operand.
Letters ResultOf(const Letters& lhs, const Letters& rhs, const Letters& batch) {
  Letters result = batch;
  for (int letter : lhs) {
    if (!Has(rhs, letter)) result.push_back(letter);
  }
  for (int letter : rhs) {
    if (!Has(lhs, letter)) result.push_back(letter);
  }
  return result;
}

// Letters of the operand on one side, given those on the other side.
Letters Lettered(const Instruction* dot, int side, const Letters& other,
                 std::vector<int64_t>& sizes) {
  const xla::DotDimensionNumbers& numbers = dot->dot_dimension_numbers();
  const auto& batch = side == 0 ? numbers.lhs_batch_dimensions() : numbers.rhs_batch_dimensions();
  const auto& other_batch =
      side == 0 ? numbers.rhs_batch_dimensions() : numbers.lhs_batch_dimensions();
  const auto& summed =
      side == 0 ? numbers.lhs_contracting_dimensions() : numbers.rhs_contracting_dimensions();
  const auto& other_summed =
      side == 0 ? numbers.rhs_contracting_dimensions() : numbers.lhs_contracting_dimensions();
  const xla::Shape& shape = dot->operand(side)->shape();
  Letters letters(shape.dimensions().size(), -1);
  for (int i = 0; i < batch.size(); ++i) letters[batch[i]] = other[other_batch[i]];
  for (int i = 0; i < summed.size(); ++i) letters[summed[i]] = other[other_summed[i]];
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] >= 0) continue;
    letters[i] = sizes.size();
    sizes.push_back(shape.dimensions(i));
  }
  return letters;
}

Letters NewLetters(const Instruction* array, std::vector<int64_t>& sizes) {
  Letters letters;
  for (int64_t size : array->shape().dimensions()) {
    letters.push_back(sizes.size());
    sizes.push_back(size);
  }
  return letters;
}

Letters BatchOf(const Instruction* dot, const Letters& lhs) {
  Letters batch;
  for (int64_t dimension : dot->dot_dimension_numbers().lhs_batch_dimensions()) {
    batch.push_back(lhs[dimension]);
  }
  return batch;
}

// The chain of a dot and the one on its left (0) or right (1) side; none if they are batched
// over other dimensions, or the operands that are to be multiplied first share none.
std::optional<Chain> FindChain(const Instruction* outer, int side) {
  const Instruction* const inner = outer->operand(side);
  Chain chain;
  const int first = side;  // of the inner operands, in the chain
  for (int i : {0, 1}) chain.operands[first + i] = inner->operands()[i];
  chain.operands[side == 0 ? 2 : 0] = outer->operands()[1 - side];

  Letters& lhs = chain.letters[first];
  lhs = NewLetters(inner->operand(0), chain.sizes);
  chain.letters[first + 1] = Lettered(inner, 1, lhs, chain.sizes);
  chain.batch = BatchOf(inner, lhs);
  const Letters between = ResultOf(lhs, chain.letters[first + 1], chain.batch);
  const Letters far = Lettered(outer, 1 - side, between, chain.sizes);
  chain.letters[side == 0 ? 2 : 0] = far;
  if (BatchOf(outer, side == 0 ? between : far) != chain.batch) return std::nullopt;
  chain.result =
      side == 0 ? ResultOf(between, far, chain.batch) : ResultOf(far, between, chain.batch);

  // The first and the last of the chain must have nothing in common but the batch.
  for (int letter : chain.letters[0]) {
    if (Has(chain.letters[2], letter) && !Has(chain.batch, letter)) return std::nullopt;
  }
  return chain;
}

xla::DotDimensionNumbers NumbersOf(const Letters& lhs, const Letters& rhs, const Letters& batch) {
  xla::DotDimensionNumbers numbers;
  const auto position = [](const Letters& letters, int letter) {
    return std::find(letters.begin(), letters.end(), letter) - letters.begin();
  };
  for (int letter : batch) {
    numbers.add_lhs_batch_dimensions(position(lhs, letter));
    numbers.add_rhs_batch_dimensions(position(rhs, letter));
  }
  for (int letter : lhs) {
    if (!Has(rhs, letter) || Has(batch, letter)) continue;
    numbers.add_lhs_contracting_dimensions(position(lhs, letter));
    numbers.add_rhs_contracting_dimensions(position(rhs, letter));
  }
  return numbers;
}

// The product of two neighbours of a chain that is to be computed first.
Letters FirstOf(const Chain& chain, int first) {
  return ResultOf(chain.letters[first], chain.letters[first + 1], chain.batch);
}

std::vector<int64_t> SizesOf(const Chain& chain, const Letters& letters) {
  std::vector<int64_t> sizes;
  for (int letter : letters) sizes.push_back(chain.sizes[letter]);
  return sizes;
}

class Reassociate : public InstructionRule {
 public:
  // Expects the inner dot on this side, and leaves it on the other.
  Reassociate(Identity identity, int side) : InstructionRule(std::move(identity)), side_(side) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsProduct(instruction, xla::HloOpcode::kDot)) return false;
    const Instruction* const inner = instruction->operand(side_);
    if (!IsProduct(inner, xla::HloOpcode::kDot) || !HasOneType(instruction) || !HasOneType(inner) ||
        !xla::protobuf_util::HaveSameSerialization(instruction->precision_config(),
                                                   inner->precision_config())) {
      return false;
    }
    const std::optional<Chain> chain = FindChain(instruction, side_);
    if (!chain.has_value()) return false;
    const Letters first = FirstOf(*chain, 1 - side_);
    const Letters result = side_ == 0 ? ResultOf(chain->letters[0], first, chain->batch)
                                      : ResultOf(first, chain->letters[2], chain->batch);
    // The outer product of two large vectors cannot be had.
    return result == chain->result && IsCountable(SizesOf(*chain, first));
  }

  Instruction* Build(Instruction* outer) const override {
    const Chain chain = *FindChain(outer, side_);
    const int first = 1 - side_;
    const Letters inner = FirstOf(chain, first);
    Instruction* const product = AddDot(
        outer, xla::ShapeUtil::MakeShape(outer->shape().element_type(), SizesOf(chain, inner)),
        chain.batch, chain.operands[first], chain.letters[first], chain.operands[first + 1],
        chain.letters[first + 1]);
    return side_ == 0 ? AddDot(outer, outer->shape(), chain.batch, chain.operands[0],
                               chain.letters[0], product, inner)
                      : AddDot(outer, outer->shape(), chain.batch, product, inner,
                               chain.operands[2], chain.letters[2]);
  }

 private:
  static Instruction* AddDot(Instruction* like, const xla::Shape& shape, const Letters& batch,
                             Instruction* lhs, const Letters& lhs_letters, Instruction* rhs,
                             const Letters& rhs_letters) {
    return like->AddInstruction(Instruction::CreateDot(
        shape, lhs, rhs, NumbersOf(lhs_letters, rhs_letters, batch), like->precision_config()));
  }

  int side_;
};

}  // namespace

const RuleTopic kAssociationRules(104, [](std::vector<RulePtr>& rules) {
  rules.push_back(
      std::make_unique<Reassociate>(Identity{"reassociate-dots:right", "(x·v)·w = x·(v·w)",
                                             "Multiplies the last two of three matrices first."},
                                    0));
  rules.push_back(
      std::make_unique<Reassociate>(Identity{"reassociate-dots:left", "x·(v·w) = (x·v)·w",
                                             "Multiplies the first two of three matrices first."},
                                    1));
});

}  // namespace hlograph
