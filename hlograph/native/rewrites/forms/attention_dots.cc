// Dots of one row for each head with keys or values that are stored as [rows, heads, elements], as
// in attention with a cache. XLA:CPU copies such an operand, with the heads first; one dot of all
// heads reads it as it is, and computes as many times the products as there are heads.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/choices.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Dimensions = std::vector<int64_t>;

constexpr int64_t kMostHeads = 32;
constexpr int64_t kLeastCache = 1024;  // elements, below which a copy takes no time

// A dot of [batch..., rows, heads, elements], over elements or rows, and one row for each head.
struct HeadDot {
  int cache = 0;             // side of the operand that is stored by rows
  bool over_rows = false;    // contracts the rows; otherwise the elements
  Dimensions batch_of_row;   // dimensions of the other operand that are those before the rows
  int64_t heads_of_row = 0;  // its dimension of heads
  int64_t batch = 1, rows = 0, heads = 0, elements = 0;  // sizes
};

std::optional<HeadDot> FindWithCache(const Instruction* dot, int cache) {
  const Instruction* const stored = dot->operand(cache);
  const int64_t rank = RankOf(stored);
  const DotOperand own = DotOperandOf(dot, cache), other = DotOperandOf(dot, 1 - cache);
  const Dimensions& batch = own.batch;
  if (rank < 3 || static_cast<int64_t>(batch.size()) != rank - 2) return std::nullopt;
  HeadDot found{cache, own.contracting.front() == rank - 3, Dimensions(rank - 3, -1), -1};
  if (!found.over_rows && own.contracting.front() != rank - 1) return std::nullopt;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i] == rank - 2) {
      found.heads_of_row = other.batch[i];
    } else if (batch[i] < rank - 3) {
      found.batch_of_row[batch[i]] = other.batch[i];
    } else {
      return std::nullopt;
    }
  }
  for (const ResultDimension& free : FreeDimensions(dot, 1 - cache)) {
    if (dot->operand(1 - cache)->shape().dimensions(free.operand) != 1) return std::nullopt;
  }
  const absl::Span<const int64_t> sizes = stored->shape().dimensions();
  found.batch = ProductOf(sizes.subspan(0, rank - 3));
  found.rows = sizes[rank - 3];
  found.heads = sizes[rank - 2];
  found.elements = sizes[rank - 1];
  const bool pays = found.heads > 1 && found.heads <= kMostHeads && SizeOf(stored) >= kLeastCache;
  return pays && found.heads_of_row >= 0 ? std::make_optional(found) : std::nullopt;
}

std::optional<HeadDot> FindHeadDot(const Instruction* dot) {
  if (!IsProduct(dot, Opcode::kDot) || !HasOneType(dot) || !IsFloat(dot) || IsSlowWay(dot) ||
      dot->dot_dimension_numbers().lhs_contracting_dimensions_size() != 1 ||
      dot->dot_dimension_numbers().lhs_batch_dimensions_size() < 1) {
    return std::nullopt;
  }
  for (int cache : {0, 1}) {
    if (const auto found = FindWithCache(dot, cache); found.has_value()) return found;
  }
  return std::nullopt;
}

