// Sorts of few elements by many rows, as a network of minima and maxima.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/comparators.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/integer_keys.h"
#include "hlograph/native/rewrites/forms/sorting.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// A network for 32 elements has 191 exchanges, of two instructions each.
constexpr int64_t kMaxElements = 32;
// With fewer rows, there is nothing to compute side by side.
constexpr int64_t kMinRows = 8;

// Pairs of positions that Batcher's odd-even merge sort exchanges, in their order.
std::vector<std::pair<int64_t, int64_t>> Exchanges(int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> exchanges;
  for (int64_t merged = 1; merged < count; merged *= 2) {
    for (int64_t step = merged; step >= 1; step /= 2) {
      for (int64_t first = step % merged; first + step < count; first += 2 * step) {
        for (int64_t i = first; i < first + step && i + step < count; ++i) {
          if (i / (2 * merged) == (i + step) / (2 * merged)) exchanges.emplace_back(i, i + step);
        }
      }
    }
  }
  return exchanges;
}

class SortAsNetwork : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* sort) const override {
    if (!FindOrder(sort).has_value() || sort->operand_count() != 1 ||
        !HasKeys(sort->shape().element_type(), 64)) {
      return false;
    }
    const int64_t count = sort->shape().dimensions(sort->dimensions(0));
    return count > 1 && count <= kMaxElements &&
           xla::ShapeUtil::ElementsIn(sort->shape()) >= kMinRows * count;
  }

  Instruction* Build(Instruction* sort) const override {
    const SortOrder order = *FindOrder(sort);
    const Builder builder(sort);
    const int64_t dimension = sort->dimensions(0);
    const int64_t count = sort->shape().dimensions(dimension);
    Instruction* const keys = AddKeysOfSigns(builder, sort->mutable_operand(0), order);
    std::vector<Instruction*> wires;
    for (int64_t i = 0; i < count; ++i) {
      wires.push_back(builder.SliceOf(keys, dimension, i, i + 1));
    }
    for (const auto& [low, high] : Exchanges(count)) {
      Instruction* const least = builder.Binary(Opcode::kMinimum, wires[low], wires[high]);
      wires[high] = builder.Binary(Opcode::kMaximum, wires[low], wires[high]);
      wires[low] = least;
    }
    // Before the concatenation, so that XLA takes a slice of it from the wire alone: of a median,
    // the rest of the network is computed for nothing, and removed.
    for (Instruction*& wire : wires) {
      wire = AddElements(builder, wire, sort->shape().element_type(), order);
    }
    return builder.Concatenate(wires, dimension);
  }
};

}  // namespace

const RuleTopic kSortingNetworkForms(307, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<SortAsNetwork>(Identity{
      "sort-as-network", "sort(x) = min and max of pairs of elements of x",
      "Sorts at most 32 elements of each row by a network of minima and maxima of integer keys. "
      "Zeros are sorted by sign, and NaNs are made equal; the values are the same.",
      Numerics::kClose}));
});

}  // namespace hlograph
