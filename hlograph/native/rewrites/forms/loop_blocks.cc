#include "hlograph/native/rewrites/forms/loop_blocks.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kCacheBytes = int64_t{1} << 20;  // that a block's states may take
constexpr int64_t kLeastRowBytes = 1024;  // of an iteration: it takes as long to start smaller ones
constexpr int64_t kSmallFactor = 256;     // elements of an array that products of all indices share
constexpr int64_t kLineBytes = 64;
constexpr int64_t kMostSkipped = 4;  // at both ends of what iterations read
constexpr int64_t kLeastRun = 16;    // neighbouring elements of a block
constexpr int64_t kLargestAxis = int64_t{1} << 30;
constexpr size_t kMostElements = 32;   // of a loop's state
constexpr size_t kLargestBody = 1000;  // of a loop's body

constexpr int kInitialHops = 2;  // from a loop to the initial value of an element
constexpr int kLoopHops = 3;     // from an element of a loop's result to what the loop counts from

// A value of an iteration of a loop, and the dimension of which a block of it is needed. Loops may
// have the same body.
using Need = std::tuple<const Instruction*, const Instruction*, int64_t>;

// Returns true for a product with a large array that all indices share, which is faster as it is.
bool SharesLargeFactor(const Instruction* value, const std::vector<int64_t>& dimensions) {
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] == kWholeArray && value->opcode() == Opcode::kDot &&
        SizeOf(value->operand(i)) > kSmallFactor) {
      return true;
    }
  }
  return false;
}

int64_t BytesOf(const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOfElements(shape); }

// Finds the region of one axis, which is a dimension of `count` indices of an element of a loop.
class RegionFinder {
 public:
  RegionFinder(const Instruction* loop, int64_t count, ValueSet outside)
      : place_(loop), count_(count), outside_(std::move(outside)) {}

  // Adds the block of an element; false if iterations mix the indices of the dimension.
  bool Add(int64_t element, int64_t dimension) { return AddElement(place_, element, dimension); }

  int64_t DimensionOf(int64_t element) const { return region_.loops.at(place_)[element]; }
  const Region& region() const { return region_; }

  // Instructions that cannot be in the region, or are used elsewhere too.
  ValueSet FindShared() const {
    if (rejected_ != nullptr) return {rejected_};
    ValueSet shared;
    for (const auto& [value, dimensions] : region_.others) {
      if (!IsCheap(value) && !IsOnlyInside(value)) shared.insert(value);
    }
    for (const auto& [loop, dimensions] : region_.loops) {
      if (loop == place_) continue;
      const bool inside = absl::c_all_of(loop->users(), [&](const Instruction* user) {
        return ElementOf(user, loop) >= 0 && IsOnlyInside(user);
      });
      if (loop->IsRoot() || !inside) shared.insert(loop);
    }
    return shared;
  }

  // Bytes of the states of all loops, for all indices; and of those of one iteration.
  std::pair<int64_t, int64_t> Bytes() const {
    int64_t bytes = 0, row = 0;
    for (const auto& [loop, dimensions] : region_.loops) {
      const int64_t trips = FindCountedLoop(loop)->trips;
      for (size_t i = 0; i < dimensions.size(); ++i) {
        if (dimensions[i] < 0) continue;
        const int64_t own = BytesOf(loop->shape().tuple_shapes(i));
        bytes += own;
        row += own / trips;
      }
    }
    return {bytes, row};
  }

  // Returns true if what the loops read is transposed before, or the numbers of an iteration are so
  // far apart that the cache lines of all of them do not stay in the cache until the next one.
  bool IsApart() const {
    for (const auto& [value, dimensions] : region_.others) {
      if (value->opcode() == Opcode::kTranspose) return true;
    }
    int64_t bytes = 0;
    for (const auto& [loop, dimensions] : region_.loops) {
      const int64_t trips = FindCountedLoop(loop)->trips;
      for (size_t i = 0; i < dimensions.size(); ++i) {
        const xla::Shape& shape = loop->shape().tuple_shapes(i);
        if (dimensions[i] < 0 || shape.dimensions().size() < 2) continue;
        const int64_t last = shape.dimensions().back();  // as many as iterations, or a few more
        if (last < trips || last > trips + kMostSkipped) continue;
        bytes += xla::ShapeUtil::ElementsIn(shape) / last * kLineBytes;
      }
    }
    return bytes > kCacheBytes;
  }

