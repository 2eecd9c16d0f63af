// Reads of single elements of an array some elements of which were just updated. An array that is
// read after an update and updated again is copied, in each iteration of a loop.
#include <cstddef>
#include <memory>
#include <vector>

#include "hlograph/native/rewrites/forms/element_updates.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hlograph {
namespace {

constexpr size_t kMaxChained = 8;  // of one array, one after the other

// The updates of an array, from the last one on.
std::vector<const Instruction*> UpdatesOf(const Instruction* array) {
  std::vector<const Instruction*> updates;
  while (updates.size() < kMaxChained && IsElementUpdate(array)) {
    updates.push_back(array);
    array = array->operand(0);
  }
  return updates;
}

class ReadBeforeUpdate : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = 2 + static_cast<int>(kMaxChained)}; }

 protected:
  bool Matches(const Instruction* slice) const override {
    return IsElementRead(slice) && !UpdatesOf(slice->operand(0)).empty();
  }

  Instruction* Build(Instruction* slice) const override {
    const Builder build(slice);
    const std::vector<const Instruction*> updates = UpdatesOf(slice->operand(0));
    std::vector<Instruction*> operands(slice->operands().begin(), slice->operands().end());
    operands[0] = const_cast<Instruction*>(updates.back()->operand(0));
    Instruction* element = AddLike(slice, slice->shape(), operands);
    const ElementPlace read = PlaceOfRead(build, slice);
    for (auto update = updates.rbegin(); update != updates.rend(); ++update) {
      const ElementPlace place = PlaceOfUpdate(build, *update, UpdateIndices(*update));
      Instruction* const is_read =
          build.Broadcast(IsSamePlace(build, place, read), SizesOf(slice), {});
      element = build.Select(is_read, UpdatedElement(build, *update, element), element);
    }
    return element;
  }
};

}  // namespace

const RuleTopic kUpdatedReadForms(343, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ReadBeforeUpdate>(Identity{
      "read-before-update", "update(x, i, y)[k] = select(i = k, y, x[k])",
      "Reads an element of an array before single elements of it are updated, so that the array "
      "need not be copied for the next update.",
      Numerics::kExact}));
});

}  // namespace hlograph
