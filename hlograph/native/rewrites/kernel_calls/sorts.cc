// Sorts and top-k as calls of native kernels.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Returns true for the types that kernels order.
bool IsOrdered(xla::PrimitiveType type) {
  return (IsFloat(type) || IsInteger(type)) && xla::primitive_util::BitWidth(type) >= 16;
}

// Returns the order of a sort of rows of two elements or more by a key that kernels order.
std::optional<SortOrder> FindRowOrder(const Instruction* sort) {
  const std::optional<SortOrder> order = FindOrder(sort);
  if (!order.has_value()) return std::nullopt;
  const xla::Shape& key = sort->operand(order->key)->shape();
  const int64_t dimension = sort->dimensions(0);
  if (!IsOrdered(key.element_type()) || dimension != RankOf(sort->operand(0)) - 1 ||
      key.dimensions(dimension) < 2 || key.dimensions(dimension) > INT32_MAX) {
    return std::nullopt;
  }
  return order;
}

CallAttributes AttributesOf(const SortOrder& order) {
  return CallAttributes().Add("descending", order.descending).Add("canonical", order.canonical);
}

class KernelSort : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* sort) const override {
    const std::optional<SortOrder> order = FindRowOrder(sort);
    return order.has_value() && sort->operand_count() == 1 && (!order->canonical || IsStable(sort));
  }

  Instruction* Build(Instruction* sort) const override {
    return AddCall(sort, {sort->mutable_operand(0)}, {sort->shape()},
                   AttributesOf(*FindRowOrder(sort)).text());
  }
};

// A sort of several arrays. Positions are no operands of the call.
class KernelSortPairs : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* sort) const override {
    if (!FindRowOrder(sort).has_value() || sort->operand_count() < 2 || !IsStable(sort)) {
      return false;
    }
    for (const Instruction* operand : sort->operands()) {
      const xla::PrimitiveType type = operand->shape().element_type();
      const int bits = type == xla::PRED ? 8 : xla::primitive_util::BitWidth(type);
      if (bits % 8 != 0 || bits > 64) return false;
    }
    return true;
  }

  Instruction* Build(Instruction* sort) const override {
    const SortOrder order = *FindRowOrder(sort);
    const Builder builder(sort);
    std::vector<Instruction*> operands = {sort->mutable_operand(order.key)};
    std::vector<xla::Shape> shapes;
    std::vector<int64_t> sources;
    for (int64_t i = 0; i < sort->operand_count(); ++i) {
      Instruction* const operand = sort->mutable_operand(i);
      shapes.push_back(operand->shape());
      if (i == order.key) {
        sources.push_back(0);
      } else if (IsPosition(operand, sort->dimensions(0))) {
        sources.push_back(-1);
        shapes.back().set_element_type(xla::S32);
      } else {
        sources.push_back(operands.size());
        operands.push_back(operand);
      }
    }
    Instruction* const call =
        AddCall(sort, operands, shapes, AttributesOf(order).Add("sources", sources).text());
    std::vector<Instruction*> results;
    for (int64_t i = 0; i < sort->operand_count(); ++i) {
      results.push_back(
          builder.Convert(builder.Element(call, i), sort->operand(i)->shape().element_type()));
    }
    return sort->AddInstruction(Instruction::CreateTuple(results));
  }
};

class KernelTopK : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* topk) const override {
    return IsTopK(topk) && IsOrdered(topk->operand(0)->shape().element_type());
  }

  Instruction* Build(Instruction* topk) const override {
    const auto& results = topk->shape().tuple_shapes();
    return AddCall(topk, {topk->mutable_operand(0)}, {results[0], results[1]});
  }
};

}  // namespace

const RuleTopic kSortKernels(400, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelSort>(
      Identity{"kernel-sort", "sort(x) = kernel(x)",
               "Sorts rows by NumPy's vectorized sorts of integers of the same order.",
               Numerics::kExact},
      "sort"));
  rules.push_back(std::make_unique<KernelSortPairs>(
      Identity{
          "kernel-sort-pairs", "sort(x, y) = kernel(x, y)",
          "Sorts integers of key and position by NumPy's vectorized sorts, and takes what goes "
          "along by position.",
          Numerics::kExact},
      "sort_pairs"));
  rules.push_back(std::make_unique<KernelTopK>(
      Identity{"kernel-top-k", "top-k(x) = kernel(x)",
               "Selects the greatest of each row in one pass that compares vectors with the least "
               "of those selected so far.",
               Numerics::kExact},
      "top_k"));
});

}  // namespace hlograph
