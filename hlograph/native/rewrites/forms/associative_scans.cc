// Associative scans, which JAX writes as trees of combinations, as loops over the elements.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "hlograph/native/rewrites/forms/block_loop.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/scan_trees.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/permutation_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int kTreeReach = 64;  // four hops to what is scanned, two more to each level

// The order of dimensions that has one of them first, and the others as they were.
std::vector<int64_t> WithFirst(int64_t rank, int64_t dimension) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + dimension, order.begin() + dimension + 1);
  return order;
}

bool IsReversed(const Instruction* value, int64_t dimension) {
  return value->opcode() == Opcode::kReverse && IsPlain(value) &&
         absl::c_equal(value->dimensions(), std::vector<int64_t>{dimension});
}

// Returns true if all users take a result from its end on.
bool IsTakenReversed(const ScanComponent& component) {
  const Instruction* const result = component.result;
  return !result->IsRoot() && result->user_count() > 0 &&
         absl::c_all_of(result->users(), [&](const Instruction* user) {
           return IsReversed(user, component.dimension);
         });
}

// Builds the loop that combines one element after the other with all before it.
class ScanLoop : public BlockCopier {
 public:
  ScanLoop(Instruction* place, const ScanTree& tree)
      : BlockCopier(AddLoopComputation(
                        place->GetModule(), "scan",
                        xla::ShapeUtil::MakeTupleShape({xla::ShapeUtil::MakeShape(xla::S32, {})})),
                    /*size=*/1),
        place_(place),
        tree_(tree),
        rows_(tree.components.size()) {
    initials_.push_back(Builder(place).Scalar(xla::S32, 1));
    results_.push_back(nullptr);
    number_ = Element(0);
    const Builder inside(number_);
    results_[0] = inside.Binary(Opcode::kAdd, number_, inside.Scalar(xla::S32, 1));
    const auto last = static_cast<double>(tree.length - 1);
    from_end_ = inside.Binary(Opcode::kSubtract, inside.Scalar(xla::S32, last), number_);
  }

  // Adds the loop where `place` is; returns the results, of components that have some.
  std::map<size_t, Instruction*> Build() {
    const std::map<size_t, int64_t> before = AddBefore();
    std::map<size_t, int64_t> written;
    for (const auto& [component, number] : before) {
      const ScanComponent& own = tree_.components[component];
      Instruction* const combined = Copy(own.combined, own.dimension);
      results_[number] = combined;
      if (own.result != nullptr) written[component] = AddWritten(component, combined);
    }
    Instruction* const loop = Finish();
    std::map<size_t, Instruction*> arrays;
    for (const auto& [component, number] : written) {
      const ScanComponent& own = tree_.components[component];
      const auto order = WithFirst(RankOf(own.result), own.dimension);
      const Builder build(place_);
      arrays[component] =
          build.Transpose(build.Element(loop, number), xla::InversePermutation(order));
    }
    return arrays;
  }

 protected:
  Instruction* CopyOther(const Instruction* value, int64_t dimension) override {
    if (dimension == kWholeArray) {
      const bool copied = value->opcode() == Opcode::kConstant && IsPlain(value);
      return copied ? nullptr : Outside(value);
    }
    const auto operand = tree_.operands.find(value);
    if (operand == tree_.operands.end()) return nullptr;
    const auto& [component, is_later] = operand->second;
    return is_later ? ReadRow(component) : before_.at(component);
  }

