// Products as calls of native kernels: of 8-bit integers, and of rows of complex numbers.
#include "hlograph/native/rewrites/products.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// Rows of the left operand, along its last dimension, with the columns of a matrix.
class KernelInt8Product : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* dot) const override {
    if (!IsProduct(dot, Opcode::kDot) || dot->shape().element_type() != xla::S32) return false;
    const DotOperand left = DotOperandOf(dot, 0), right = DotOperandOf(dot, 1);
    return dot->operand(0)->shape().element_type() == xla::S8 &&
           dot->operand(1)->shape().element_type() == xla::S8 && left.batch.empty() &&
           left.contracting.size() == 1 && left.contracting[0] == RankOf(dot->operand(0)) - 1 &&
           right.free.size() == 1 && RankOf(dot->operand(1)) == 2 &&
           !xla::ShapeUtil::IsZeroElementArray(dot->operand(0)->shape()) &&
           !xla::ShapeUtil::IsZeroElementArray(dot->operand(1)->shape());
  }

  Instruction* Build(Instruction* dot) const override {
    const bool by_columns = DotOperandOf(dot, 1).contracting[0] == 1;
    return AddCall(dot, {dot->mutable_operand(0), dot->mutable_operand(1)}, {dot->shape()},
                   CallAttributes().Add("by_columns", by_columns).text());
  }
};

// Two factors of which one may be conjugated.
struct Factors {
  Instruction* left = nullptr;  // conjugated if one is
  Instruction* right = nullptr;
  bool conjugate = false;
};

// Returns what an instruction is the conjugate of, complex(real(x), -imag(x)); null for others.
Instruction* ConjugatedBy(Instruction* conjugate) {
  if (conjugate->opcode() != Opcode::kComplex) return nullptr;
  Instruction* const real = conjugate->mutable_operand(0);
  Instruction* const negated = conjugate->mutable_operand(1);
  if (real->opcode() != Opcode::kReal || negated->opcode() != Opcode::kNegate) return nullptr;
  Instruction* const imaginary = negated->mutable_operand(0);
  Instruction* const number = real->mutable_operand(0);
  if (imaginary->opcode() != Opcode::kImag || imaginary->operand(0) != number ||
      !SameArray(number, conjugate)) {
    return nullptr;
  }
  return number;
}

// Returns the factors of sums of products along the last dimension of two arrays; none for others.
std::optional<Factors> FindFactors(const Instruction* sums) {
  const Instruction* product = sums;
  if (sums->opcode() == Opcode::kReduce) {
    if (!IsReductionBy(sums, Opcode::kAdd)) return std::nullopt;
    product = sums->operand(0);
    if (product->opcode() != Opcode::kMultiply || !IsPlain(product) || !IsOnlyUser(sums, product) ||
        sums->dimensions().size() != 1 || sums->dimensions(0) != RankOf(product) - 1) {
      return std::nullopt;
    }
  } else {
    if (!IsProduct(sums, Opcode::kDot)) return std::nullopt;
    const DotOperand left = DotOperandOf(sums, 0), right = DotOperandOf(sums, 1);
    const int64_t last = RankOf(sums->operand(0)) - 1;
    if (!left.free.empty() || !right.free.empty() || left.contracting.size() != 1 ||
        left.contracting[0] != last || right.contracting[0] != last || left.batch != right.batch ||
        !std::is_sorted(left.batch.begin(), left.batch.end())) {
      return std::nullopt;
    }
  }
  Instruction* const left = const_cast<Instruction*>(product->operand(0));
  Instruction* const right = const_cast<Instruction*>(product->operand(1));
  if (!xla::primitive_util::IsComplexType(sums->shape().element_type()) ||
      !SameArray(left, right) || !SameType(left, sums) || !left->shape().is_static() ||
      xla::ShapeUtil::IsZeroElementArray(left->shape())) {
    return std::nullopt;
  }
  if (Instruction* const number = ConjugatedBy(left)) return Factors{number, right, true};
  if (Instruction* const number = ConjugatedBy(right)) return Factors{number, left, true};
  return Factors{left, right, false};
}

class KernelComplexRows : public KernelRule {
 public:
  using KernelRule::KernelRule;

  Reach reach() const override { return {.operands = 4, .users = 1}; }

 protected:
  bool Matches(const Instruction* sums) const override { return FindFactors(sums).has_value(); }

  Instruction* Build(Instruction* sums) const override {
    const Factors factors = *FindFactors(sums);
    return AddCall(sums, {factors.left, factors.right}, {sums->shape()},
                   CallAttributes().Add("conjugate", factors.conjugate).text());
  }
};

}  // namespace

const RuleTopic kProductKernels(401, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelInt8Product>(
      Identity{"kernel-int8-product", "x y of 8-bit integers = kernel(x, y)",
               "Multiplies 8-bit integers four at a time, on processors with AVX-512 VNNI.",
               Numerics::kExact},
      "int8_product"));
  rules.push_back(std::make_unique<KernelComplexRows>(
      Identity{"kernel-complex-rows", "sum x* y of rows = kernel(x, y)",
               "Computes inner products of rows of complex numbers in one pass, in vectors.",
               Numerics::kClose},
      "complex_rows"));
});

}  // namespace hlograph
