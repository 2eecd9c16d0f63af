// Sums and products of arrays larger than the cache, computed with these arrays for one block of a
// dimension after the other: sums over all pairs, attention, products of many rows.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/axis_blocks.h"
#include "hlograph/native/rewrites/forms/block_loop.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kBlockBytes = int64_t{1} << 20;  // of the largest array of a block
constexpr int64_t kLargeBytes = 2 * kBlockBytes;   // of an array that does not stay in the cache
constexpr int kContractionReach = 24;              // hops to what is computed in blocks
constexpr int64_t kMostIndices = int64_t{1} << 30;

int64_t StoredBytes(const Instruction* value) {
  return xla::ShapeUtil::ByteSizeOfElements(value->shape());
}

bool IsSumOrProduct(const Instruction* value) {
  return value->opcode() == Opcode::kDot || value->opcode() == Opcode::kReduce;
}

// Finds what is computed in blocks of one dimension of a contraction's result: large arrays, and
// what follows from them.
class BlockFinder {
 public:
  BlockFinder(const Instruction* place, int64_t dimension, ValueSet outside)
      : place_(place), outside_(std::move(outside)) {
    Add(place, dimension, 0);
  }

  const BlockedValues& blocked() const { return blocked_; }

  int64_t LargestBytes() const {
    int64_t bytes = 0;
    for (const auto& [value, dimensions] : blocked_) {
      if (value != place_) bytes = std::max(bytes, StoredBytes(value));
    }
    return bytes;
  }

  // Returns true if some contraction but the last one is of the blocks, and the arrays that are
  // read take less memory than those that need not be stored.
  bool SavesMemory() const {
    bool contracts = false;
    ValueSet read;
    int64_t stored = LargestBytes();
    if (stored < std::max(kLargeBytes, StoredBytes(place_))) return false;
    for (const auto& [value, dimensions] : blocked_) {
      if (value != place_ && IsSumOrProduct(value)) {
        contracts = true;
        stored += StoredBytes(value);
      }
      for (const Instruction* operand : value->operands()) {
        if (blocked_.count(operand) == 0) read.insert(operand);
      }
    }
    int64_t bytes = 0;
    for (const Instruction* value : read) bytes += StoredBytes(value);
    return contracts && bytes < stored;
  }

  // The values of the blocks that others need as well, where it takes long to compute them twice.
  ValueSet FindShared() const {
    ValueSet shared;
    const bool has_dot = absl::c_any_of(blocked_, [&](const auto& entry) {
      return entry.first != place_ && entry.first->opcode() == Opcode::kDot;
    });
    if (!has_dot) return shared;
    for (const auto& [value, dimensions] : blocked_) {
      if (value == place_ || value->opcode() == Opcode::kBroadcast) continue;
      const bool inside = !value->IsRoot() && absl::c_all_of(value->users(), [&](const auto* user) {
        return blocked_.count(user) > 0;
      });
      if (!inside) shared.insert(value);
    }
    return shared;
  }

 private:
  // Returns true if the blocks of a value are computed, false if they are read.
  bool Add(const Instruction* value, int64_t dimension, int hops) {
    if (hops > kContractionReach || outside_.count(value) > 0) return false;
    const auto [entry, is_new] = added_.insert({{value, dimension}, false});
    if (!is_new) return entry->second;
    const auto dimensions = OperandDimensions(value, dimension);
    if (!dimensions.has_value()) return false;
    bool computed = value != place_ && StoredBytes(value) >= kLargeBytes;
    for (size_t i = 0; i < dimensions->size(); ++i) {
      if ((*dimensions)[i] == kWholeArray) continue;
      computed |= Add(value->operand(i), (*dimensions)[i], hops + 1);
    }
    if (computed) blocked_[value].insert(dimension);
    return entry->second = computed;
  }

  const Instruction* place_;
  ValueSet outside_;
  std::map<std::pair<const Instruction*, int64_t>, bool> added_;
  BlockedValues blocked_;
};

struct ContractionBlocks {
  BlockedValues blocked;
  int64_t dimension = 0;
  int64_t count = 0;
  int64_t size = 0;
  int64_t bytes = 0;  // of the largest array, for one index
};

std::optional<ContractionBlocks> FindContractionAlong(const Instruction* place, int64_t dimension) {
  const int64_t count = place->shape().dimensions(dimension);
  if (count < 2 || count > kMostIndices) return std::nullopt;
  const auto finder = FindUnshared([&](const ValueSet& outside) {
    std::optional<BlockFinder> blocks(std::in_place, place, dimension, outside);
    if (!blocks->SavesMemory()) blocks.reset();
    return blocks;
  });
  if (!finder.has_value()) return std::nullopt;
  const int64_t bytes = finder->LargestBytes() / count;
  const int64_t size =
      std::clamp(kBlockBytes / std::max(bytes, int64_t{1}), int64_t{1}, (count + 1) / 2);
  return ContractionBlocks{finder->blocked(), dimension, count, size, bytes};
}

// The first dimension of which blocks are small enough, or else that of the smallest.
std::optional<ContractionBlocks> FindContractionBlocks(const Instruction* place) {
  if (!IsSumOrProduct(place) || !IsPlain(place)) return std::nullopt;
  std::optional<ContractionBlocks> best;
  for (int64_t i = 0; i < RankOf(place); ++i) {
    auto blocks = FindContractionAlong(place, i);
    if (!blocks.has_value()) continue;
    if (blocks->bytes <= kBlockBytes) return blocks;
    if (!best.has_value() || blocks->bytes < best->bytes) best = std::move(blocks);
  }
  return best;
}

class ContractionInBlocks : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kContractionReach + 1, .users = 0}; }

 protected:
  bool Matches(const Instruction* place) const override {
    return FindContractionBlocks(place).has_value();
  }

  Instruction* Build(Instruction* place) const override {
    const ContractionBlocks blocks = *FindContractionBlocks(place);
    BlockLoop loop(place, blocks.count, blocks.size, blocks.blocked);
    Instruction* const block = loop.Copy(place, blocks.dimension);
    const int64_t number = loop.AddResult(block, blocks.dimension);
    return Builder(place).Element(loop.Finish(), number);
  }
};

}  // namespace

const RuleTopic kContractionBlockForms(340, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ContractionInBlocks>(Identity{
      "contraction-in-blocks", "Σ f(x) = [Σ f(x[b])]",
      "Computes a sum or product of arrays that are larger than the cache, and these arrays, for "
      "one block of a dimension after the other, as of all pairs or of attention."}));
});

}  // namespace hlograph
