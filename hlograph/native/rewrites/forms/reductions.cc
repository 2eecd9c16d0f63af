// Reductions over or beside dimensions of a few elements, by slices.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

bool IsFloatOrInteger(const Instruction* instruction) {
  const xla::PrimitiveType type = instruction->shape().element_type();
  return type == xla::F32 || type == xla::F64 || type == xla::S32 || type == xla::S64;
}

// Returns true for a sum, product, maximum or minimum.
bool IsSimpleReduction(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kReduce) return false;
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMultiply, Opcode::kMaximum, Opcode::kMinimum}) {
    if (IsReductionBy(instruction, opcode)) return true;
  }
  return false;
}

Opcode OperationOf(const Instruction* reduce) {
  return reduce->to_apply()->root_instruction()->opcode();
}

// A reduction over one dimension of a few elements, such as coordinates.
class ShortReduction : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* reduce) const override {
    if (!IsSimpleReduction(reduce) || !IsFloatOrInteger(reduce) ||
        reduce->dimensions().size() != 1) {
      return false;
    }
    const int64_t size = reduce->operand(0)->shape().dimensions(reduce->dimensions(0));
    return size >= 2 && size <= kMaxSize && SizeOf(reduce) >= kLeastElements;
  }

  Instruction* Build(Instruction* reduce) const override {
    const Builder builder(reduce);
    const Opcode opcode = OperationOf(reduce);
    Instruction* const operand = reduce->mutable_operand(0);
    const int64_t dimension = reduce->dimensions(0);
    Instruction* result = nullptr;
    for (int64_t i = 0; i < operand->shape().dimensions(dimension); ++i) {
      Instruction* const slice = builder.Reshape(builder.SliceOf(operand, dimension, i, i + 1),
                                                 reduce->shape().dimensions());
      result = result == nullptr ? slice : builder.Binary(opcode, result, slice);
    }
    // XLA would compute it inside of a user that is a library's reduction, for each element.
    return builder.Barrier(result);
  }

 private:
  static constexpr int64_t kMaxSize = 16;
  static constexpr int64_t kLeastElements = 64;
};

// A reduction along which the minor dimension, of a few elements such as coordinates, is kept: the
// reductions of its slices read vectors.
class NarrowReduction : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* reduce) const override {
    if (!IsSimpleReduction(reduce) || !IsFloatOrInteger(reduce)) return false;
    const xla::Shape& shape = reduce->operand(0)->shape();
    const auto minor = static_cast<int64_t>(shape.dimensions().size()) - 1;
    if (minor < 1 || absl::c_linear_search(reduce->dimensions(), minor)) return false;
    const int64_t size = shape.dimensions(minor);
    return size >= 2 && size <= kMaxSize && !reduce->dimensions().empty() &&
           SizeOf(reduce->operand(0)) >= kLeastElements;
  }

  Instruction* Build(Instruction* reduce) const override {
    const Builder builder(reduce);
    const Opcode opcode = OperationOf(reduce);
    Instruction* const operand = reduce->mutable_operand(0);
    const auto minor = static_cast<int64_t>(operand->shape().dimensions().size()) - 1;
    std::vector<int64_t> sizes(operand->shape().dimensions().begin(),
                               operand->shape().dimensions().end() - 1);
    std::vector<int64_t> narrow(reduce->shape().dimensions().begin(),
                                reduce->shape().dimensions().end());
    narrow.back() = 1;
    std::vector<Instruction*> parts;
    for (int64_t i = 0; i < operand->shape().dimensions(minor); ++i) {
      Instruction* const slice = builder.Reshape(builder.SliceOf(operand, minor, i, i + 1), sizes);
      parts.push_back(builder.Reshape(builder.Reduce(opcode, slice, reduce->dimensions()), narrow));
    }
    return builder.Concatenate(parts, static_cast<int64_t>(narrow.size()) - 1);
  }

 private:
  static constexpr int64_t kMaxSize = 4;
  static constexpr int64_t kLeastElements = 1024;
};

// A reduction over all dimensions before the ones that are kept, as of a batch: K rows to one.
struct Rows {
  int64_t count = 1;
  int64_t width = 1;
};

constexpr int64_t kLeastWidth = 1024;

