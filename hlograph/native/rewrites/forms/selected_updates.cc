// Selects between an array and updates of it, as updates that change nothing.
//
// A select writes all elements of an array to change a few of them; in a loop, it does so in each
// iteration.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/updates.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;
using Numbers = std::vector<int64_t>;
using Updates = std::vector<const Instruction*>;

constexpr size_t kMaxUpdates = 4;  // of one array, one after the other

// An array that two chains of updates begin with; the chains are given from the last update on.
struct SelectedUpdates {
  const Instruction* start = nullptr;
  Updates yes, no;
};

// An array, the array that it updates, and so on.
Updates ChainOf(const Instruction* array) {
  Updates chain = {array};
  while (chain.size() <= kMaxUpdates && (IsScatter(chain.back()) || IsSliceUpdate(chain.back()))) {
    chain.push_back(chain.back()->operand(0));
  }
  return chain;
}

// Dimensions along which a predicate is not the same.
Numbers VaryingDimensions(const Instruction* predicate) {
  Numbers dimensions;
  for (int64_t i = 0; i < RankOf(predicate); ++i) {
    if (!IsEqualAlong(predicate, i)) dimensions.push_back(i);
  }
  return dimensions;
}

// Returns true if the predicate is the same for all elements of each slice that is updated, or the
// slice has all elements along a dimension.
bool CanBeMasked(const Instruction* update, const Numbers& varying) {
  if (IsSliceUpdate(update)) {
    return absl::c_all_of(varying, [&](int64_t i) {
      return update->operand(1)->shape().dimensions(i) == update->shape().dimensions(i);
    });
  }
  const xla::ScatterDimensionNumbers& numbers = update->scatter_dimension_numbers();
  const xla::PrimitiveType type = update->operand(1)->shape().element_type();
  return (type == xla::S32 || type == xla::S64) &&
         numbers.scatter_dims_to_operand_dims_size() > 0 && absl::c_all_of(varying, [&](int64_t i) {
           return absl::c_linear_search(numbers.inserted_window_dims(), i) ||
                  absl::c_linear_search(numbers.input_batching_dims(), i);
         });
}

std::optional<SelectedUpdates> FindSelectedUpdates(const Instruction* select) {
  if (select->opcode() != Opcode::kSelect || !IsPointwise(select)) return std::nullopt;
  const Updates yes = ChainOf(select->operand(1)), no = ChainOf(select->operand(2));
  if (yes.size() + no.size() == 2) return std::nullopt;
  for (size_t i = 0; i < yes.size(); ++i) {
    const size_t j = absl::c_find(no, yes[i]) - no.begin();
    if (j == no.size()) continue;
    if (i + j == 0) return std::nullopt;
    SelectedUpdates found{yes[i], Updates(yes.begin(), yes.begin() + static_cast<int64_t>(i)),
                          Updates(no.begin(), no.begin() + static_cast<int64_t>(j))};
    const Numbers varying = VaryingDimensions(select->operand(0));
    const auto can_be = [&](const Instruction* update) { return CanBeMasked(update, varying); };
    if (!absl::c_all_of(found.yes, can_be) || !absl::c_all_of(found.no, can_be)) break;
    return found;
  }
  return std::nullopt;
}

