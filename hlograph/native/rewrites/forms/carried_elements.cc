// Loops that update one element of an array in all iterations, as sums over an index that are
// added up in place. The element alone is carried, and the array is updated after the loop.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/element_updates.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Reads = std::vector<const Instruction*>;

constexpr size_t kMaxUpdatesBefore = 8;  // of one array, which a loop updates at the same place

// An element of the tuple that a loop carries: an array of which each iteration updates the same
// element, and reads single ones.
struct CarriedArray {
  int64_t element = 0;
  Reads reads;
};

// Finds the arrays of a loop of which one element alone need be carried.
class CarriedArrayFinder {
 public:
  explicit CarriedArrayFinder(const CountedLoop& loop)
      : loop_(loop),
        parameter_(loop.body()->parameter_instruction(0)),
        dependences_(loop),
        users_(FindUsers(loop.body())) {}

  std::vector<CarriedArray> Find() const {
    std::vector<CarriedArray> found;
    const bool taken = absl::c_all_of(parameter_->users(), [&](const Instruction* user) {
      return ElementOf(user, parameter_) >= 0;
    });
    for (int64_t i = 0; taken && i < loop_.size(); ++i) {
      CarriedArray carried{i, {}};
      if (IsUpdatedInPlace(i) && !IsInCondition(i) && AreReads(i, carried.reads)) {
        found.push_back(carried);
      }
    }
    return found;
  }

 private:
  // Returns true if an iteration updates an element at the same place, and uses the array no more.
  bool IsUpdatedInPlace(int64_t element) const {
    const Instruction* const update = loop_.results[element];
    if (!IsElementUpdate(update) || users_.contains(update) ||
        absl::c_count(loop_.results, update) != 1 ||
        ElementOf(Forwarded(update->operand(0)), parameter_) != element) {
      return false;
    }
    return absl::c_all_of(UpdateIndices(update), [&](const Instruction* index) {
      return dependences_.OfArray(index) == Dependence::kOnce;
    });
  }

  bool IsInCondition(int64_t element) const {
    const Instruction* const parameter = loop_.loop->while_condition()->parameter_instruction(0);
    return absl::c_any_of(parameter->users(), [&](const Instruction* user) {
      const int64_t used = ElementOf(user, parameter);
      return used < 0 || (used == element && (user->IsRoot() || user->user_count() > 0));
    });
  }

  // Finds the reads of an array; false if an iteration does anything else with it.
  bool AreReads(int64_t element, Reads& reads) const {
    for (const Instruction* array : parameter_->users()) {
      if (ElementOf(array, parameter_) != element) continue;
      if (absl::c_linear_search(loop_.results, array)) return false;
      const auto users = users_.find(array);
      if (users == users_.end()) continue;
      for (const Instruction* user : users->second) {
        if (user == loop_.results[element]) {
          const auto is_array = [&](const Instruction* operand) {
            return Forwarded(operand) == array;
          };
          if (absl::c_count_if(user->operands(), is_array) != 1) return false;
        } else if (IsElementRead(user)) {
          reads.push_back(user);
        } else {
          return false;
        }
      }
    }
    return true;
  }

  const CountedLoop& loop_;
  const Instruction* parameter_;
  const Dependences dependences_;
  const Users users_;
};

// The array before a loop and without its last updates of the element that the loop updates, and
// the element.
struct ArrayBefore {
  Instruction* array = nullptr;
  ElementPlace place;
  Instruction* old = nullptr;      // the element of this array
  Instruction* element = nullptr;  // with the updates before the loop, if the place is inside
};

// Builds a loop that carries elements instead of arrays.
class ElementLoop {
 public:
  ElementLoop(const CountedLoop& loop, Instruction* place)
      : loop_(loop), place_(place), build_(place), editor_(loop, place) {}

  Instruction* Build(const std::vector<CarriedArray>& all) {
    std::vector<ArrayBefore> before;
    for (const CarriedArray& carried : all) before.push_back(Carry(carried));
    Instruction* const loop = editor_.Finish();
    std::vector<Instruction*> elements;
    for (int64_t i = 0; i < loop_.size(); ++i) elements.push_back(build_.Element(loop, i));
    for (size_t i = 0; i < all.size(); ++i) {
      Instruction* const last = build_.Element(loop, loop_.size() + static_cast<int64_t>(i));
      elements[all[i].element] = Updated(before[i], last);
    }
    return place_->AddInstruction(Instruction::CreateTuple(elements));
  }

