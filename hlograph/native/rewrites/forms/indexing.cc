// Gathers and scatters, and what commutes with them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/one_hots.h"
#include "hlograph/native/rewrites/forms/rows.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// Returns true if there are more gathered rows than rows in the table.
bool GathersMore(const Instruction* gather) {
  const std::optional<RowGather> rows = FindRowGather(gather);
  return rows.has_value() && rows->count > rows->table->shape().dimensions(0);
}

// Gathered vectors that a dot multiplies by a matrix, alone or beside other columns.
struct GatheredDot {
  std::vector<Instruction*> parts;  // columns of the first operand
  int64_t contracted = 0;           // dimension of the second operand
};

bool IsProjected(const Instruction* part) {
  return part->shape().dimensions().size() > 1 && GathersMore(part) &&
         part->operand(0)->shape().dimensions().size() == 2;
}

std::optional<GatheredDot> FindGatheredDot(const Instruction* dot) {
  const xla::PrimitiveType type = dot->shape().element_type();
  if (!IsProduct(dot, Opcode::kDot) || !HasOneType(dot) || (type != xla::F32 && type != xla::F64)) {
    return std::nullopt;
  }
  const xla::DotDimensionNumbers& numbers = dot->dot_dimension_numbers();
  Instruction* const rows = dot->operands()[0];
  const int64_t last = static_cast<int64_t>(rows->shape().dimensions().size()) - 1;
  if (numbers.lhs_batch_dimensions_size() != 0 || numbers.lhs_contracting_dimensions_size() != 1 ||
      numbers.lhs_contracting_dimensions(0) != last) {
    return std::nullopt;
  }
  GatheredDot found{{rows}, numbers.rhs_contracting_dimensions(0)};
  if (IsConcatenate(rows) && rows->concatenate_dimension() == last) {
    found.parts.assign(rows->operands().begin(), rows->operands().end());
  }
  if (std::none_of(found.parts.begin(), found.parts.end(), IsProjected)) return std::nullopt;
  return found;
}

class GatherAfterDot : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = 4}; }

 protected:
  bool Matches(const Instruction* dot) const override { return FindGatheredDot(dot).has_value(); }

  Instruction* Build(Instruction* dot) const override {
    const GatheredDot found = *FindGatheredDot(dot);
    const Builder build(dot);
    std::vector<Instruction*> sums, rest;
    std::vector<Instruction*> weights;  // of the rest
    int64_t start = 0;
    for (Instruction* part : found.parts) {
      const int64_t width = part->shape().dimensions().back();
      Instruction* const weight =
          build.SliceOf(dot->mutable_operand(1), found.contracted, start, start + width);
      start += width;
      if (IsProjected(part)) {
        sums.push_back(GatherLike(build, part, Projected(dot, part->mutable_operand(0), weight)));
      } else {
        rest.push_back(part);
        weights.push_back(weight);
      }
    }
    if (!rest.empty()) {
      const int64_t last = static_cast<int64_t>(rest[0]->shape().dimensions().size()) - 1;
      sums.push_back(Projected(dot, build.Concatenate(rest, last),
                               build.Concatenate(weights, found.contracted)));
    }
    Instruction* total = sums.front();
    for (size_t i = 1; i < sums.size(); ++i) total = build.Binary(Opcode::kAdd, total, sums[i]);
    return total;
  }

 private:
  static Instruction* Projected(Instruction* dot, Instruction* rows, Instruction* weight) {
    const xla::DotDimensionNumbers& old = dot->dot_dimension_numbers();
    const int64_t last = static_cast<int64_t>(rows->shape().dimensions().size()) - 1;
    xla::DotDimensionNumbers numbers = old;
    numbers.set_lhs_contracting_dimensions(0, last);
    const absl::Span<const int64_t> from = rows->shape().dimensions();
    std::vector<int64_t> sizes(from.begin(), from.begin() + last);
    for (int64_t i = 0; i < static_cast<int64_t>(weight->shape().dimensions().size()); ++i) {
      if (i != old.rhs_contracting_dimensions(0)) sizes.push_back(weight->shape().dimensions(i));
    }
    return dot->AddInstruction(
        Instruction::CreateDot(xla::ShapeUtil::MakeShape(dot->shape().element_type(), sizes), rows,
                               weight, numbers, dot->precision_config()));
  }
};