// The predicate for each index vector of a scatter: of its own slice of the array.
Instruction* PredicateOfIndices(const Builder& build, Instruction* predicate,
                                const Instruction* scatter) {
  const xla::ScatterDimensionNumbers& numbers = scatter->scatter_dimension_numbers();
  const Numbers varying = VaryingDimensions(predicate);
  const Numbers sizes = SizesOf(scatter->operand(1));
  const auto& batch = numbers.input_batching_dims();
  const bool is_by_batch =
      absl::c_all_of(varying, [&](int64_t i) { return absl::c_linear_search(batch, i); });
  if (is_by_batch) {
    for (int64_t i = RankOf(predicate) - 1; i >= 0; --i) {
      if (!absl::c_linear_search(varying, i)) predicate = FirstAlong(build, predicate, i);
    }
    Numbers dimensions;
    for (int64_t i : varying) {
      dimensions.push_back(
          numbers.scatter_indices_batching_dims(absl::c_find(batch, i) - batch.begin()));
    }
    return build.Broadcast(predicate, sizes, dimensions);
  }
  // A gather takes the predicate where the scatter has its slice; dimensions that do not matter
  // have one element.
  Numbers collapsed, kept, kept_sizes;
  for (int64_t i = 0; i < RankOf(predicate); ++i) {
    if (absl::c_linear_search(batch, i)) continue;
    collapsed.push_back(i);
    if (!absl::c_linear_search(varying, i)) predicate = build.SliceOf(predicate, i, 0, 1);
  }
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
    if (i == numbers.index_vector_dim()) continue;
    kept.push_back(i);
    kept_sizes.push_back(sizes[i]);
  }
  Instruction* const gathered = build.place()->AddInstruction(Instruction::CreateGather(
      xla::ShapeUtil::MakeShape(xla::PRED, kept_sizes), predicate,
      const_cast<Instruction*>(scatter->operand(1)),
      xla::HloGatherInstruction::MakeGatherDimNumbers(
          {}, collapsed, numbers.scatter_dims_to_operand_dims(), numbers.index_vector_dim(), batch,
          numbers.scatter_indices_batching_dims()),
      Numbers(RankOf(predicate), 1), /*indices_are_sorted=*/false));
  return build.Broadcast(gathered, sizes, kept);
}

// The update of an array where the predicate is `when`, which changes nothing elsewhere.
Instruction* Masked(const Builder& build, Instruction* array, const Instruction* update,
                    Instruction* predicate, bool when) {
  const auto chosen = [&](Instruction* which, Instruction* yes, Instruction* no) {
    return when ? build.Select(which, yes, no) : build.Select(which, no, yes);
  };
  if (update->opcode() == Opcode::kDynamicUpdateSlice) {
    auto* const slice = const_cast<Instruction*>(update->operand(1));
    const Numbers sizes = SizesOf(slice), starts(sizes.size(), 0), strides(sizes.size(), 1);
    const std::vector<Instruction*> indices(update->operands().begin() + 2,
                                            update->operands().end());
    Instruction* const old = build.place()->AddInstruction(
        Instruction::CreateDynamicSlice(slice->shape(), array, indices, sizes));
    Instruction* const which = build.Slice(predicate, starts, sizes, strides);
    return build.place()->AddInstruction(Instruction::CreateDynamicUpdateSlice(
        update->shape(), array, chosen(which, slice, old), indices));
  }
  // Slices out of bounds are left out, wherever they begin before the array.
  auto* const indices = const_cast<Instruction*>(update->operand(1));
  Instruction* const nowhere =
      build.Uniform(indices->shape(), std::numeric_limits<int32_t>::lowest());
  Instruction* const which = PredicateOfIndices(build, predicate, update);
  return build.place()->AddInstruction(
      Instruction::CreateScatter(update->shape(), array, chosen(which, indices, nowhere),
                                 const_cast<Instruction*>(update->operand(2)), update->to_apply(),
                                 update->scatter_dimension_numbers(), /*indices_are_sorted=*/false,
                                 /*unique_indices=*/false));
}

class UpdateOfSelect : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = 2 + kEqualAlongReach}; }

 protected:
  bool Matches(const Instruction* select) const override {
    return FindSelectedUpdates(select).has_value();
  }

  Instruction* Build(Instruction* select) const override {
    const SelectedUpdates found = *FindSelectedUpdates(select);
    const Builder build(select);
    auto* array = const_cast<Instruction*>(found.start);
    for (bool when : {true, false}) {
      const Updates& updates = when ? found.yes : found.no;
      for (auto update = updates.rbegin(); update != updates.rend(); ++update) {
        array = Masked(build, array, *update, select->mutable_operand(0), when);
      }
    }
    return array;
  }
};

}  // namespace

const RuleTopic kSelectedUpdateForms(334, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<UpdateOfSelect>(Identity{
      "update-of-select", "select(p, update(x, i, y), x) = update(x, i, select(p, y, x[i]))",
      "Chooses among the few elements that are updated, not among all elements of the array "
      "and its update.",
      Numerics::kExact}));
});

}  // namespace hlograph