 private:
  // Adds what is combined of the elements before, of components that results depend on, to the
  // loop's state: at first the first elements.
  std::map<size_t, int64_t> AddBefore() {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < tree_.components.size(); ++i) {
      if (tree_.components[i].result != nullptr) waiting.push_back(i);
    }
    std::map<size_t, int64_t> numbers;
    while (!waiting.empty()) {
      const size_t component = waiting.back();
      waiting.pop_back();
      if (numbers.count(component) > 0) continue;
      numbers[component] = AddState(First(component));
      before_[component] = Element(numbers[component]);
      std::set<const Instruction*> seen;
      FindBefore(tree_.components[component].combined, seen, waiting);
    }
    return numbers;
  }

  void FindBefore(const Instruction* value, std::set<const Instruction*>& seen,
                  std::vector<size_t>& components) const {
    if (!seen.insert(value).second) return;
    if (auto operand = tree_.operands.find(value); operand != tree_.operands.end()) {
      if (!operand->second.is_later) components.push_back(operand->second.component);
    } else if (tree_.inside.count(value) > 0) {
      for (const Instruction* each : value->operands()) FindBefore(each, seen, components);
    }
  }

  Instruction* First(size_t component) const {
    const ScanComponent& own = tree_.components[component];
    const bool reversed = IsReversed(own.elements, own.dimension);
    auto* const array =
        const_cast<Instruction*>(reversed ? own.elements->operand(0) : own.elements);
    const int64_t at = reversed ? tree_.length - 1 : 0;
    return Builder(place_).SliceOf(array, own.dimension, at, at + 1);
  }

  // The element of this iteration, with a scanned dimension of size one.
  Instruction* ReadRow(size_t component) {
    if (rows_[component] != nullptr) return rows_[component];
    const ScanComponent& own = tree_.components[component];
    const bool reversed = IsReversed(own.elements, own.dimension);
    auto* const array =
        const_cast<Instruction*>(reversed ? own.elements->operand(0) : own.elements);
    Instruction* const moved =
        Builder(place_).Transpose(array, WithFirst(RankOf(array), own.dimension));
    Instruction* const all = Outside(moved);
    const xla::Shape shape = Resized(all->shape(), 0, 1);
    Instruction* const row = to()->AddInstruction(Instruction::CreateDynamicSlice(
        shape, all, Indices(RankOf(all), reversed), shape.dimensions()));
    const xla::Shape kept = Resized(array->shape(), own.dimension, 1);
    return rows_[component] = Builder(number_).Reshape(row, kept.dimensions());
  }

  // Adds an array of which each iteration writes an element.
  int64_t AddWritten(size_t component, Instruction* combined) {
    const ScanComponent& own = tree_.components[component];
    const bool reversed = IsTakenReversed(own);
    const Builder build(place_);
    const auto order = WithFirst(RankOf(combined), own.dimension);
    Instruction* const first = build.Transpose(First(component), order);
    xla::PaddingConfig padding;
    for (int64_t i = 0; i < RankOf(first); ++i) padding.add_dimensions();
    xla::PaddingConfig::PaddingConfigDimension* const along = padding.mutable_dimensions(0);
    if (reversed) {
      along->set_edge_padding_low(tree_.length - 1);
    } else {
      along->set_edge_padding_high(tree_.length - 1);
    }
    const int64_t number = AddState(build.Pad(first, padding));
    Instruction* const all = Element(number);
    Instruction* const row = Builder(number_).Reshape(combined, first->shape().dimensions());
    results_[number] = to()->AddInstruction(Instruction::CreateDynamicUpdateSlice(
        all->shape(), all, row, Indices(RankOf(row), reversed)));
    return number;
  }

  Instruction* Finish() {
    to()->set_root_instruction(to()->AddInstruction(Instruction::CreateTuple(results_)),
                               /*accept_different_shape=*/true);
    Instruction* const initial = place_->AddInstruction(Instruction::CreateTuple(initials_));
    xla::HloComputation* const condition =
        AddLoopComputation(place_->GetModule(), "more", initial->shape());
    const Builder inside(condition->parameter_instruction(0));
    condition->set_root_instruction(
        inside.Compare(inside.Element(inside.place(), 0),
                       inside.Scalar(xla::S32, static_cast<double>(tree_.length)),
                       xla::ComparisonDirection::kLt),
        /*accept_different_shape=*/true);
    return place_->AddInstruction(
        Instruction::CreateWhile(initial->shape(), condition, to(), initial));
  }

  Instruction* Element(int64_t number) {
    return to()->AddInstruction(
        Instruction::CreateGetTupleElement(to()->parameter_instruction(0), number));
  }

  int64_t AddState(Instruction* initial) {
    *to()->parameter_instruction(0)->mutable_shape()->add_tuple_shapes() = initial->shape();
    initials_.push_back(initial);
    results_.push_back(nullptr);
    return static_cast<int64_t>(results_.size()) - 1;
  }

  // An array from outside, in the loop.
  Instruction* Outside(const Instruction* value) {
    if (auto entry = outside_.find(value); entry != outside_.end()) return entry->second;
    const int64_t number = AddState(const_cast<Instruction*>(value));
    return outside_[value] = results_[number] = Element(number);
  }

  std::vector<Instruction*> Indices(int64_t rank, bool reversed) {
    std::vector<Instruction*> indices(rank, Builder(number_).Scalar(xla::S32, 0));
    indices[0] = reversed ? from_end_ : number_;
    return indices;
  }

  Instruction* place_;
  const ScanTree& tree_;
  Instruction* number_;    // index of the element
  Instruction* from_end_;  // the same, counted from the last one
  std::vector<Instruction*> initials_, results_;
  std::map<const Instruction*, Instruction*> outside_;
  std::map<size_t, Instruction*> before_;  // by component
  std::vector<Instruction*> rows_;
};