 private:
  // Computing it twice takes less than storing it.
  static bool IsCheap(const Instruction* value) {
    return value->opcode() == Opcode::kBroadcast || IsRearrangement(value);
  }

  bool IsOnlyInside(const Instruction* value) const {
    return !value->IsRoot() && absl::c_all_of(value->users(), [&](const Instruction* user) {
      return region_.others.count(user) > 0 || IsState(user, value);
    });
  }

  // Returns true for the initial state of a loop of the region, of which it takes blocks.
  bool IsState(const Instruction* tuple, const Instruction* part) const {
    if (tuple->opcode() != Opcode::kTuple || tuple->user_count() != 1) return false;
    const auto entry = region_.loops.find(tuple->users().front());
    if (entry == region_.loops.end()) return false;
    for (int64_t i = 0; i < tuple->operand_count(); ++i) {
      if (tuple->operand(i) == part && entry->second[i] == kWholeArray) return false;
    }
    return true;
  }

  bool AddElement(const Instruction* loop, int64_t element, int64_t dimension, int hops = 0) {
    auto& dimensions = region_.loops[loop];
    if (dimensions.empty()) {
      const auto counted = FindCountedLoop(loop);
      if (!counted.has_value() || loop->operand(0)->opcode() != Opcode::kTuple ||
          counted->results.size() > kMostElements ||
          loop->while_body()->instruction_count() > static_cast<int64_t>(kLargestBody)) {
        return false;
      }
      dimensions.assign(counted->size(), kUnusedElement);
      const Instruction* const condition = loop->while_condition()->root_instruction();
      if (!AddInside(loop, condition, kWholeArray, hops)) return false;
    }
    if (dimensions[element] != kUnusedElement) return dimensions[element] == dimension;
    const xla::Shape& shape = loop->shape().tuple_shapes(element);
    if (dimension != kWholeArray && (dimension >= static_cast<int64_t>(shape.dimensions().size()) ||
                                     shape.dimensions(dimension) != count_)) {
      return false;
    }
    dimensions[element] = dimension;
    if (dimension != kWholeArray) {
      AddOutside(loop->operand(0)->operand(element), dimension, hops + kInitialHops);
    }
    const Instruction* const result = loop->while_body()->root_instruction()->operand(element);
    return AddInside(loop, result, dimension, hops);
  }

  // Adds what an iteration computes a value from.
  bool AddInside(const Instruction* loop, const Instruction* value, int64_t dimension, int hops) {
    value = Forwarded(value);
    const int64_t element = ElementOf(value, value->parent()->parameter_instruction(0));
    if (element >= 0) return AddElement(loop, element, dimension, hops);
    if (!inside_.insert({loop, value, dimension}).second) return true;
    const auto dimensions = OperandDimensions(value, dimension);
    if (!dimensions.has_value() ||
        (dimension != kWholeArray && SharesLargeFactor(value, *dimensions))) {
      return false;
    }
    for (size_t i = 0; i < dimensions->size(); ++i) {
      if (!AddInside(loop, value->operand(i), (*dimensions)[i], hops)) return false;
    }
    return true;
  }

  // Adds a value before the loops if it can be computed in blocks: they are read of it otherwise.
  // A loop of the region has all elements that the region takes of it, or is not in the region.
  void AddOutside(const Instruction* value, int64_t dimension, int hops) {
    if (outside_.count(value) > 0) return;
    const bool is_far = hops + kLoopHops > kBlockReach;
    if (value->opcode() == Opcode::kGetTupleElement) {
      const Instruction* const loop = value->operand(0);
      if (loop->opcode() != Opcode::kWhile || outside_.count(loop) > 0) return;
      const int64_t element = ElementOf(value, loop);
      if (is_far || element < 0 || !AddElement(loop, element, dimension, hops + 1)) {
        rejected_ = loop;
      }
      return;
    }
    if (is_far || (!IsCheap(value) && !IsPointwise(value))) return;
    const auto dimensions = OperandDimensions(value, dimension);
    if (!dimensions.has_value() || !region_.others[value].insert(dimension).second) return;
    for (size_t i = 0; i < dimensions->size(); ++i) {
      if ((*dimensions)[i] == kWholeArray) continue;
      AddOutside(value->operand(i), (*dimensions)[i], hops + 1);
    }
  }

