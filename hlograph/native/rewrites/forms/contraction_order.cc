// Products of three arrays, as of an einsum, in the order that needs the least memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/protobuf_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;

constexpr int kMaxTransposes = 3;
constexpr double kLeastSaving = 4;  // of elements between the two products
constexpr double kLeastBetween = 1 << 12;

// An array, and the number of the index that each of its dimensions has in a sum of products.
struct Indexed {
  Instruction* array = nullptr;
  Numbers indices;

  bool Has(int64_t index) const { return absl::c_linear_search(indices, index); }
};

// A product of an array with a product of two others; what the result lacks is summed.
struct ThreeFactors {
  Indexed outer, first, second;
  Numbers result;
  Numbers sizes;  // by index

  double Size(const Numbers& indices) const {
    double size = 1;
    for (int64_t index : indices) size *= static_cast<double>(sizes[index]);
    return size;
  }
};

Numbers UnionOf(const Numbers& one, const Numbers& other) {
  Numbers all = one;
  for (int64_t index : other) {
    if (!absl::c_linear_search(all, index)) all.push_back(index);
  }
  return all;
}

// The indices of one operand of a dot, given those of the other one; the rest are new.
Numbers IndicesOf(const Instruction* dot, int side, const Numbers& other, Numbers& sizes) {
  const DotOperand own = DotOperandOf(dot, side), opposite = DotOperandOf(dot, 1 - side);
  Numbers indices(RankOf(dot->operand(side)), -1);
  for (size_t i = 0; i < own.batch.size(); ++i) indices[own.batch[i]] = other[opposite.batch[i]];
  for (size_t i = 0; i < own.contracting.size(); ++i) {
    indices[own.contracting[i]] = other[opposite.contracting[i]];
  }
  for (int64_t dimension : own.free) {
    indices[dimension] = static_cast<int64_t>(sizes.size());
    sizes.push_back(dot->operand(side)->shape().dimensions(dimension));
  }
  return indices;
}

// The indices of a dot's result: the batch, then what is free.
Numbers ResultOf(const Instruction* dot, const Numbers& lhs, const Numbers& rhs) {
  Numbers result;
  const DotOperand left = DotOperandOf(dot, 0), right = DotOperandOf(dot, 1);
  for (int64_t dimension : left.batch) result.push_back(lhs[dimension]);
  for (int64_t dimension : left.free) result.push_back(lhs[dimension]);
  for (int64_t dimension : right.free) result.push_back(rhs[dimension]);
  return result;
}

bool IsFactorDot(const Instruction* dot) {
  return IsProduct(dot, Opcode::kDot) && HasOneType(dot) && IsFloat(dot);
}

std::optional<ThreeFactors> FindFactors(const Instruction* dot, int side) {
  Numbers order(RankOf(dot->operand(side)));  // of the inner product's dimensions
  std::iota(order.begin(), order.end(), 0);
  Instruction* inner = dot->operands()[side];
  for (int i = 0; i < kMaxTransposes && inner->opcode() == Opcode::kTranspose; ++i) {
    if (!IsRearrangement(inner)) return std::nullopt;
    for (int64_t& dimension : order) dimension = inner->dimensions(dimension);
    inner = inner->mutable_operand(0);
  }
  if (!IsFactorDot(inner) || !xla::protobuf_util::HaveSameSerialization(inner->precision_config(),
                                                                        dot->precision_config())) {
    return std::nullopt;
  }
  ThreeFactors found;
  found.first.array = inner->mutable_operand(0);
  found.second.array = inner->mutable_operand(1);
  found.outer.array = dot->operands()[1 - side];
  found.sizes = SizesOf(found.first.array);
  found.first.indices.resize(found.sizes.size());
  std::iota(found.first.indices.begin(), found.first.indices.end(), 0);
  found.second.indices = IndicesOf(inner, 1, found.first.indices, found.sizes);
  const Numbers product = ResultOf(inner, found.first.indices, found.second.indices);
  Numbers own;
  for (int64_t dimension : order) own.push_back(product[dimension]);
  found.outer.indices = IndicesOf(dot, 1 - side, own, found.sizes);
  found.result =
      side == 0 ? ResultOf(dot, own, found.outer.indices) : ResultOf(dot, found.outer.indices, own);
  return found;
}

// The indices of the product of the outer array and one of the others, which are needed after it.
Numbers Kept(const ThreeFactors& factors, const Indexed& one, const Indexed& other) {
  Numbers kept;
  for (int64_t index : UnionOf(factors.outer.indices, one.indices)) {
    if (other.Has(index) || absl::c_linear_search(factors.result, index)) kept.push_back(index);
  }
  return kept;
}