std::optional<Rows> RowsOf(const Instruction* reduce) {
  const xla::Shape& shape = reduce->operand(0)->shape();
  const auto reduced = static_cast<int64_t>(reduce->dimensions().size());
  Rows rows;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.dimensions().size()); ++i) {
    const bool is_reduced = absl::c_linear_search(reduce->dimensions(), i);
    if (is_reduced != (i < reduced)) return std::nullopt;
    (is_reduced ? rows.count : rows.width) *= shape.dimensions(i);
  }
  if (rows.count < 2 || rows.width < kLeastWidth) return std::nullopt;
  return rows;
}

Instruction* AsRows(const Builder& builder, Instruction* reduce, const Rows& rows) {
  return builder.Reshape(reduce->mutable_operand(0), {rows.count, rows.width});
}

class MajorSumAsDot : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* reduce) const override {
    return IsReductionBy(reduce, Opcode::kAdd) &&
           (reduce->shape().element_type() == xla::F32 ||
            reduce->shape().element_type() == xla::F64) &&
           RowsOf(reduce).has_value();
  }

  Instruction* Build(Instruction* reduce) const override {
    const Builder builder(reduce);
    const Rows rows = *RowsOf(reduce);
    const xla::PrimitiveType type = reduce->shape().element_type();
    Instruction* const ones = builder.Uniform(xla::ShapeUtil::MakeShape(type, {rows.count}), 1);
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_contracting_dimensions(0);
    numbers.add_rhs_contracting_dimensions(0);
    return builder.Reshape(builder.Dot(ones, AsRows(builder, reduce, rows), numbers, type),
                           reduce->shape().dimensions());
  }
};

// The first half of the rows is combined with the second half, until one row is left.
class MajorReductionByHalves : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* reduce) const override {
    if (!IsSimpleReduction(reduce) || !IsFloatOrInteger(reduce)) return false;
    const std::optional<Rows> rows = RowsOf(reduce);
    return rows.has_value() && rows->count >= kLeastCount && rows->count <= kMostCount;
  }

  Instruction* Build(Instruction* reduce) const override {
    const Builder builder(reduce);
    const Opcode opcode = OperationOf(reduce);
    const Rows shape = *RowsOf(reduce);
    Instruction* rows = AsRows(builder, reduce, shape);
    Instruction* odd = nullptr;  // of the rows that had no other
    for (int64_t count = shape.count; count > 1; count /= 2) {
      const int64_t half = count / 2;
      if (count % 2 == 1) {
        Instruction* const last = builder.SliceOf(rows, 0, 2 * half, count);
        odd = odd == nullptr ? last : builder.Binary(opcode, odd, last);
      }
      rows = builder.Binary(opcode, builder.SliceOf(rows, 0, 0, half),
                            builder.SliceOf(rows, 0, half, 2 * half));
    }
    if (odd != nullptr) rows = builder.Binary(opcode, rows, odd);
    return builder.Reshape(rows, reduce->shape().dimensions());
  }

 private:
  static constexpr int64_t kLeastCount = 8;
  static constexpr int64_t kMostCount = 1024;
};

}  // namespace

const RuleTopic kReductionForms(321, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ShortReduction>(
      Identity{"short-reduction-as-sum", "Σ x = x₀ + x₁ + ...",
               "Adds the slices along a dimension of at most 16 elements, instead of reducing.",
               Numerics::kClose}));
  rules.push_back(std::make_unique<NarrowReduction>(
      Identity{"narrow-reduction-by-slices", "Σᵢ x[i, k] = [Σᵢ x[i, 0] Σᵢ x[i, 1] ...]",
               "Reduces each slice of a minor dimension of at most four elements by itself.",
               Numerics::kClose}));
  rules.push_back(std::make_unique<MajorSumAsDot>(
      Identity{"major-sum-as-dot", "Σᵢ x[i, k] = 1·x",
               "Sums over the major dimensions by a dot with ones.", Numerics::kClose}));
  rules.push_back(std::make_unique<MajorReductionByHalves>(
      Identity{"major-reduction-by-halves", "Σᵢ x[i] = Σⱼ (x[j] + x[j + n/2])",
               "Reduces over the major dimensions by combining the first half with the second, "
               "again and again.",
               Numerics::kClose}));
});

}  // namespace hlograph
