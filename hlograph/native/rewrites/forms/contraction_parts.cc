// Dots that contract many more elements than they leave, as gradients of weights: XLA:CPU divides
// the elements of a result among threads, and has few of them here.
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

constexpr int64_t kParts = 4;
constexpr int64_t kLeastContracted = 1024;
constexpr int64_t kLeastByFree = 16;     // contracted elements for each free one of an operand
constexpr int64_t kLeastResults = 1024;  // elements of the result

// What a dot without batch contracts and leaves; both operands begin with the contracted
// dimensions, in the same order.
struct Contraction {
  int64_t dimensions = 0, size = 1;
  int64_t rows = 1, columns = 1;
};

bool BeginsWith(absl::Span<const int64_t> contracted) {
  for (size_t i = 0; i < contracted.size(); ++i) {
    if (contracted[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

Contraction ContractionOf(const Instruction* dot) {
  const auto& lhs = dot->operand(0)->shape().dimensions();
  const auto& rhs = dot->operand(1)->shape().dimensions();
  Contraction found;
  found.dimensions = dot->dot_dimension_numbers().lhs_contracting_dimensions_size();
  found.size = ProductOf(absl::MakeConstSpan(lhs).first(found.dimensions));
  found.rows = ProductOf(absl::MakeConstSpan(lhs).subspan(found.dimensions));
  found.columns = ProductOf(absl::MakeConstSpan(rhs).subspan(found.dimensions));
  return found;
}

class ContractionInParts : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* dot) const override {
    if (!IsProduct(dot, xla::HloOpcode::kDot) || !HasOneType(dot) || !IsFloat(dot) ||
        dot->dot_dimension_numbers().lhs_batch_dimensions_size() > 0 ||
        !BeginsWith(dot->dot_dimension_numbers().lhs_contracting_dimensions()) ||
        !BeginsWith(dot->dot_dimension_numbers().rhs_contracting_dimensions())) {
      return false;
    }
    const Contraction found = ContractionOf(dot);
    return found.size >= kLeastContracted && found.size % kParts == 0 &&
           found.size >= kLeastByFree * found.rows && found.size >= kLeastByFree * found.columns &&
           found.rows * found.columns >= kLeastResults;
  }

  Instruction* Build(Instruction* dot) const override {
    const Builder builder(dot);
    const Contraction found = ContractionOf(dot);
    // XLA:CPU is faster with the narrow operand first.
    if (found.rows <= found.columns) {
      return builder.Reshape(Parts(builder, dot, 0, found.rows, found.columns), SizesOf(dot));
    }
    Instruction* const swapped = builder.Barrier(Parts(builder, dot, 1, found.columns, found.rows));
    return builder.Reshape(builder.Transpose(swapped, {1, 0}), SizesOf(dot));
  }

 private:
  // The sum over parts of the products of one operand, of so many columns, with the other one.
  static Instruction* Parts(const Builder& builder, Instruction* dot, int first, int64_t columns,
                            int64_t other_columns) {
    const int64_t size = ContractionOf(dot).size / kParts;
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_batch_dimensions(0);
    numbers.add_rhs_batch_dimensions(0);
    numbers.add_lhs_contracting_dimensions(1);
    numbers.add_rhs_contracting_dimensions(1);
    Instruction* const parts =
        builder.Dot(builder.Reshape(dot->mutable_operand(first), {kParts, size, columns}),
                    builder.Reshape(dot->mutable_operand(1 - first), {kParts, size, other_columns}),
                    numbers, dot->shape().element_type());
    xla::PrecisionConfig precision = dot->precision_config();
    if (first == 1 && precision.operand_precision_size() == 2) {
      precision.mutable_operand_precision()->SwapElements(0, 1);
    }
    *parts->mutable_precision_config() = precision;
    return builder.Reduce(xla::HloOpcode::kAdd, parts, {0});
  }
};

}  // namespace

const RuleTopic kContractionPartForms(330, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ContractionInParts>(
      Identity{"contraction-in-parts", "xᵀ·y = Σ parts of xᵀ·parts of y",
               "Computes a dot that contracts far more elements than it leaves as a batch of four.",
               Numerics::kClose}));
});

}  // namespace hlograph