// The factors with the better one first; none if no order saves memory without more products.
std::optional<ThreeFactors> FindBetterOrder(const Instruction* dot) {
  if (!IsFactorDot(dot) || xla::ShapeUtil::IsZeroElementArray(dot->shape())) return std::nullopt;
  std::optional<ThreeFactors> best;
  double least = 0;
  for (int side : {0, 1}) {
    std::optional<ThreeFactors> found = FindFactors(dot, side);
    if (!found.has_value()) continue;
    const Numbers pair = UnionOf(found->first.indices, found->second.indices);
    Numbers product;
    for (int64_t index : pair) {
      if (found->outer.Has(index) || absl::c_linear_search(found->result, index)) {
        product.push_back(index);
      }
    }
    const double before = found->Size(product);
    const double work = found->Size(pair) + found->Size(UnionOf(product, found->outer.indices));
    for (int turn = 0; turn < 2; ++turn) {
      std::swap(found->first, found->second);
      const Numbers kept = Kept(*found, found->first, found->second);
      const double after = found->Size(kept);
      const double new_work = found->Size(UnionOf(found->outer.indices, found->first.indices)) +
                              found->Size(UnionOf(kept, found->second.indices));
      if (before < kLeastBetween || kLeastSaving * after > before || new_work > work) continue;
      if (!best.has_value() || after < least) {
        best = found;
        least = after;
      }
    }
  }
  return best;
}

class ContractionOrder : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kMaxTransposes + 2}; }

 protected:
  bool Matches(const Instruction* dot) const override { return FindBetterOrder(dot).has_value(); }

  Instruction* Build(Instruction* dot) const override {
    const ThreeFactors factors = *FindBetterOrder(dot);
    const Builder build(dot);
    const Indexed part = Multiplied(build, factors, factors.outer, factors.first,
                                    Kept(factors, factors.first, factors.second));
    const Indexed whole = Multiplied(build, factors, part, factors.second, factors.result);
    return Ordered(build, whole, factors.result);
  }

 private:
  // The array with its dimensions in the order of these indices, all of which it has.
  static Instruction* Ordered(const Builder& build, const Indexed& of, const Numbers& indices) {
    Numbers order;
    for (int64_t index : indices) {
      order.push_back(absl::c_find(of.indices, index) - of.indices.begin());
    }
    return build.Transpose(of.array, order);
  }

  // The product, summed over what is not kept.
  static Indexed Multiplied(const Builder& build, const ThreeFactors& factors, const Indexed& lhs,
                            const Indexed& rhs, const Numbers& kept) {
    Numbers batch, summed, left, right;
    for (int64_t index : lhs.indices) {
      const bool is_kept = absl::c_linear_search(kept, index);
      (rhs.Has(index) ? is_kept ? batch : summed : left).push_back(index);
    }
    for (int64_t index : rhs.indices) {
      if (!lhs.Has(index)) right.push_back(index);
    }
    Numbers result = UnionOf(UnionOf(batch, left), right);
    if (summed.empty() || (left.empty() && right.empty())) {
      return {Summed(build, factors, lhs, rhs, result, summed), result};
    }
    const Numbers first = UnionOf(UnionOf(batch, left), summed);
    const Numbers second = UnionOf(UnionOf(batch, summed), right);
    xla::DotDimensionNumbers numbers;
    const auto count = static_cast<int64_t>(batch.size());
    for (int64_t i = 0; i < count; ++i) {
      numbers.add_lhs_batch_dimensions(i);
      numbers.add_rhs_batch_dimensions(i);
    }
    for (int64_t i = 0; i < static_cast<int64_t>(summed.size()); ++i) {
      numbers.add_lhs_contracting_dimensions(static_cast<int64_t>(batch.size() + left.size()) + i);
      numbers.add_rhs_contracting_dimensions(count + i);
    }
    Instruction* const product = build.Dot(Ordered(build, lhs, first), Ordered(build, rhs, second),
                                           numbers, lhs.array->shape().element_type());
    *product->mutable_precision_config() = build.place()->precision_config();
    return {product, result};
  }

  // The product of elements, summed over the last indices, if there are any.
  static Instruction* Summed(const Builder& build, const ThreeFactors& factors, const Indexed& lhs,
                             const Indexed& rhs, const Numbers& result, const Numbers& summed) {
    const Numbers all = UnionOf(result, summed);
    Numbers sizes, last;
    for (int64_t index : all) sizes.push_back(factors.sizes[index]);
    const auto spread = [&](const Indexed& of) {
      Numbers own, dimensions;
      for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
        if (!of.Has(all[i])) continue;
        own.push_back(all[i]);
        dimensions.push_back(i);
      }
      return build.Broadcast(Ordered(build, of, own), sizes, dimensions);
    };
    Instruction* const product = build.Binary(Opcode::kMultiply, spread(lhs), spread(rhs));
    for (size_t i = result.size(); i < all.size(); ++i) last.push_back(static_cast<int64_t>(i));
    return summed.empty() ? product : build.Reduce(Opcode::kAdd, product, last);
  }
};

}  // namespace

const RuleTopic kContractionOrderForms(338, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ContractionOrder>(
      Identity{"contraction-order", "w·(x·y) = (w·x)·y",
               "Multiplies three arrays, as of an einsum, in an order with a far smaller array "
               "between the two products."}));
});

}  // namespace hlograph