// A pointwise operation on gathered rows, and what it is applied to instead.
struct GatheredPointwise {
  Instruction* gather = nullptr;
  std::vector<Instruction*> operands;  // gathers of the same rows, and broadcasts
};

// A broadcast that is the same for all rows: of a scalar, or along what is gathered whole.
bool IsSameForAllRows(const Instruction* operand, int64_t index_dimensions) {
  return IsBroadcast(operand) &&
         std::is_sorted(operand->dimensions().begin(), operand->dimensions().end()) &&
         (operand->dimensions().empty() || operand->dimensions(0) >= index_dimensions);
}

bool GathersAlike(const Instruction* one, const Instruction* two) {
  const std::optional<RowGather> first = FindRowGather(one), second = FindRowGather(two);
  return first.has_value() && second.has_value() &&
         IsComputedAlike(one->operand(1), two->operand(1)) &&
         first->index_dimensions == second->index_dimensions &&
         one->gather_dimension_numbers().index_vector_dim() ==
             two->gather_dimension_numbers().index_vector_dim() &&
         xla::ShapeUtil::SameDimensions(first->table->shape(), second->table->shape());
}

std::optional<GatheredPointwise> FindGatheredPointwise(const Instruction* pointwise) {
  if (!IsPointwise(pointwise)) return std::nullopt;
  GatheredPointwise found;
  for (Instruction* operand : pointwise->operands()) {
    if (found.gather == nullptr && GathersMore(operand)) found.gather = operand;
  }
  if (found.gather == nullptr) return std::nullopt;
  const int64_t index_dimensions = FindRowGather(found.gather)->index_dimensions;
  for (Instruction* operand : pointwise->operands()) {
    if (!GathersAlike(found.gather, operand) && !IsSameForAllRows(operand, index_dimensions)) {
      return std::nullopt;
    }
  }
  found.operands.assign(pointwise->operands().begin(), pointwise->operands().end());
  return found;
}

class PointwiseBeforeGather : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kAlikeReach + 3}; }

 protected:
  bool Matches(const Instruction* pointwise) const override {
    return FindGatheredPointwise(pointwise).has_value();
  }

  Instruction* Build(Instruction* pointwise) const override {
    const GatheredPointwise found = *FindGatheredPointwise(pointwise);
    const Builder build(pointwise);
    const xla::Shape& table = found.gather->operand(0)->shape();
    const int64_t shift = FindRowGather(found.gather)->index_dimensions - 1;
    std::vector<Instruction*> operands;
    for (Instruction* operand : found.operands) {
      if (operand->opcode() == Opcode::kGather) {
        operands.push_back(operand->mutable_operand(0));
        continue;
      }
      std::vector<int64_t> dimensions(operand->dimensions().begin(), operand->dimensions().end());
      for (int64_t& dimension : dimensions) dimension -= shift;
      operands.push_back(
          build.Broadcast(operand->mutable_operand(0), table.dimensions(), dimensions));
    }
    return GatherLike(build, found.gather, AddLike(pointwise, Retyped(table, pointwise), operands));
  }
};

}  // namespace

const RuleTopic kIndexingForms(315, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<GatherAfterDot>(
      Identity{"gather-after-dot", "x[i]·w = (x·w)[i]",
               "Multiplies rows by a matrix before they are gathered, if more are gathered than "
               "there are."}));
  rules.push_back(std::make_unique<PointwiseBeforeGather>(
      Identity{"pointwise-before-gather", "f(x[i]) = f(x)[i]",
               "Computes a pointwise operation before rows are gathered, if more are gathered than "
               "there are.",
               Numerics::kExact}));
});

}  // namespace hlograph
