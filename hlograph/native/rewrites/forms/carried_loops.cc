// Weights that each iteration of a loop transposes, cuts or joins in the same way, rearranged once
// before the loop. XLA moves what is computed of them out of the loop, but not such operations,
// which it takes for free: next to a product they are copies.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Set = absl::flat_hash_set<const Instruction*>;

constexpr int64_t kWorthMoving = 64;                // elements of what is worth a kernel
constexpr int64_t kLargestKept = int64_t{1} << 26;  // elements of what a loop keeps
constexpr size_t kMostKept = 128;                   // values that a loop keeps
constexpr size_t kMostMoved = 256;                  // instructions that leave a loop

// Returns true for operations that move elements, and compute nothing of them.
bool MovesElements(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kConstant:
    case Opcode::kConvert:
    case Opcode::kGather:
    case Opcode::kIota:
    case Opcode::kPad:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return true;
    default:
      return false;
  }
}

// Returns true for transposes that change more than the places of dimensions of one element.
bool MovesDimensions(const Instruction* transpose) {
  const Instruction* const operand = transpose->operand(0);
  int64_t last = -1;
  for (int64_t dimension : transpose->dimensions()) {
    if (dimension < 0 || dimension >= RankOf(operand)) return false;
    if (operand->shape().dimensions(dimension) == 1) continue;
    if (dimension < last) return true;
    last = dimension;
  }
  return false;
}

// Returns true for what takes a kernel of its own unless it is fused.
bool CopiesElements(const Instruction* instruction) {
  return instruction->opcode() == Opcode::kTranspose ? MovesDimensions(instruction)
                                                     : Shifts(instruction);
}

class HoistRearrangement : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (instruction->opcode() != Opcode::kWhile || !IsPlainLoop(instruction)) return false;
    return !FindHoisted(LoopOfAnyLength(instruction)).empty();
  }

  Instruction* Build(Instruction* instruction) const override {
    const CountedLoop loop = LoopOfAnyLength(instruction);
    const std::vector<const Instruction*> hoisted = FindHoisted(loop);
    LoopEditor editor(loop, instruction);
    absl::flat_hash_map<const Instruction*, Instruction*> outside;
    for (const Instruction* original : hoisted) {
      editor.Replace(original, editor.AddElement(Outside(loop, original, instruction, outside)));
    }
    return FirstElements(editor.Finish(), loop.size());
  }

 private:
  // The values that the loop is to keep instead of rearranging what it keeps.
  static std::vector<const Instruction*> FindHoisted(const CountedLoop& loop) {
    const std::vector<Instruction*> order = loop.body()->MakeInstructionPostOrder();
    Set same, copies;  // values that are the same in all iterations; those that take a kernel
    for (const Instruction* one : order) {
      if (!IsSame(loop, same, one)) continue;
      same.insert(one);
      if (IsCopy(copies, one)) copies.insert(one);
    }
    if (copies.empty()) return {};
    std::vector<const Instruction*> hoisted;
    Set seen;
    std::vector<const Instruction*> open;  // what the iterations use
    for (const Instruction* one : order) {
      if (same.contains(one) || one->IsRoot()) continue;
      for (const Instruction* operand : one->operands()) open.push_back(Forwarded(operand));
    }
    open.insert(open.end(), loop.results.begin(), loop.results.end());
    while (!open.empty()) {
      const Instruction* const one = open.back();
      open.pop_back();
      if (!same.contains(one) || !seen.insert(one).second) continue;
      if (copies.contains(one)) {
        hoisted.push_back(one);
      } else if (one->opcode() != Opcode::kGetTupleElement) {
        for (const Instruction* operand : one->operands()) open.push_back(Forwarded(operand));
      }
    }
    if (hoisted.size() > kMostKept || CountMoved(hoisted) > kMostMoved) hoisted.clear();
    return hoisted;
  }

  static bool IsSame(const CountedLoop& loop, const Set& same, const Instruction* one) {
    if (Forwarded(one) != one || !IsPlain(one)) return false;
    if (one->opcode() == Opcode::kGetTupleElement) {
      const int64_t element = ElementOf(one, loop.body()->parameter_instruction(0));
      return element >= 0 && IsInvariant(loop, element);
    }
    return MovesElements(one->opcode()) && SizeOf(one) <= kLargestKept &&
           std::all_of(
               one->operands().begin(), one->operands().end(),
               [&](const Instruction* operand) { return same.contains(Forwarded(operand)); });
  }

  // Returns true for copies, and for what is done with all elements of one.
  static bool IsCopy(const Set& copies, const Instruction* one) {
    if (one->opcode() == Opcode::kGetTupleElement || one->operand_count() == 0) return false;
    const Instruction* const operand = Forwarded(one->operand(0));
    if (CopiesElements(one)) {
      return std::any_of(one->operands().begin(), one->operands().end(),
                         [](const Instruction* each) { return SizeOf(each) >= kWorthMoving; });
    }
    return copies.contains(operand) && SizeOf(operand) >= SizeOf(one);
  }

  static size_t CountMoved(const std::vector<const Instruction*>& hoisted) {
    Set moved;
    std::vector<const Instruction*> open = hoisted;
    while (!open.empty()) {
      const Instruction* const one = open.back();
      open.pop_back();
      if (one->opcode() == Opcode::kGetTupleElement || !moved.insert(one).second) continue;
      for (const Instruction* operand : one->operands()) open.push_back(Forwarded(operand));
    }
    return moved.size();
  }

  // Adds the value before the loop.
  static Instruction* Outside(const CountedLoop& loop, const Instruction* original,
                              Instruction* place,
                              absl::flat_hash_map<const Instruction*, Instruction*>& outside) {
    if (const auto found = outside.find(original); found != outside.end()) return found->second;
    const int64_t element = ElementOf(original, loop.body()->parameter_instruction(0));
    if (element >= 0) {
      return outside[original] = TakeElement(place->mutable_operand(0), element);
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : original->operands()) {
      operands.push_back(Outside(loop, Forwarded(operand), place, outside));
    }
    Instruction* const copy = place->parent()->AddInstruction(
        original->CloneWithNewOperands(original->shape(), operands));
    copy->set_original_value(nullptr);
    return outside[original] = copy;
  }
};

}  // namespace

const RuleTopic kCarriedLoopForms(332, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<HoistRearrangement>(
      Identity{"hoist-rearrangement", "for i: f(t(w)) = y = t(w); for i: f(y)",
               "Transposes, cuts or joins weights once before a loop, not in each iteration."}));
});

}  // namespace hlograph
