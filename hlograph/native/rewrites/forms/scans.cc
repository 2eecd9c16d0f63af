// Cumulative sums, products and extremes, which JAX writes as windows over all that is before each
// element: in blocks, or one after the other.
#include "hlograph/native/rewrites/forms/scans.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/windows.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/permutation_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kBlock = 8;          // elements that are combined one after the other
constexpr int64_t kWhole = 16;         // elements up to which there is one block
constexpr int64_t kShortest = 8;       // elements from which a form can pay
constexpr int64_t kMostTerms = 16384;  // added one after the other, for rounding errors
constexpr int64_t kLongest = 1 << 24;

bool IsFloating(const Instruction* array) {
  return xla::primitive_util::IsFloatingPointType(array->shape().element_type());
}

// The order of dimensions that has one of them at an end, and the others as they were.
std::vector<int64_t> Order(int64_t rank, int64_t dimension, bool last) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dimension) order.push_back(i);
  }
  order.insert(last ? order.end() : order.begin(), dimension);
  return order;
}

// Only what is before an element goes into its result, so infinities stay where they are.
class InBlocks : public FormRule {
 public:
  InBlocks(Identity identity, bool sums) : FormRule(std::move(identity)), sums_(sums) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    const auto found = FindCumulative(instruction);
    return found.has_value() && (found->opcode == Opcode::kAdd) == sums_;
  }

  Instruction* Build(Instruction* instruction) const override {
    const Cumulative found = *FindCumulative(instruction);
    const Builder builder(instruction);
    const std::vector<int64_t> order =
        Order(instruction->shape().dimensions().size(), found.dimension, /*last=*/true);
    Instruction* const moved = builder.Transpose(instruction->mutable_operand(0), order);
    const std::vector<int64_t> sizes = SizesOf(moved);
    const int64_t rows = ProductOf(absl::MakeConstSpan(sizes).first(sizes.size() - 1));
    Instruction* const results =
        AlongRows(builder, builder.Reshape(moved, {rows, sizes.back()}), found);
    return builder.Transpose(builder.Reshape(results, sizes), xla::InversePermutation(order));
  }

 private:
  // Each block one element after the other, all blocks side by side, and then over whole blocks.
  static Instruction* AlongRows(const Builder& builder, Instruction* array,
                                const Cumulative& found) {
    const int64_t rows = array->shape().dimensions(0), size = array->shape().dimensions(1);
    const int64_t block = size <= kWhole ? size : kBlock;
    const int64_t blocks = (size + block - 1) / block;
    Instruction* const padded = Padded(builder, array, 0, blocks * block - size, found.opcode);
    Instruction* const split = builder.Reshape(padded, {rows, blocks, block});
    std::vector<Instruction*> results = WithinBlocks(builder, split, found);
    if (blocks > 1) {
      Instruction* const whole =
          AlongRows(builder, found.reversed ? results.front() : results.back(), found);
      const int64_t step = found.reversed ? -1 : 1;
      Instruction* const before = Padded(builder, whole, step, -step, found.opcode);
      for (Instruction*& result : results) {
        result = builder.Binary(found.opcode, result, before);
      }
    }
    for (Instruction*& result : results) result = builder.Reshape(result, {rows, blocks, 1});
    Instruction* const joined = builder.Concatenate(results, 2);
    return builder.SliceOf(builder.Reshape(joined, {rows, blocks * block}), 1, 0, size);
  }

  // Returns an array of [rows, blocks] for each place within blocks.
  static std::vector<Instruction*> WithinBlocks(const Builder& builder, Instruction* split,
                                                const Cumulative& found) {
    const int64_t rows = split->shape().dimensions(0), blocks = split->shape().dimensions(1);
    const int64_t block = split->shape().dimensions(2);
    std::vector<Instruction*> results(block);
    Instruction* before = nullptr;
    for (int64_t i = 0; i < block; ++i) {
      const int64_t at = found.reversed ? block - 1 - i : i;
      Instruction* const element =
          builder.Reshape(builder.SliceOf(split, 2, at, at + 1), {rows, blocks});
      before = before == nullptr ? element : builder.Binary(found.opcode, before, element);
      results[at] = before;
    }
    return results;
  }

  // Moves elements along the last dimension (back if negative) or adds some at its end; new
  // elements are neutral.
  static Instruction* Padded(const Builder& builder, Instruction* array, int64_t low, int64_t high,
                             Opcode operation) {
    xla::PaddingConfig padding;
    padding.add_dimensions();
    padding.add_dimensions()->set_edge_padding_low(low);
    padding.mutable_dimensions(1)->set_edge_padding_high(high);
    Instruction* const neutral = builder.place()->AddInstruction(
        Instruction::CreateConstant(NeutralOf(operation, array->shape().element_type())));
    return builder.Pad(array, padding, neutral);
  }

  const bool sums_;
};

