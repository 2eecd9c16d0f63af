// Trees of combinations that compute a scan, as JAX writes associative scans.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_SCAN_TREES_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_SCAN_TREES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// A component of the tuples that a scan combines.
struct ScanComponent {
  const Instruction* elements = nullptr;  // the array that is scanned
  int64_t dimension = 0;                  // along which it is scanned
  const Instruction* combined = nullptr;  // elements 0, 2, ... combined with 1, 3, ...
  const Instruction* result = nullptr;    // of the scan; null if nothing uses it
};

// A slice that the combination of neighbours reads.
struct ScanOperand {
  size_t component = 0;
  bool is_later = false;  // elements 1, 3, ..., which come after what they are combined with
};

// A tree whose results at each index are all elements up to it, combined: for two elements, what
// `combined` of the components computes from `operands`. Nothing else reads what is inside.
struct ScanTree {
  int64_t length = 0;
  std::vector<ScanComponent> components;
  std::map<const Instruction*, ScanOperand> operands;
  std::set<const Instruction*> inside;
};

// None unless the instruction is a result of a tree over at least eight elements, of which no other
// tree is a level.
std::optional<ScanTree> FindScanTree(const Instruction* result);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_SCAN_TREES_H_
