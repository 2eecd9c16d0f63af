// Work of a loop's iterations that does not depend on earlier ones, done for all of them at once
// before the loop.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Set = absl::flat_hash_set<const Instruction*>;

// Values of more elements than this, for all iterations together, are not made.
constexpr int64_t kLargest = int64_t{1} << 25;
// Of one iteration: what is larger is faster while it is in the cache, unless it is a product.
constexpr int64_t kLargestRow = 4096;
constexpr size_t kMost = 16;  // values that a loop reads instead

bool IsProductOpcode(Opcode opcode) {
  return opcode == Opcode::kDot || opcode == Opcode::kConvolution;
}

// Returns true for what takes long for its size, so that doing it outside can pay.
bool IsCostly(const Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kConvolution:
    case Opcode::kCos:
    case Opcode::kDot:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kPower:
    case Opcode::kReduce:
    case Opcode::kSin:
    case Opcode::kTan:
    case Opcode::kTanh:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

// Returns true for what may follow work outside: it has no more elements than its operands.
bool Follows(const Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kGetTupleElement:
    case Opcode::kReduce:
    case Opcode::kReshape:
    case Opcode::kSlice:
    case Opcode::kTranspose:
    case Opcode::kBitcastConvert:
    case Opcode::kCompare:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return true;
    default:
      return IsCostly(instruction) || IsPointwise(instruction);
  }
}

class HoistIterations : public FormRule {
 public:
  // Moves the products alone, or all that is costly.
  HoistIterations(Identity identity, bool products)
      : FormRule(std::move(identity)), products_(products) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (instruction->opcode() != Opcode::kWhile) return false;
    const auto loop = FindCountedLoop(instruction);
    return loop.has_value() && loop->start == 0 && loop->step == 1 && loop->trips > 1 &&
           !FindHoisted(*loop).empty();
  }

  Instruction* Build(Instruction* instruction) const override {
    const CountedLoop loop = *FindCountedLoop(instruction);
    const std::vector<const Instruction*> hoisted = FindHoisted(loop);
    const bool reversed = IsReversed(loop);
    Batcher batcher(loop, instruction, reversed);
    LoopEditor editor(loop, instruction);
    Instruction* const number = NumberOf(loop, editor, reversed);
    for (const Instruction* original : hoisted) {
      Instruction* const all = editor.AddElement(batcher.Of(original).array);
      editor.Replace(original, ReadRow(Builder(editor.Copy(original)), all, number));
    }
    NarrowDynamicSlices(number->parent());
    return FirstElements(editor.Finish(), loop.size());
  }

 private:
  // The values that the loop is to read instead of computing them.
  std::vector<const Instruction*> FindHoisted(const CountedLoop& loop) const {
    const Dependences dependences(loop);
    const Users users = FindUsers(loop.body());
    const std::vector<Instruction*> order = loop.body()->MakeInstructionPostOrder();
    Set moved;
    for (const Instruction* one : order) {
      if (Forwarded(one) != one || !MayMove(loop, dependences, one)) continue;
      const bool follows =
          Follows(one) && std::any_of(one->operands().begin(), one->operands().end(),
                                      [&](const Instruction* operand) {
                                        return moved.contains(Forwarded(operand));
                                      });
      if (follows || IsWork(dependences, one)) moved.insert(one);
    }
    std::vector<const Instruction*> hoisted;
    for (const Instruction* one : order) {
      if (moved.contains(one) && one->shape().IsArray() && IsNeeded(loop, users, moved, one)) {
        hoisted.push_back(one);
      }
    }
    if (hoisted.size() > kMost) hoisted.clear();
    return hoisted;
  }

  bool MayMove(const CountedLoop& loop, const Dependences& dependences,
               const Instruction* one) const {
    const std::vector<Dependence>& all = dependences.Of(one);
    if (one->opcode() == Opcode::kParameter || one->opcode() == Opcode::kTuple) return false;
    if (one->opcode() == Opcode::kWhile) {
      return std::all_of(all.begin(), all.end(),
                         [](Dependence part) { return part != Dependence::kCarried; });
    }
    return one->shape().IsArray() && all.front() == Dependence::kNumber &&
           xla::ShapeUtil::ElementsIn(one->shape()) <=
               std::min(kLargest / loop.trips, products_ ? kLargest : kLargestRow);
  }

  bool IsWork(const Dependences& dependences, const Instruction* one) const {
    if (!products_) return IsCostly(one);
    if (!IsProductOpcode(one->opcode())) return false;
    // Of two values that change, the product is one for each iteration all the same.
    return std::any_of(
        one->operands().begin(), one->operands().end(),
        [&](const Instruction* side) { return dependences.OfArray(side) == Dependence::kOnce; });
  }

  static bool IsNeeded(const CountedLoop& loop, const Users& users, const Set& moved,
                       const Instruction* one) {
    if (std::find(loop.results.begin(), loop.results.end(), one) != loop.results.end()) return true;
    const auto found = users.find(one);
    const auto stays = [&](const Instruction* user) {
      // What an inner loop starts with goes with the loop.
      if (user->opcode() == Opcode::kTuple) {
        return std::any_of(user->users().begin(), user->users().end(),
                           [&](const Instruction* one) { return !moved.contains(one); });
      }
      return !moved.contains(user);
    };
    return found != users.end() && std::any_of(found->second.begin(), found->second.end(), stays);
  }

  bool products_;
};

}  // namespace

bool IsReversed(const CountedLoop& loop) {
  int64_t backwards = 0;
  for (const Instruction* one : loop.body()->instructions()) {
    const auto rows = FindRows(loop, one);
    if (rows.has_value()) backwards += rows->index.slope < 0 ? 1 : -1;
  }
  return backwards > 0;
}

Instruction* NumberOf(const CountedLoop& loop, LoopEditor& editor, bool reversed) {
  Instruction* const counter = editor.Element(loop.counter);
  if (!reversed) return counter;
  const Builder builder(counter);
  Instruction* const last = builder.Scalar(counter->shape().element_type(), loop.trips - 1);
  return builder.Binary(Opcode::kSubtract, last, counter);
}

Instruction* ReadRow(const Builder& builder, Instruction* all, Instruction* number) {
  std::vector<int64_t> sizes(all->shape().dimensions().begin(), all->shape().dimensions().end());
  std::vector<Instruction*> indices(sizes.size(),
                                    builder.Scalar(number->shape().element_type(), 0));
  indices[0] = number;
  sizes[0] = 1;
  const xla::Shape shape = xla::ShapeUtil::MakeShape(all->shape().element_type(), sizes);
  Instruction* const row =
      builder.place()->AddInstruction(Instruction::CreateDynamicSlice(shape, all, indices, sizes));
  sizes.erase(sizes.begin());
  return builder.Reshape(row, sizes);
}

Instruction* FirstElements(Instruction* loop, int64_t count) {
  const Builder builder(loop);
  std::vector<Instruction*> elements;
  for (int64_t i = 0; i < count; ++i) elements.push_back(builder.Element(loop, i));
  return loop->AddInstruction(Instruction::CreateTuple(elements));
}

const RuleTopic kLoopForms(317, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<HoistIterations>(
      Identity{"hoist-projection", "for i: f(x[i]·w) = y = x·w; for i: f(y[i])",
               "Computes the products of rows that a loop reads before the loop, all in one."},
      /*products=*/true));
  rules.push_back(std::make_unique<HoistIterations>(
      Identity{"hoist-iterations", "for i: f(g(x[i])) = y = g(x); for i: f(y[i])",
               "Computes what does not depend on earlier iterations before the loop, for all."},
      /*products=*/false));
});

}  // namespace hlograph