class CumulativeByLoop : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    const auto found = FindCumulative(instruction);
    if (!found.has_value()) return false;
    const bool rounds = found->opcode == Opcode::kAdd && IsFloating(instruction);
    return !rounds || instruction->shape().dimensions(found->dimension) <= kMostTerms;
  }

  Instruction* Build(Instruction* instruction) const override {
    const Cumulative found = *FindCumulative(instruction);
    const Builder builder(instruction);
    const std::vector<int64_t> order =
        Order(instruction->shape().dimensions().size(), found.dimension, /*last=*/false);
    Instruction* const moved = builder.Transpose(instruction->mutable_operand(0), order);
    const xla::PrimitiveType type = moved->shape().element_type();
    const std::vector<int64_t> sizes = SizesOf(moved);
    const xla::Shape row = xla::ShapeUtil::MakeShape(type, absl::MakeConstSpan(sizes).subspan(1));
    Instruction* const neutral =
        instruction->AddInstruction(Instruction::CreateConstant(NeutralOf(found.opcode, type)));
    Instruction* const start = instruction->AddInstruction(Instruction::CreateTuple(
        {builder.Scalar(xla::S32, 0), builder.Broadcast(neutral, row.dimensions(), {}),
         builder.Uniform(moved->shape(), 0), moved}));
    xla::HloModule* const module = instruction->GetModule();
    xla::HloComputation* const body = AddLoopComputation(module, "cumulate", start->shape());
    SetBody(body, found, sizes);
    xla::HloComputation* const condition = AddLoopComputation(module, "more", start->shape());
    const Builder inner(condition->parameter_instruction(0));
    condition->set_root_instruction(
        inner.Compare(inner.Element(inner.place(), 0), inner.Scalar(xla::S32, sizes[0]),
                      xla::ComparisonDirection::kLt),
        /*accept_different_shape=*/true);
    Instruction* const loop = instruction->AddInstruction(
        Instruction::CreateWhile(start->shape(), condition, body, start));
    return builder.Transpose(builder.Element(loop, 2), xla::InversePermutation(order));
  }

 private:
  // The elements: number of the row, its result, all results, all rows.
  static void SetBody(xla::HloComputation* body, const Cumulative& found,
                      std::vector<int64_t> sizes) {
    const Builder builder(body->parameter_instruction(0));
    Instruction* const number = builder.Element(builder.place(), 0);
    Instruction* at = number;
    if (found.reversed) {
      at = builder.Binary(Opcode::kSubtract, builder.Scalar(xla::S32, sizes[0] - 1), number);
    }
    Instruction* const rows = builder.Element(builder.place(), 3);
    std::vector<Instruction*> indices(sizes.size(), builder.Scalar(xla::S32, 0));
    indices[0] = at;
    sizes[0] = 1;
    const xla::Shape shape = xla::ShapeUtil::MakeShape(rows->shape().element_type(), sizes);
    Instruction* const row = builder.place()->AddInstruction(
        Instruction::CreateDynamicSlice(shape, rows, indices, sizes));
    Instruction* const before = builder.Element(builder.place(), 1);
    Instruction* const result =
        builder.Binary(found.opcode, before, builder.Reshape(row, before->shape().dimensions()));
    Instruction* const all = builder.Element(builder.place(), 2);
    Instruction* const kept = builder.place()->AddInstruction(Instruction::CreateDynamicUpdateSlice(
        all->shape(), all, builder.Reshape(result, sizes), indices));
    Instruction* const next = builder.Binary(Opcode::kAdd, number, builder.Scalar(xla::S32, 1));
    body->set_root_instruction(
        builder.place()->AddInstruction(Instruction::CreateTuple({next, result, kept, rows})),
        /*accept_different_shape=*/true);
  }
};

}  // namespace

std::optional<Cumulative> FindCumulative(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kReduceWindow || !IsPlain(instruction) ||
      instruction->operand_count() != 2 || !SameArray(instruction, instruction->operand(0)) ||
      !SameType(instruction, instruction->operand(1))) {
    return std::nullopt;
  }
  const xla::PrimitiveType type = instruction->shape().element_type();
  if (type != xla::F32 && type != xla::F64 && type != xla::S32 && type != xla::U32) {
    return std::nullopt;
  }
  const auto opcode = CombinationOf(
      instruction, {Opcode::kAdd, Opcode::kMultiply, Opcode::kMaximum, Opcode::kMinimum});
  const absl::Span<const int64_t> sizes = instruction->shape().dimensions();
  const xla::Window& window = instruction->window();
  if (!opcode.has_value() || window.dimensions_size() != static_cast<int>(sizes.size())) {
    return std::nullopt;
  }
  Cumulative found{*opcode, -1, false};
  for (int i = 0; i < window.dimensions_size(); ++i) {
    const xla::WindowDimension& one = window.dimensions(i);
    if (one.stride() != 1 || one.base_dilation() != 1 || one.window_dilation() != 1 ||
        one.window_reversal()) {
      return std::nullopt;
    }
    const int64_t low = one.padding_low(), high = one.padding_high();
    if (one.size() == 1 && low == 0 && high == 0) continue;
    const bool forwards = low == sizes[i] - 1 && high == 0;
    const bool backwards = low == 0 && high == sizes[i] - 1;
    if (found.dimension >= 0 || one.size() != sizes[i] || (!forwards && !backwards)) {
      return std::nullopt;
    }
    found.dimension = i;
    found.reversed = backwards;
  }
  if (found.dimension < 0) return std::nullopt;
  const int64_t size = sizes[found.dimension];
  const bool fits =
      size >= kShortest && xla::ShapeUtil::ElementsIn(instruction->shape()) <= kLongest;
  return fits ? std::make_optional(found) : std::nullopt;
}

const RuleTopic kScanForms(320, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<InBlocks>(
      Identity{"cumulative-sum-in-blocks", "cumsum(x) = cumsum([x]) + cumsum(sums of blocks)",
               "Computes cumulative sums within blocks of eight, side by side, and of the blocks."},
      /*sums=*/true));
  rules.push_back(std::make_unique<InBlocks>(
      Identity{"cumulative-in-blocks", "cumf(x) = f(cumf([x]), cumf(blocks by f))",
               "Computes cumulative products or extremes in blocks of eight, side by side."},
      /*sums=*/false));
  rules.push_back(std::make_unique<CumulativeByLoop>(
      Identity{"cumulative-by-loop", "cumf(x)[i] = f(cumf(x)[i - 1], x[i])",
               "Computes cumulative sums, products or extremes row after row."}));
});

}  // namespace hlograph
