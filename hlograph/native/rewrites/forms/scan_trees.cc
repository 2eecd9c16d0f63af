#include "hlograph/native/rewrites/forms/scan_trees.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/axis_blocks.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/interleaved.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kShortestScan = 8;  // whose levels show the combination of each component
constexpr int64_t kLongestScan = int64_t{1} << 30;
constexpr size_t kMostComponents = 32;
constexpr size_t kMostCombined = 1000;  // instructions of a combination

// The number that all elements of a constant or a broadcast are.
std::optional<xla::Literal> UniformNumber(const Instruction* value) {
  if (IsUniform(value)) value = value->operand(0);
  if (value->opcode() != Opcode::kConstant || !IsPlain(value) || SizeOf(value) != 1) {
    return std::nullopt;
  }
  return xla::LiteralUtil::GetFirstScalarLiteral(value->literal());
}

// Returns true if two instructions compute one element along a dimension alike from one element of
// their operands.
bool IsSameForOne(const Instruction* one, const Instruction* two, int64_t dimension,
                  const std::vector<int64_t>& dimensions) {
  if (one->opcode() != two->opcode() || OperandDimensions(two, dimension) != dimensions) {
    return false;
  }
  const auto of_one = [&](const Instruction* operand, int64_t along) {
    return along == kWholeArray ? operand->shape() : Resized(operand->shape(), along, 1);
  };
  std::vector<std::unique_ptr<Instruction>> parameters;
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const xla::Shape shape = of_one(one->operand(i), dimensions[i]);
    if (!xla::ShapeUtil::Compatible(shape, of_one(two->operand(i), dimensions[i]))) return false;
    parameters.push_back(Instruction::CreateParameter(static_cast<int64_t>(i), shape, "operand"));
    operands.push_back(parameters.back().get());
  }
  const std::unique_ptr<Instruction> first = CloneForBlock(one, dimension, 1, operands);
  const std::unique_ptr<Instruction> second = CloneForBlock(two, dimension, 1, operands);
  return first->Identical(
      *second, [](const auto*, const auto*) { return true; },
      [](const auto* a, const auto* b) { return *a == *b; }, /*layout_sensitive=*/false);
}

// Returns true for floats of so few digits that what a loop adds up soon does not grow any more,
// as 256 + 1 is 256 in bf16, where a tree adds numbers of one size.
bool HasFewDigits(const Instruction* elements) {
  const xla::PrimitiveType type = elements->shape().element_type();
  return xla::primitive_util::IsFloatingPointType(type) && xla::primitive_util::BitWidth(type) < 32;
}

// Finds the tree from a result on, level by level: neighbours are combined to the elements of the
// next level, whose results are those at odd indices. Combined with the element that follows, they
// are those at even ones.
class TreeFinder {
 public:
  std::optional<ScanTree> Find(const Instruction* result) {
    const auto parts = FindInterleaved(result);
    if (!parts.has_value()) return std::nullopt;
    tree_.length = SizeAlong(result, parts->dimension);
    const Instruction* const first = SplitEven(*parts).first;
    if (tree_.length < kShortestScan || tree_.length > kLongestScan || first == nullptr ||
        !IsAlong(first, parts->dimension) || !SameArray(first->operand(0), result)) {
      return std::nullopt;
    }
    const auto component = ComponentOf(first->operand(0), parts->dimension);
    if (!component.has_value() || !BindResult(0, *component, result) || !Run()) return std::nullopt;
    for (size_t i = 0; i < tree_.components.size(); ++i) {
      if (results_.count({0, i}) > 0) continue;
      const Instruction* const other = FindResult(tree_.components[i]);
      if (other != nullptr && (!BindResult(0, i, other) || !Run())) return std::nullopt;
    }
    for (const auto& [at, each] : results_) {
      if (at.first == 0) tree_.components[at.second].result = each;
    }
    if (IsReadElsewhere() || HasCycle()) return std::nullopt;
    return std::move(tree_);
  }

 private:
  using At = std::pair<int, size_t>;  // level, component

  // Elements that are combined with those after them.
  struct Combination {
    int level = 0;
    size_t component = 0;
    const Instruction* value = nullptr;
    bool is_upwards = false;  // neighbours, to elements of the next level
  };

  int64_t LengthAt(int level) const { return tree_.length >> level; }

  std::optional<size_t> ComponentOf(const Instruction* elements, int64_t dimension) {
    for (size_t i = 0; i < tree_.components.size(); ++i) {
      const ScanComponent& component = tree_.components[i];
      if (component.elements == elements && component.dimension == dimension) return i;
    }
    const size_t component = tree_.components.size();
    if (component >= kMostComponents || HasFewDigits(elements)) return std::nullopt;
    tree_.components.push_back({elements, dimension, nullptr, nullptr});
    elements_[{0, component}] = elements;
    return component;
  }

