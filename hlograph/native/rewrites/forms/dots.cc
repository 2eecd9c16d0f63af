// Small dots as products and sums, which XLA:CPU fuses with what is around them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;

// Above these sizes a library's kernel is faster by far.
constexpr int64_t kMaxProducts = 4096;
constexpr int64_t kMaxContracted = 64;
constexpr int64_t kMaxSlices = 8;

int64_t ContractedSize(const Instruction* dot) {
  int64_t size = 1;
  for (int64_t dimension : dot->dot_dimension_numbers().lhs_contracting_dimensions()) {
    size *= dot->operand(0)->shape().dimensions(dimension);
  }
  return size;
}

bool IsFloatDot(const Instruction* dot) {
  const xla::PrimitiveType type = dot->shape().element_type();
  return IsProduct(dot, Opcode::kDot) && HasOneType(dot) &&
         (type == xla::F32 || type == xla::F64) && ContractedSize(dot) > 0 &&
         !xla::ShapeUtil::IsZeroElementArray(dot->shape());
}

// Where the dimensions of a side are in the result: batch, free of the first, free of the second.
Numbers ResultPlaces(const DotOperand& own, const DotOperand& other, int side) {
  Numbers places;
  for (size_t i = 0; i < own.batch.size(); ++i) places.push_back(i);
  const size_t start = own.batch.size() + (side == 0 ? 0 : other.free.size());
  for (size_t i = 0; i < own.free.size(); ++i) places.push_back(start + i);
  return places;
}

Numbers Joined(Numbers one, const Numbers& two) {
  one.insert(one.end(), two.begin(), two.end());
  return one;
}

class SmallDotAsSum : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* dot) const override {
    if (!IsFloatDot(dot)) return false;
    const int64_t contracted = ContractedSize(dot);
    return contracted <= kMaxContracted &&
           contracted * xla::ShapeUtil::ElementsIn(dot->shape()) <= kMaxProducts;
  }

  // The products have the dimensions of the result, then what is contracted; of a matrix times a
  // matrix, the columns of the second come last, as they are in memory.
  Instruction* Build(Instruction* dot) const override {
    const Builder build(dot);
    const DotOperand lhs = DotOperandOf(dot, 0), rhs = DotOperandOf(dot, 1);
    const int64_t rank = dot->shape().dimensions().size();
    const int64_t last = rhs.free.empty() ? rank : rank - static_cast<int64_t>(rhs.free.size());
    Numbers sizes(dot->shape().dimensions().begin(), dot->shape().dimensions().end());
    Numbers contracted;
    for (size_t i = 0; i < lhs.contracting.size(); ++i) {
      sizes.insert(sizes.begin() + last + i,
                   dot->operand(0)->shape().dimensions(lhs.contracting[i]));
      contracted.push_back(last + i);
    }
    const auto spread = [&](int side, const DotOperand& own, const DotOperand& other) {
      Numbers places = ResultPlaces(own, other, side);
      for (int64_t& place : places) {
        if (place >= last) place += contracted.size();
      }
      return Spread(build, dot->mutable_operand(side),
                    Joined(Joined(own.batch, own.free), own.contracting),
                    Joined(places, contracted), sizes);
    };
    Instruction* const products =
        build.Binary(Opcode::kMultiply, spread(0, lhs, rhs), spread(1, rhs, lhs));
    return build.Reduce(Opcode::kAdd, products, contracted);
  }

 private:
  // Broadcasts so that dimension `from[i]` of the operand becomes dimension `to[i]`.
  static Instruction* Spread(const Builder& build, Instruction* operand, const Numbers& from,
                             const Numbers& to, const Numbers& sizes) {
    std::vector<std::pair<int64_t, int64_t>> moves;
    for (size_t i = 0; i < from.size(); ++i) moves.emplace_back(to[i], from[i]);
    std::sort(moves.begin(), moves.end());
    Numbers order, places;
    for (const auto& [place, dimension] : moves) {
      order.push_back(dimension);
      places.push_back(place);
    }
    Instruction* const ordered = build.Transpose(operand, order);
    if (places.size() == sizes.size()) return ordered;
    return build.Broadcast(ordered, sizes, places);
  }
};

class ShortDotAsSlices : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* dot) const override {
    return IsFloatDot(dot) && dot->dot_dimension_numbers().lhs_contracting_dimensions_size() == 1 &&
           ContractedSize(dot) <= kMaxSlices;
  }

  Instruction* Build(Instruction* dot) const override {
    const Builder build(dot);
    const DotOperand lhs = DotOperandOf(dot, 0), rhs = DotOperandOf(dot, 1);
    Instruction* total = nullptr;
    for (int64_t i = 0; i < ContractedSize(dot); ++i) {
      Instruction* const product =
          build.Binary(Opcode::kMultiply, Sliced(build, dot, 0, lhs, rhs, i),
                       Sliced(build, dot, 1, rhs, lhs, i));
      total = total == nullptr ? product : build.Binary(Opcode::kAdd, total, product);
    }
    return total;
  }

 private:
  static Instruction* Sliced(const Builder& build, Instruction* dot, int side,
                             const DotOperand& own, const DotOperand& other, int64_t index) {
    Instruction* const operand = dot->mutable_operand(side);
    Instruction* const slice = build.SliceOf(operand, own.contracting[0], index, index + 1);
    const Numbers order = Joined(Joined(own.batch, own.free), own.contracting);
    Instruction* const ordered = build.Transpose(slice, order);
    const absl::Span<const int64_t> sizes = ordered->shape().dimensions();
    Instruction* const flat = build.Reshape(ordered, sizes.subspan(0, sizes.size() - 1));
    const Numbers places = ResultPlaces(own, other, side);
    if (places.size() == dot->shape().dimensions().size()) return flat;
    return build.Broadcast(flat, dot->shape().dimensions(), places);
  }
};

}  // namespace

const RuleTopic kDotForms(316, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SmallDotAsSum>(
      Identity{"small-dot-as-sum", "x·w = Σ x×w",
               "Computes a small dot as a product of broadcasts and a sum, which can be fused."}));
  rules.push_back(std::make_unique<ShortDotAsSlices>(Identity{
      "short-dot-as-slices", "x·w = x₀×w₀ + x₁×w₁ + ...",
      "Computes a dot that contracts few elements as products of slices, which are added."}));
});

}  // namespace hlograph