  const Instruction* place_;
  int64_t count_;
  ValueSet outside_;
  const Instruction* rejected_ = nullptr;  // a loop before `place_` that cannot be in the region
  Region region_;
  std::set<Need> inside_;
};

// The elements of a loop's result that are taken out; none if it is used whole.
std::optional<std::vector<int64_t>> UsedElements(const Instruction* loop) {
  std::set<int64_t> used;
  if (loop->IsRoot()) return std::nullopt;
  for (const Instruction* user : loop->users()) {
    const int64_t element = ElementOf(user, loop);
    if (element < 0) return std::nullopt;
    if (user->user_count() > 0 || user->IsRoot()) used.insert(element);
  }
  return std::vector<int64_t>(used.begin(), used.end());
}

// Adds all elements that are used, some along the only dimension that fits.
std::optional<RegionFinder> AddUsed(RegionFinder finder, const Instruction* loop,
                                    const std::vector<int64_t>& used, int64_t count) {
  for (int64_t element : used) {
    if (finder.DimensionOf(element) >= 0) continue;
    if (finder.DimensionOf(element) == kWholeArray) return std::nullopt;
    const auto& sizes = loop->shape().tuple_shapes(element).dimensions();
    bool added = false;
    for (size_t i = 0; i < sizes.size() && !added; ++i) {
      RegionFinder other = finder;
      if (sizes[i] != count || !other.Add(element, static_cast<int64_t>(i))) continue;
      finder = other;
      added = true;
    }
    if (!added) return std::nullopt;
  }
  return finder;
}

std::optional<LoopBlocks> FindAlong(const Instruction* loop, const std::vector<int64_t>& used,
                                    int64_t element, int64_t dimension) {
  LoopBlocks blocks;
  blocks.used = used;
  const auto sizes = loop->shape().tuple_shapes(element).dimensions();
  const int64_t inner = ProductOf(sizes.subspan(dimension + 1));
  blocks.count = sizes[dimension];
  if (blocks.count < 2 || blocks.count > kLargestAxis) return std::nullopt;
  const auto finder = FindUnshared([&](const ValueSet& outside) -> std::optional<RegionFinder> {
    RegionFinder start(loop, blocks.count, outside);
    if (!start.Add(element, dimension)) return std::nullopt;
    return AddUsed(std::move(start), loop, used, blocks.count);
  });
  if (!finder.has_value()) return std::nullopt;
  const auto [bytes, row] = finder->Bytes();
  if (bytes <= kCacheBytes) return std::nullopt;  // as those of a block
  blocks.size =
      std::min(kCacheBytes / std::max(bytes / blocks.count, int64_t{1}), (blocks.count + 1) / 2);
  if (blocks.size * inner < kLeastRun || blocks.size < 1 ||
      row / blocks.count * blocks.size < kLeastRowBytes) {
    return std::nullopt;
  }
  blocks.is_apart = finder->IsApart();
  blocks.region = finder->region();
  return blocks;
}

}  // namespace

std::optional<LoopBlocks> FindLoopBlocks(const Instruction* loop) {
  if (loop->opcode() != Opcode::kWhile) return std::nullopt;
  const auto counted = FindCountedLoop(loop);
  if (!counted.has_value() || counted->trips < 2) return std::nullopt;
  const auto used = UsedElements(loop);
  if (!used.has_value() || used->empty()) return std::nullopt;
  const int64_t largest = *absl::c_max_element(*used, [&](int64_t first, int64_t second) {
    return BytesOf(loop->shape().tuple_shapes(first)) < BytesOf(loop->shape().tuple_shapes(second));
  });
  const auto rank = static_cast<int64_t>(loop->shape().tuple_shapes(largest).dimensions().size());
  for (int64_t i = 0; i < rank; ++i) {
    if (auto blocks = FindAlong(loop, *used, largest, i)) return blocks;
  }
  return std::nullopt;
}

}  // namespace hlograph