// It is no FormRule, as it replaces the results of all components.
class AssociativeScanAsLoop : public OwnRule {
 public:
  explicit AssociativeScanAsLoop(Identity identity)
      : OwnRule(std::move(identity), Purpose::kTime) {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    ProposeWhere(
        computation,
        [](const Instruction* instruction) { return FindScanTree(instruction).has_value(); },
        places);
  }

  bool Matches(Place place) const override { return FindScanTree(place.instruction).has_value(); }

  Reach reach() const override { return {.operands = kTreeReach, .users = 2}; }

  // A part of the module may lack results of other components, and users of the tree.
  bool IsClear(Place original, Place copy) const override {
    const auto first = FindScanTree(original.instruction);
    const auto second = FindScanTree(copy.instruction);
    if (!first.has_value() || !second.has_value()) return first.has_value() == second.has_value();
    if (first->inside.size() != second->inside.size() ||
        first->components.size() != second->components.size()) {
      return false;
    }
    for (size_t i = 0; i < first->components.size(); ++i) {
      const ScanComponent& own = first->components[i];
      const ScanComponent& copied = second->components[i];
      if ((own.result == nullptr) != (copied.result == nullptr)) return false;
      if (own.result != nullptr && (own.result->user_count() != copied.result->user_count() ||
                                    IsTakenReversed(own) != IsTakenReversed(copied))) {
        return false;
      }
    }
    return true;
  }

  absl::Status Apply(Place place) const override {
    const ScanTree tree = *FindScanTree(place.instruction);
    xla::HloComputation* const computation = place.instruction->parent();
    for (const auto& [component, array] : ScanLoop(place.instruction, tree).Build()) {
      const ScanComponent& own = tree.components[component];
      std::vector<Instruction*> replaced = {const_cast<Instruction*>(own.result)};
      if (IsTakenReversed(own)) replaced = {own.result->users().begin(), own.result->users().end()};
      for (Instruction* each : replaced) {
        absl::Status status = computation->ReplaceInstruction(each, array);
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

const RuleTopic kAssociativeScanForms(342, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<AssociativeScanAsLoop>(
      Identity{"associative-scan-as-loop", "scan tree of f(x) = for i: y = f(y, x[i])",
               "Combines one element after the other with all before it, instead of the tree of "
               "slices, combinations and interleaved arrays of an associative scan."}));
});

}  // namespace hlograph