class HeadsInOneDot : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* dot) const override { return FindHeadDot(dot).has_value(); }

  Instruction* Build(Instruction* dot) const override {
    const Builder builder(dot);
    const HeadDot found = *FindHeadDot(dot);
    Instruction* const stored =
        builder.Reshape(dot->mutable_operand(found.cache),
                        WithBatch(found, {found.rows, found.heads * found.elements}));
    Instruction* const row = Row(builder, found);
    if (found.over_rows) return Arranged(builder, found, OverRows(builder, found, row, stored));
    Instruction* const product = OverElements(builder, found, row, stored);
    return OrEachHead(builder, product, Arranged(builder, found, product));
  }

 private:
  // The result where no product is NaN, else the dot as it was: an infinity or NaN of one head
  // times the zero of another is NaN, which is that other head's product then. The products are far
  // fewer than the elements of the cache, so it takes little time to look at them all.
  static Instruction* OrEachHead(const Builder& builder, Instruction* product,
                                 Instruction* result) {
    Instruction* const dot = builder.place();
    Instruction* const holds =
        builder.All(builder.Compare(product, product, xla::ComparisonDirection::kEq));
    return AddChoice(
        dot, holds, {result, dot->mutable_operand(0), dot->mutable_operand(1)},
        [](absl::Span<Instruction* const> values) { return values[0]; },
        [dot](absl::Span<Instruction* const> values) {
          return values[1]->AddInstruction(
              dot->CloneWithNewOperands(dot->shape(), values.subspan(1)));
        });
  }

  // Sizes with that of the batch first, if it is more than one element.
  static Dimensions WithBatch(const HeadDot& found, Dimensions sizes) {
    if (found.batch > 1) sizes.insert(sizes.begin(), found.batch);
    return sizes;
  }

  // The row for each head, as [batch, heads, what is contracted].
  static Instruction* Row(const Builder& builder, const HeadDot& found) {
    const Instruction* const dot = builder.place();
    Instruction* const operand = builder.place()->mutable_operand(1 - found.cache);
    Dimensions order = found.batch_of_row;
    order.push_back(found.heads_of_row);
    order.push_back(DotOperandOf(dot, 1 - found.cache).contracting.front());
    for (const ResultDimension& free : FreeDimensions(dot, 1 - found.cache)) {
      order.push_back(free.operand);
    }
    return builder.Reshape(
        builder.Transpose(operand, order),
        {found.batch, found.heads, found.over_rows ? found.rows : found.elements});
  }

  // The arrays [batch, heads, heads, elements], but zero where the heads differ.
  static Instruction* OfEqualHeads(const Builder& builder, const HeadDot& found,
                                   Instruction* values) {
    const Dimensions sizes = {found.batch, found.heads, found.heads, found.elements};
    const xla::Shape heads = xla::ShapeUtil::MakeShape(xla::S32, sizes);
    Instruction* const equal = builder.Compare(builder.Iota(heads, 1), builder.Iota(heads, 2),
                                               xla::ComparisonDirection::kEq);
    return builder.Select(equal, values, builder.Uniform(values->shape(), 0));
  }

  static Instruction* Product(const Builder& builder, const HeadDot& found, Instruction* lhs,
                              Instruction* rhs, int64_t contracted_of_rhs) {
    const int64_t first = found.batch > 1 ? 1 : 0;
    xla::DotDimensionNumbers numbers;
    if (first == 1) {
      numbers.add_lhs_batch_dimensions(0);
      numbers.add_rhs_batch_dimensions(0);
    }
    numbers.add_lhs_contracting_dimensions(first + 1);
    numbers.add_rhs_contracting_dimensions(first + contracted_of_rhs);
    Instruction* const dot =
        builder.Dot(lhs, rhs, numbers, builder.place()->shape().element_type());
    xla::PrecisionConfig precision = builder.place()->precision_config();
    if (precision.operand_precision_size() == 2) {
      const bool swapped = (found.cache == 0) == found.over_rows;
      if (swapped) precision.mutable_operand_precision()->SwapElements(0, 1);
      *dot->mutable_precision_config() = precision;
    }
    return dot;
  }

  // Meets all rows with a row for each head, which is zero at the elements of the other heads.
  static Instruction* OverElements(const Builder& builder, const HeadDot& found, Instruction* row,
                                   Instruction* stored) {
    Instruction* const spread =
        builder.Broadcast(row, {found.batch, found.heads, found.heads, found.elements}, {0, 2, 3});
    Instruction* const wide = builder.Barrier(
        builder.Reshape(OfEqualHeads(builder, found, spread),
                        WithBatch(found, {found.heads, found.heads * found.elements})));
    Instruction* const product = Product(builder, found, stored, wide, /*contracted_of_rhs=*/1);
    return builder.Transpose(builder.Reshape(product, {found.batch, found.rows, found.heads}),
                             {0, 2, 1});
  }

  // Sums the rows of all heads by the weights of each, of which the own ones are kept.
  static Instruction* OverRows(const Builder& builder, const HeadDot& found, Instruction* row,
                               Instruction* stored) {
    Instruction* const weights = builder.Reshape(row, WithBatch(found, {found.heads, found.rows}));
    Instruction* const all =
        builder.Barrier(Product(builder, found, weights, stored, /*contracted_of_rhs=*/0));
    Instruction* const apart =
        builder.Reshape(all, {found.batch, found.heads, found.heads, found.elements});
    return builder.Reduce(Opcode::kAdd, OfEqualHeads(builder, found, apart), {1});
  }

  // Brings [batch, heads, rows or elements] into the layout of the result.
  static Instruction* Arranged(const Builder& builder, const HeadDot& found, Instruction* product) {
    const Instruction* const dot = builder.place();
    const Instruction* const stored = dot->operand(found.cache);
    const int64_t rank = RankOf(stored);
    Dimensions sizes(stored->shape().dimensions().begin(), stored->shape().dimensions().end() - 3);
    sizes.insert(sizes.end(), {found.heads, product->shape().dimensions(2)});
    sizes.resize(RankOf(dot), 1);
    Dimensions permutation(sizes.size(), -1);
    const Dimensions batch = DotOperandOf(dot, found.cache).batch;
    for (size_t i = 0; i < batch.size(); ++i) {
      permutation[i] = batch[i] == rank - 2 ? rank - 3 : batch[i];
    }
    permutation[FreeDimensions(dot, found.cache).front().result] = rank - 2;
    int64_t next = rank - 1;
    for (int64_t& from : permutation) {
      if (from == -1) from = next++;
    }
    return builder.Transpose(builder.Reshape(product, sizes), permutation);
  }
};

}  // namespace

const RuleTopic kAttentionDotForms(331, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<HeadsInOneDot>(Identity{
      "heads-in-one-dot", "[xₕ·wₕ] = diagonal(x)·w",
      "Computes the dots of one row for each head, as in attention with a cache, as one dot of "
      "all heads, which reads keys and values as they are stored.",
      Numerics::kClose}));
});

}  // namespace hlograph
