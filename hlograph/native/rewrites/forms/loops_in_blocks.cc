// Loops over arrays larger than the cache, run for one block of a dimension after the other.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/axis_blocks.h"
#include "hlograph/native/rewrites/forms/block_loop.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_blocks.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/permutation_util.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Permutation = std::vector<int64_t>;

// Copies what a loop calls, whose state has other elements.
class StateCopier : public BlockCopier {
 public:
  StateCopier(const xla::HloComputation* from, xla::HloComputation* to, int64_t size,
              std::vector<int64_t> numbers)
      : BlockCopier(to, size), from_(from), numbers_(std::move(numbers)) {}

 protected:
  Instruction* CopyOther(const Instruction* value, int64_t /*dimension*/) override {
    const int64_t element = ElementOf(value, from_->parameter_instruction(0));
    if (element < 0) return nullptr;
    return to()->AddInstruction(
        Instruction::CreateGetTupleElement(to()->parameter_instruction(0), numbers_[element]));
  }

 private:
  const xla::HloComputation* from_;
  std::vector<int64_t> numbers_;  // of elements of the new state, by element
};

// Builds the loop over blocks, with a loop for each block.
class LoopsOfBlocks : public BlockLoop {
 public:
  LoopsOfBlocks(Instruction* place, const LoopBlocks& blocks)
      : BlockLoop(place, blocks.count, blocks.size, blocks.region.others), blocks_(blocks) {}

  // Adds an element of the loop's result, in the order of dimensions that users want.
  int64_t AddElement(int64_t element, int64_t dimension, const Permutation& order) {
    Instruction* const block = Result(place(), element);
    return AddResult(Builder(block).Transpose(block, order),
                     absl::c_find(order, dimension) - order.begin());
  }

 protected:
  Instruction* CopyOther(const Instruction* value, int64_t dimension) override {
    if (dimension != kWholeArray && value->opcode() == Opcode::kGetTupleElement &&
        blocks_.region.loops.count(value->operand(0)) > 0) {
      return Result(value->operand(0), value->tuple_index());
    }
    return BlockLoop::CopyOther(value, dimension);
  }

 private:
  // The block of an element of a loop's result.
  Instruction* Result(const Instruction* loop, int64_t element) {
    auto entry = loops_.find(loop);
    if (entry == loops_.end()) entry = loops_.emplace(loop, BuildLoop(loop)).first;
    const auto& [copy, numbers] = entry->second;
    return to()->AddInstruction(Instruction::CreateGetTupleElement(copy, numbers[element]));
  }

  std::pair<Instruction*, std::vector<int64_t>> BuildLoop(const Instruction* loop) {
    const std::vector<int64_t>& dimensions = blocks_.region.loops.at(loop);
    std::vector<int64_t> numbers(dimensions.size(), -1);
    std::vector<Instruction*> initials;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] == kUnusedElement) continue;
      numbers[i] = static_cast<int64_t>(initials.size());
      initials.push_back(Copy(loop->operand(0)->operand(i), dimensions[i]));
    }
    Instruction* const initial = to()->AddInstruction(Instruction::CreateTuple(initials));
    xla::HloModule* const module = place()->GetModule();
    xla::HloComputation* const body = AddLoopComputation(module, "of_block", initial->shape());
    StateCopier inside(loop->while_body(), body, size(), numbers);
    std::vector<Instruction*> results;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] == kUnusedElement) continue;
      const Instruction* const result = loop->while_body()->root_instruction()->operand(i);
      results.push_back(inside.Copy(result, dimensions[i]));
    }
    body->set_root_instruction(body->AddInstruction(Instruction::CreateTuple(results)),
                               /*accept_different_shape=*/true);
    xla::HloComputation* const condition =
        AddLoopComputation(module, "more_of_block", initial->shape());
    StateCopier tested(loop->while_condition(), condition, size(), numbers);
    condition->set_root_instruction(
        tested.Copy(loop->while_condition()->root_instruction(), kWholeArray),
        /*accept_different_shape=*/true);
    return {
        to()->AddInstruction(Instruction::CreateWhile(initial->shape(), condition, body, initial)),
        numbers};
  }

  const LoopBlocks& blocks_;
  std::map<const Instruction*, std::pair<Instruction*, std::vector<int64_t>>> loops_;
};

// The order of dimensions in which all users transpose an element of a loop's result, or its own.
Permutation OrderOf(const Instruction* loop, int64_t element) {
  std::optional<Permutation> order;
  Permutation own(loop->shape().tuple_shapes(element).dimensions().size());
  std::iota(own.begin(), own.end(), 0);
  for (const Instruction* taken : loop->users()) {
    if (taken->tuple_index() != element) continue;
    for (const Instruction* user : taken->users()) {
      if (user->opcode() != Opcode::kTranspose || !IsRearrangement(user)) return own;
      const Permutation wanted(user->dimensions().begin(), user->dimensions().end());
      if (order.has_value() && *order != wanted) return own;
      order = wanted;
    }
  }
  return order.value_or(own);
}

// Returns true if only the states of later loops have the results, as of which these take blocks.
bool IsBeforeLoops(const Instruction* loop) {
  return absl::c_all_of(loop->users(), [](const Instruction* element) {
    return !element->IsRoot() && absl::c_all_of(element->users(), [](const Instruction* tuple) {
      return tuple->opcode() == Opcode::kTuple && tuple->user_count() == 1 &&
             tuple->users().front()->opcode() == Opcode::kWhile;
    });
  });
}

class LoopInBlocks : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kBlockReach, .users = 3}; }

 protected:
  bool Matches(const Instruction* loop) const override {
    if (loop->opcode() != Opcode::kWhile || IsBeforeLoops(loop)) return false;
    const auto blocks = FindLoopBlocks(loop);
    if (!blocks.has_value()) return false;
    // Where arrays are read in the order in which they are stored, copies of blocks cost too much.
    return blocks->is_apart || absl::c_any_of(blocks->used, [&](int64_t element) {
             return !absl::c_is_sorted(OrderOf(loop, element));
           });
  }

  Instruction* Build(Instruction* loop) const override {
    const LoopBlocks blocks = *FindLoopBlocks(loop);
    LoopsOfBlocks outer(loop, blocks);
    std::map<int64_t, std::pair<int64_t, Permutation>> written;  // by element
    for (int64_t element : blocks.used) {
      const Permutation order = OrderOf(loop, element);
      const int64_t dimension = blocks.region.loops.at(loop)[element];
      written[element] = {outer.AddElement(element, dimension, order), order};
    }
    Instruction* const copy = outer.Finish();
    const Builder build(copy);
    std::vector<Instruction*> elements;
    for (int64_t i = 0; i < xla::ShapeUtil::TupleElementCount(loop->shape()); ++i) {
      const auto entry = written.find(i);
      if (entry == written.end()) {
        elements.push_back(build.Uniform(loop->shape().tuple_shapes(i), 0));  // not used
        continue;
      }
      const auto& [number, order] = entry->second;
      elements.push_back(
          build.Transpose(build.Element(copy, number), xla::InversePermutation(order)));
    }
    return loop->AddInstruction(Instruction::CreateTuple(elements));
  }
};

}  // namespace

const RuleTopic kLoopBlockForms(339, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<LoopInBlocks>(Identity{
      "loop-in-blocks", "for i: f(y, x) = [for i: f(y[b], x[b])]",
      "Runs loops whose iterations compute each index of a dimension alone, with the transposes "
      "around them, for one block of the indices after the other, which stays in the cache."}));
});

}  // namespace hlograph
