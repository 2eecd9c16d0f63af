// Loops that compute each index of a dimension alone, and what they read, in blocks of it.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_BLOCKS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_BLOCKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/block_loop.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// Hops to operands that FindLoopBlocks reads.
inline constexpr int kBlockReach = 12;

inline constexpr int64_t kUnusedElement = -2;  // of a loop's state, in a block

// The instructions that are computed block by block, outside of loops.
struct Region {
  std::map<const Instruction*, std::vector<int64_t>> loops;  // dimension of each element
  BlockedValues others;
};

// A loop, and what comes before it, computed in blocks of `size` of `count` indices.
struct LoopBlocks {
  Region region;
  std::vector<int64_t> used;  // elements of the loop's result that have users
  int64_t count = 0;
  int64_t size = 0;
  bool is_apart = false;  // it reads arrays in another order than they are stored in
};

// None if the loop has no dimension whose indices are independent, or its arrays are small.
std::optional<LoopBlocks> FindLoopBlocks(const Instruction* loop);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_BLOCKS_H_