  // Returns true for an array that may be of this level of a component.
  bool Fits(const At& at, const Instruction* array) const {
    const ScanComponent& component = tree_.components[at.second];
    return IsPlain(array) && SameType(array, component.elements) &&
           SameElsewhere(array->shape(), component.elements->shape(), component.dimension) &&
           SizeAlong(array, component.dimension) == LengthAt(at.first);
  }

  bool BindElements(int level, size_t component, const Instruction* array) {
    const auto [entry, is_new] = elements_.emplace(At(level, component), array);
    if (!is_new) return entry->second == array;
    if (!Fits(entry->first, array)) return false;
    waiting_.push_back({level - 1, component, array, /*is_upwards=*/true});
    return true;
  }

  bool BindResult(int level, size_t component, const Instruction* array) {
    const auto [entry, is_new] = results_.emplace(At(level, component), array);
    if (!is_new) return entry->second == array;
    if (!Fits(entry->first, array)) return false;
    if (LengthAt(level) == 1) return BindElements(level, component, array);
    tree_.inside.insert(array);
    const auto parts = FindInterleaved(array);
    const int64_t dimension = tree_.components[component].dimension;
    if (!parts.has_value() || parts->dimension != dimension) return false;
    const auto [first, others] = SplitEven(*parts);
    for (const Instruction* pad : array->operands()) tree_.inside.insert(pad);
    if (parts->even != first) tree_.inside.insert(parts->even);
    if (first == nullptr || (others == nullptr) != (LengthAt(level) == 2) ||
        !BindView({level, component}, /*is_result=*/false, first, 0, 1, 1)) {
      return false;
    }
    if (others != nullptr) {
      waiting_.push_back({level, component, others, /*is_upwards=*/false});
    }
    return BindResult(level + 1, component, parts->odd);
  }

  // Takes a value for `count` elements of an array of a level, `stride` apart from `start` on.
  bool BindView(const At& at, bool is_result, const Instruction* value, int64_t start,
                int64_t stride, int64_t count) {
    const auto bind = [&](const Instruction* array) {
      return is_result ? BindResult(at.first, at.second, array)
                       : BindElements(at.first, at.second, array);
    };
    const int64_t dimension = tree_.components[at.second].dimension;
    if (IsAlong(value, dimension) && SizeAlong(value, dimension) == count &&
        SizeAlong(value->operand(0), dimension) == LengthAt(at.first) &&
        value->slice_starts(dimension) == start &&
        (count == 1 || value->slice_strides(dimension) == stride)) {
      if (at.first > 0) tree_.inside.insert(value);
      return bind(value->operand(0));
    }
    return start == 0 && count == LengthAt(at.first) && (count == 1 || stride == 1) && bind(value);
  }

  // Checks all combinations, in an order in which those of each component are learnt first.
  bool Run() {
    while (!waiting_.empty()) {
      const std::vector<Combination> waiting = std::exchange(waiting_, {});
      bool is_changed = false;
      for (const Combination& combination : waiting) {
        ScanComponent& component = tree_.components[combination.component];
        if (combination.level == 0 && combination.is_upwards && component.combined == nullptr) {
          component.combined = combination.value;
          read_.clear();
          if (!Learn(combination.value, component.dimension).has_value()) return false;
        } else if (component.combined == nullptr) {
          waiting_.push_back(combination);
          continue;
        } else {
          const ScanComponent known = component;  // others may be found
          same_.clear();
          if (!IsSame(known.combined, combination.value, known.dimension, combination))
            return false;
        }
        is_changed = true;
      }
      if (!is_changed) return false;
    }
    return true;
  }

  // Reads how neighbours are combined; whether an instruction depends on them.
  std::optional<bool> Learn(const Instruction* value, int64_t dimension) {
    const auto key = std::make_pair(value, dimension);
    if (auto entry = read_.find(key); entry != read_.end()) return entry->second;
    if (read_.size() >= kMostCombined) return std::nullopt;
    if (IsAlong(value, dimension) && value->slice_strides(dimension) == 2 &&
        value->slice_starts(dimension) < 2 && SizeAlong(value, dimension) == LengthAt(1) &&
        SizeAlong(value->operand(0), dimension) == LengthAt(0)) {
      const auto component = ComponentOf(value->operand(0), dimension);
      if (!component.has_value()) return std::nullopt;
      tree_.operands[value] = {*component, value->slice_starts(dimension) == 1};
      return read_[key] = true;
    }
    const auto dimensions = OperandDimensions(value, dimension);
    if (!dimensions.has_value()) return std::nullopt;
    bool depends = false;
    for (size_t i = 0; i < dimensions->size(); ++i) {
      if ((*dimensions)[i] == kWholeArray) continue;
      const auto operand = Learn(value->operand(i), (*dimensions)[i]);
      if (!operand.has_value()) return std::nullopt;
      depends |= *operand;
    }
    if (depends) tree_.inside.insert(value);
    return read_[key] = depends;
  }

