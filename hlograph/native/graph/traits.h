// Properties of instructions that rewrites look for, as bits.
#ifndef HLOGRAPH_NATIVE_GRAPH_TRAITS_H_
#define HLOGRAPH_NATIVE_GRAPH_TRAITS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace hlograph {

struct Graph;

// The order is part of the HloGraph file format: hlograph/graph/traits.py lists the
// names in the same order with their meanings, and a test compares the two.
enum class Trait : uint8_t {
  kDynamic,
  kHasSideEffect,
  kHasControl,
  kIsSharded,
  kDead,
  kDuplicate,
  kLikeOperand,
  kUnitDimsOnly,
  kSameOpcodeAsOperand,
  kRepeatedOperand,
  kOneElementOperand,
  kConstantOperands,
  kConstantIndices,
  kZeroOperand,
  kOneOperand,
  kUniform,
  kZero,
  kOne,
  kPrependsDims,
  kSwapsMinorDims,
  kNarrows,
  kStrided,
  kDilated,
  kPadded,
  kGrouped,
  kBatched,
  kTouchesMinorDim,
  kUniqueIndices,
  kSortedIndices,
  kComparesLess,
  kComparesGreater,
  kComparesEqual,
  kCount,
};
static_assert(static_cast<int>(Trait::kCount) <= 32, "traits are bits of a uint32");

constexpr uint32_t Bit(Trait trait) { return 1u << static_cast<int>(trait); }
constexpr uint32_t BitIf(Trait trait, bool condition) { return condition ? Bit(trait) : 0; }

inline constexpr std::array<const char*, static_cast<size_t>(Trait::kCount)> kTraitNames = {
    "dynamic",
    "has_side_effect",
    "has_control",
    "is_sharded",
    "dead",
    "duplicate",
    "like_operand",
    "unit_dims_only",
    "same_opcode_as_operand",
    "repeated_operand",
    "one_element_operand",
    "constant_operands",
    "constant_indices",
    "zero_operand",
    "one_operand",
    "uniform",
    "zero",
    "one",
    "prepends_dims",
    "swaps_minor_dims",
    "narrows",
    "strided",
    "dilated",
    "padded",
    "grouped",
    "batched",
    "touches_minor_dim",
    "unique_indices",
    "sorted_indices",
    "compares_less",
    "compares_greater",
    "compares_equal",
};

// Adds the traits of nodes that take a look at their operands, and kHasControl, to those that nodes
// have by themselves.
void AddTraits(Graph& graph);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_TRAITS_H_