 private:
  // Has the loop carry the element that is updated.
  ArrayBefore Carry(const CarriedArray& carried) {
    const ArrayBefore before = Before(carried.element);
    Instruction* const update = editor_.Copy(loop_.results[carried.element]);
    const int64_t added = editor_.size();
    Instruction* const element = editor_.AddElement(before.element);
    for (const Instruction* read : carried.reads) Choose(read, update, element);
    editor_.SetResult(added, UpdatedElement(Builder(update), update, element));
    editor_.SetResult(carried.element, editor_.Element(carried.element));
    editor_.SetInitial(carried.element, before.array);
    return before;
  }

  // Takes the carried element for what is read where it is updated.
  void Choose(const Instruction* original, const Instruction* update, Instruction* element) {
    Instruction* const read = editor_.Copy(original);
    const Builder build(read);
    Instruction* const is_read = IsSamePlace(
        build, PlaceOfUpdate(build, update, UpdateIndices(update)), PlaceOfRead(build, read));
    Instruction* const other = read->AddInstruction(read->Clone());
    Instruction* const chosen =
        build.Select(build.Broadcast(is_read, SizesOf(read), {}), element, other);
    editor_.Replace(original, chosen);
  }

  ArrayBefore Before(int64_t element) const {
    const Instruction* const update = loop_.results[element];
    Batcher batcher(loop_, place_, /*reversed=*/false);
    std::vector<Instruction*> indices;
    for (Instruction* index : UpdateIndices(update)) indices.push_back(batcher.Of(index).array);
    ArrayBefore before;
    before.array = TakeElement(place_->mutable_operand(0), element);
    std::vector<const Instruction*> updates;
    while (updates.size() < kMaxUpdatesBefore && IsUpdatedAt(before.array, update, indices)) {
      updates.push_back(before.array);
      before.array = before.array->mutable_operand(0);
    }
    before.place = PlaceOfUpdate(build_, update, indices);
    before.element = before.old = Read(before.array, before.place);
    for (auto each = updates.rbegin(); each != updates.rend(); ++each) {
      before.element = UpdatedElement(build_, *each, before.element);
    }
    return before;
  }

  Instruction* Read(Instruction* array, const ElementPlace& place) const {
    const std::vector<int64_t> sizes(RankOf(array), 1);
    const xla::Shape shape = xla::ShapeUtil::MakeShape(array->shape().element_type(), sizes);
    return place_->AddInstruction(Instruction::CreateDynamicSlice(shape, array, place, sizes));
  }

  // The array after the loop; it is as before if the place is outside of it.
  Instruction* Updated(const ArrayBefore& before, Instruction* last) const {
    Instruction* const is_inside =
        IsSamePlace(build_, before.place, PlaceOfRead(build_, before.old));
    Instruction* const value =
        build_.Select(build_.Broadcast(is_inside, SizesOf(last), {}), last, before.old);
    return place_->AddInstruction(Instruction::CreateDynamicUpdateSlice(
        before.array->shape(), before.array, value, before.place));
  }

  const CountedLoop& loop_;
  Instruction* place_;
  const Builder build_;
  LoopEditor editor_;
};

class CarriedElement : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override {
    return {.operands = 2 + static_cast<int>(kMaxUpdatesBefore) + kAlikeReach};
  }

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (instruction->opcode() != Opcode::kWhile || !IsPlainLoop(instruction)) return false;
    return !CarriedArrayFinder(LoopOfAnyLength(instruction)).Find().empty();
  }

  Instruction* Build(Instruction* instruction) const override {
    const CountedLoop loop = LoopOfAnyLength(instruction);
    return ElementLoop(loop, instruction).Build(CarriedArrayFinder(loop).Find());
  }
};

}  // namespace

const RuleTopic kCarriedElementForms(344, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<CarriedElement>(Identity{
      "carried-element", "for k: x[i] = f(x[i], k) = y = x[i]; for k: y = f(y, k); x[i] = y",
      "Carries an element that all iterations update, and updates the array once after the loop.",
      Numerics::kExact}));
});

}  // namespace hlograph