  // Returns true if a value combines elements as `known` does neighbours.
  bool IsSame(const Instruction* known, const Instruction* value, int64_t dimension,
              const Combination& combination) {
    if (!same_.insert({known, value}).second) return true;
    if (auto operand = tree_.operands.find(known); operand != tree_.operands.end()) {
      return IsOperand(operand->second, value, combination);
    }
    if (tree_.inside.count(known) == 0) {
      const auto number = UniformNumber(known);
      if (number.has_value() && number == UniformNumber(value)) return true;
    }
    const auto dimensions = OperandDimensions(known, dimension);
    if (!dimensions.has_value() || !IsSameForOne(known, value, dimension, *dimensions)) {
      return false;
    }
    if (tree_.inside.count(known) > 0) tree_.inside.insert(value);
    for (size_t i = 0; i < dimensions->size(); ++i) {
      const Instruction* const operand = known->operand(i);
      const int64_t along = (*dimensions)[i];
      if (along == kWholeArray ? !IsComputedAlike(operand, value->operand(i))
                               : !IsSame(operand, value->operand(i), along, combination)) {
        return false;
      }
    }
    return true;
  }

  bool IsOperand(const ScanOperand& operand, const Instruction* value,
                 const Combination& combination) {
    const int64_t length = LengthAt(combination.level);
    const At at(combination.level, operand.component);
    if (combination.is_upwards) {
      return BindView(at, /*is_result=*/false, value, operand.is_later ? 1 : 0, 2, length / 2);
    }
    const int64_t count = (length - 1) / 2;
    if (operand.is_later) return BindView(at, /*is_result=*/false, value, 2, 2, count);
    return BindView({at.first + 1, at.second}, /*is_result=*/true, value, 0, 1, count);
  }

  // What may be the result of a component, by its first element.
  static const Instruction* FindResult(const ScanComponent& component) {
    for (const Instruction* first : component.elements->users()) {
      if (!IsAlong(first, component.dimension) || SizeAlong(first, component.dimension) != 1) {
        continue;
      }
      for (const Instruction* even : first->users()) {
        for (const Instruction* pad : even->users()) {
          for (const Instruction* joined : pad->users()) {
            const auto parts = FindInterleaved(joined);
            if (parts.has_value() && parts->even == even &&
                parts->dimension == component.dimension && SplitEven(*parts).first == first) {
              return joined;
            }
          }
        }
      }
    }
    return nullptr;
  }

  bool IsResult(const Instruction* value) const {
    return absl::c_any_of(tree_.components,
                          [&](const ScanComponent& each) { return each.result == value; });
  }

  bool IsReadElsewhere() const {
    return absl::c_any_of(tree_.inside, [&](const Instruction* value) {
      if (IsResult(value)) return false;
      return value->IsRoot() || absl::c_any_of(value->users(), [&](const Instruction* user) {
               return tree_.inside.count(user) == 0;
             });
    });
  }

  // Returns true if what is scanned depends on results, which one loop would compute with it. A
  // result alone depends on all of the tree, so nothing there depends on it.
  bool HasCycle() const {
    if (absl::c_count_if(tree_.components,
                         [](const ScanComponent& each) { return each.result != nullptr; }) < 2) {
      return false;
    }
    std::set<const Instruction*> seen;
    std::vector<const Instruction*> waiting;
    const auto visit = [&](const Instruction* value) {
      if (seen.insert(value).second) waiting.push_back(value);
    };
    for (const ScanComponent& component : tree_.components) visit(component.elements);
    for (const Instruction* value : tree_.inside) {
      for (const Instruction* operand : value->operands()) {
        if (tree_.inside.count(operand) == 0) visit(operand);
      }
    }
    while (!waiting.empty()) {
      const Instruction* const value = waiting.back();
      waiting.pop_back();
      if (IsResult(value)) return true;
      for (const Instruction* operand : value->operands()) visit(operand);
      for (const Instruction* before : value->control_predecessors()) visit(before);
    }
    return false;
  }

  ScanTree tree_;
  std::map<At, const Instruction*> elements_, results_;
  std::vector<Combination> waiting_;
  std::map<std::pair<const Instruction*, int64_t>, bool> read_;
  std::set<std::pair<const Instruction*, const Instruction*>> same_;
};

// Returns true for what a tree over twice as many elements, or one more, has at odd indices.
bool IsLevel(const Instruction* result) {
  for (const Instruction* pad : result->users()) {
    if (pad->opcode() != Opcode::kPad || pad->operand(0) != result) continue;
    for (const Instruction* joined : pad->users()) {
      const auto parts = FindInterleaved(joined);
      if (parts.has_value() && parts->odd == result && TreeFinder().Find(joined).has_value()) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::optional<ScanTree> FindScanTree(const Instruction* result) {
  auto tree = TreeFinder().Find(result);
  if (tree.has_value() && IsLevel(result)) return std::nullopt;
  return tree;
}

}  // namespace hlograph
