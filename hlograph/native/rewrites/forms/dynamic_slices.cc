// Slices of what a dynamic slice reads, such as the gates of a recurrent network: XLA:CPU does not
// vectorize a fused loop that reads a dynamic slice at several offsets.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_forms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// Operations between a slice and the dynamic slice that it is moved to.
constexpr int kMostBetween = 6;
// Elements of a slice; of fewer, such as keys of random numbers, nothing would be vectorized.
constexpr int64_t kLeastSliced = 16;

// Part of an array: elements from `starts` on, as many as `sizes`.
struct Window {
  std::vector<int64_t> starts, sizes;
};

bool IsUnitSlice(const Instruction* instruction) {
  if (!IsSlice(instruction)) return false;
  for (const int64_t stride : instruction->slice_strides()) {
    if (stride != 1) return false;
  }
  return true;
}

// Returns true for a dynamic slice that can read the window alone: its other elements along these
// dimensions are all that there are, so that no index is clamped in another way.
bool CanRead(const Instruction* slice, const Window& window) {
  const Instruction* const array = slice->operand(0);
  const int64_t rank = RankOf(slice);
  if (!IsPlain(slice) || !array->shape().IsArray() || !array->shape().is_static() ||
      RankOf(array) != rank || slice->operand_count() != rank + 1 || !SameType(slice, array)) {
    return false;
  }
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = slice->shape().dimensions(i);
    if (window.sizes[i] != size && size != array->shape().dimensions(i)) return false;
  }
  return true;
}

// Returns the part of the operand that a reshape gives the window of; none if the reshape does more
// than add or drop dimensions of size 1.
std::optional<Window> BeforeReshape(const Instruction* reshape, const Window& window) {
  const xla::Shape &from = reshape->operand(0)->shape(), &to = reshape->shape();
  Window found;
  int64_t next = 0;
  const auto skip = [&] {
    while (next < static_cast<int64_t>(to.dimensions().size()) && to.dimensions(next) == 1) ++next;
  };
  for (const int64_t size : from.dimensions()) {
    if (size == 1) {
      found.starts.push_back(0);
      found.sizes.push_back(1);
      continue;
    }
    skip();
    if (next == static_cast<int64_t>(to.dimensions().size()) || to.dimensions(next) != size) {
      return std::nullopt;
    }
    found.starts.push_back(window.starts[next]);
    found.sizes.push_back(window.sizes[next++]);
  }
  skip();
  if (next != static_cast<int64_t>(to.dimensions().size())) return std::nullopt;
  return found;
}

// Returns true if no element of an elementwise operation would be computed twice for its slices.
bool IsTakenApart(const Instruction* value) {
  int64_t elements = 0;
  for (const Instruction* user : value->users()) {
    if (!IsUnitSlice(user)) return false;
    elements += SizeOf(user);
  }
  return elements <= SizeOf(value);
}

// Returns true if the window of a value comes from a dynamic slice that can read it alone.
bool Reaches(const Instruction* value, const Window& window, int steps = kMostBetween) {
  if (value->opcode() == Opcode::kDynamicSlice) return CanRead(value, window);
  if (steps == 0) return false;
  if (value->opcode() == Opcode::kReshape) {
    if (!IsRearrangement(value)) return false;
    const std::optional<Window> before = BeforeReshape(value, window);
    return before.has_value() && Reaches(value->operand(0), *before, steps - 1);
  }
  if (!IsPointwise(value)) return false;
  if (value->users().size() > 1 && !IsTakenApart(value)) return false;
  for (const Instruction* operand : value->operands()) {
    if (Reaches(operand, window, steps - 1)) return true;
  }
  return false;
}

Window WindowOf(const Instruction* slice) {
  return {{slice->slice_starts().begin(), slice->slice_starts().end()}, SizesOf(slice)};
}

// Returns true if the slice takes a part of what a dynamic slice reads.
bool IsSliceOfDynamicSlice(const Instruction* slice) {
  return IsUnitSlice(slice) && SizeOf(slice) >= kLeastSliced &&
         SizeOf(slice) < SizeOf(slice->operand(0)) && Reaches(slice->operand(0), WindowOf(slice));
}

// Builds the window of a value from the windows of what it is computed from.
class Narrower {
 public:
  explicit Narrower(Instruction* place) : builder_(place) {}

  Instruction* Part(Instruction* value, const Window& window, int steps = kMostBetween) const {
    if (!Reaches(value, window, steps)) return Rest(value, window);
    if (value->opcode() == Opcode::kDynamicSlice) return Read(value, window);
    if (value->opcode() == Opcode::kReshape) {
      const Window before = *BeforeReshape(value, window);
      Instruction* const part = Part(value->mutable_operand(0), before, steps - 1);
      return builder_.Reshape(part, window.sizes);
    }
    std::vector<Instruction*> operands;
    for (Instruction* operand : value->operands()) {
      operands.push_back(Part(operand, window, steps - 1));
    }
    const auto type = value->shape().element_type();
    std::unique_ptr<Instruction> made =
        value->CloneWithNewOperands(xla::ShapeUtil::MakeShape(type, window.sizes), operands);
    made->set_original_value(nullptr);  // it is another value
    return builder_.place()->parent()->AddInstruction(std::move(made));
  }

 private:
  Instruction* Read(Instruction* slice, const Window& window) const {
    std::vector<Instruction*> indices;
    for (int64_t i = 0; i < RankOf(slice); ++i) {
      Instruction* const index = slice->mutable_operand(i + 1);
      const bool whole = window.sizes[i] == slice->shape().dimensions(i);
      indices.push_back(whole ? index
                              : builder_.Scalar(index->shape().element_type(), window.starts[i]));
    }
    const auto type = slice->shape().element_type();
    return builder_.place()->AddInstruction(
        Instruction::CreateDynamicSlice(xla::ShapeUtil::MakeShape(type, window.sizes),
                                        slice->mutable_operand(0), indices, window.sizes));
  }

  Instruction* Rest(Instruction* value, const Window& window) const {
    if (IsUniform(value)) {
      return builder_.Broadcast(value->mutable_operand(0), window.sizes, {});
    }
    std::vector<int64_t> limits;
    for (size_t i = 0; i < window.starts.size(); ++i) {
      limits.push_back(window.starts[i] + window.sizes[i]);
    }
    return builder_.Slice(value, window.starts, limits, std::vector<int64_t>(limits.size(), 1));
  }

  Builder builder_;
};

Instruction* Narrowed(Instruction* slice) {
  return Narrower(slice).Part(slice->mutable_operand(0), WindowOf(slice));
}

class SliceOfDynamicSlice : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kMostBetween + 1}; }

 protected:
  bool Matches(const Instruction* slice) const override { return IsSliceOfDynamicSlice(slice); }
  Instruction* Build(Instruction* slice) const override { return Narrowed(slice); }
};

}  // namespace

void NarrowDynamicSlices(xla::HloComputation* computation) {
  for (Instruction* instruction : computation->MakeInstructionPostOrder()) {
    if (IsSliceOfDynamicSlice(instruction)) {
      (void)instruction->ReplaceAllUsesWith(Narrowed(instruction));
    }
  }
}

const RuleTopic kDynamicSliceForms(333, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SliceOfDynamicSlice>(Identity{
      "slice-of-dynamic-slice", "S(f(dynamic-slice(x, i), y)) = f(dynamic-slice(x, i'), S(y))",
      "Reads only the part that a slice takes of a dynamic slice, or of what is computed from it.",
      Numerics::kExact}));
});

}  // namespace hlograph
