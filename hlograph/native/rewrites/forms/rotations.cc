// Operations on several rotations of an array, as of a periodic grid and its neighbours.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

constexpr int kRotationDepth = 4;  // pointwise operations after the rotations
constexpr int64_t kLeastRotated = 1024;

// A concatenation of the end of an array with its start: element i is element i - shift of the
// array, which continues periodically. The shift is at most half the size, of either sign.
struct Rotation {
  Instruction* array = nullptr;
  int64_t dimension = 0;
  int64_t shift = 0;
};

// Returns true for the elements of one dimension from `start` to before `limit`, all of the others.
bool IsStretch(const Instruction* slice, int64_t dimension, int64_t start, int64_t limit) {
  if (!IsSlice(slice)) return false;
  for (int64_t i = 0; i < RankOf(slice); ++i) {
    const int64_t size = slice->operand(0)->shape().dimensions(i);
    if (slice->slice_strides(i) != 1 || slice->slice_starts(i) != (i == dimension ? start : 0) ||
        slice->slice_limits(i) != (i == dimension ? limit : size)) {
      return false;
    }
  }
  return true;
}

std::optional<Rotation> FindRotation(const Instruction* joined) {
  if (!IsConcatenate(joined) || joined->operand_count() != 2) return std::nullopt;
  const Instruction* const end = joined->operand(0);
  const Instruction* const start = joined->operand(1);
  if (!IsSlice(end) || !IsSlice(start) || end->operand(0) != start->operand(0)) return std::nullopt;
  const int64_t dimension = joined->concatenate_dimension();
  const int64_t size = joined->shape().dimensions(dimension);
  const int64_t cut = start->shape().dimensions(dimension);
  if (!SameArray(joined, end->operand(0)) || !IsStretch(end, dimension, cut, size) ||
      !IsStretch(start, dimension, 0, cut)) {
    return std::nullopt;
  }
  const int64_t shift = size - cut <= size / 2 ? size - cut : -cut;
  return Rotation{const_cast<Instruction*>(end->operand(0)), dimension, shift};
}

// Rotations of one array along one dimension among what an operation is computed from.
struct RotationGroup {
  Instruction* array = nullptr;
  int64_t dimension = 0;
  std::set<int64_t> shifts;
  std::set<int64_t> operands;  // of the operation, which they are found in
};

void CollectRotations(const Instruction* value, int64_t operand, int depth,
                      std::vector<RotationGroup>& groups) {
  if (const auto rotation = FindRotation(value)) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const RotationGroup& other) {
      return other.array == rotation->array && other.dimension == rotation->dimension;
    });
    if (group == groups.end()) {
      group = groups.insert(group, RotationGroup{rotation->array, rotation->dimension, {}, {}});
    }
    group->shifts.insert(rotation->shift);
    group->operands.insert(operand);
  } else if (depth > 0 && IsPointwise(value)) {
    for (const Instruction* next : value->operands()) {
      CollectRotations(next, operand, depth - 1, groups);
    }
  }
}

// The first group of several rotations that no operand has alone.
std::optional<RotationGroup> FindRotationGroup(const Instruction* place) {
  if (!IsPointwise(place)) return std::nullopt;
  std::vector<RotationGroup> groups;
  for (int64_t i = 0; i < place->operand_count(); ++i) {
    CollectRotations(place->operand(i), i, kRotationDepth - 1, groups);
  }
  for (const RotationGroup& group : groups) {
    if (group.shifts.size() > 1 && group.operands.size() > 1 &&
        SizeOf(group.array) >= kLeastRotated) {
      return group;
    }
  }
  return std::nullopt;
}

// Copies an operation with slices of one longer array instead of the rotations.
class RotationSlicer {
 public:
  RotationSlicer(Instruction* place, const RotationGroup& group)
      : build_(place),
        group_(group),
        size_(group.array->shape().dimensions(group.dimension)),
        before_(std::max(*group.shifts.rbegin(), int64_t{0})) {
    const int64_t after = std::max(-*group.shifts.begin(), int64_t{0});
    std::vector<Instruction*> parts;
    if (before_ > 0) {
      parts.push_back(build_.SliceOf(group.array, group.dimension, size_ - before_, size_));
    }
    parts.push_back(group.array);
    if (after > 0) parts.push_back(build_.SliceOf(group.array, group.dimension, 0, after));
    longer_ = build_.Concatenate(parts, group.dimension);
  }

  Instruction* Copy(Instruction* value, int depth) {
    if (auto copy = copies_.find(value); copy != copies_.end()) return copy->second;
    if (const auto rotation = FindRotation(value)) {
      const bool is_sliced =
          rotation->array == group_.array && rotation->dimension == group_.dimension;
      if (!is_sliced) return value;
      const int64_t start = before_ - rotation->shift;
      return copies_[value] = build_.SliceOf(longer_, group_.dimension, start, start + size_);
    }
    if (depth == 0 || !IsPointwise(value)) return value;
    std::vector<Instruction*> operands;
    bool is_changed = false;
    for (Instruction* operand : value->operands()) {
      operands.push_back(Copy(operand, depth - 1));
      is_changed |= operands.back() != operand;
    }
    return is_changed ? AddLike(value, value->shape(), operands) : value;
  }

 private:
  const Builder build_;
  const RotationGroup& group_;
  int64_t size_;
  int64_t before_;  // elements of the end that the longer array begins with
  Instruction* longer_;
  std::map<const Instruction*, Instruction*> copies_;
};

class RotationsAsSlices : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kRotationDepth + 2, .users = 0}; }

 protected:
  bool Matches(const Instruction* place) const override {
    return FindRotationGroup(place).has_value();
  }

  Instruction* Build(Instruction* place) const override {
    const RotationGroup group = *FindRotationGroup(place);
    return RotationSlicer(place, group).Copy(place, kRotationDepth);
  }
};

// The part of a rotation, followed or preceded by zeros.
Instruction* WithZeros(const Builder& build, Instruction* part, int64_t dimension, int64_t before,
                       int64_t after) {
  xla::PaddingConfig padding;
  for (int64_t i = 0; i < RankOf(part); ++i) padding.add_dimensions();
  padding.mutable_dimensions(static_cast<int>(dimension))->set_edge_padding_low(before);
  padding.mutable_dimensions(static_cast<int>(dimension))->set_edge_padding_high(after);
  return build.Pad(part, padding);
}

class RotationAsSelect : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* joined) const override {
    return FindRotation(joined).has_value() && SizeOf(joined) >= kLeastRotated;
  }

  Instruction* Build(Instruction* joined) const override {
    const Builder build(joined);
    const int64_t dimension = joined->concatenate_dimension();
    Instruction* const first = joined->mutable_operand(0);
    Instruction* const second = joined->mutable_operand(1);
    const int64_t size = first->shape().dimensions(dimension);
    const xla::Shape positions = xla::ShapeUtil::MakeShape(xla::S32, joined->shape().dimensions());
    Instruction* const is_first = build.Compare(build.Iota(positions, dimension),
                                                build.Uniform(positions, static_cast<double>(size)),
                                                xla::ComparisonDirection::kLt);
    const int64_t rest = second->shape().dimensions(dimension);
    return build.Select(is_first, WithZeros(build, first, dimension, 0, rest),
                        WithZeros(build, second, dimension, size, 0));
  }
};

}  // namespace

const RuleTopic kRotationForms(341, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<RotationsAsSlices>(
      Identity{"rotations-as-slices", "f(roll(x, i), roll(x, j)) = f(slices of [x x])",
               "Slices several rotations of an array, as of a periodic grid, from the array with "
               "its end before it and its start after it.",
               Numerics::kExact}));
  rules.push_back(std::make_unique<RotationAsSelect>(
      Identity{"rotation-as-select", "roll(x, i) = select(start, end of x, start of x)",
               "Chooses between both parts of a rotated array by position, which can be fused, "
               "instead of joining them.",
               Numerics::kExact}));
});

}  // namespace hlograph
