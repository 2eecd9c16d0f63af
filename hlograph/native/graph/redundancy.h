// Finds the nodes of a graph that dce and cse would remove.
#ifndef HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_
#define HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/graph/graph.h"

namespace hlograph {

// Sets Trait::kDead, Trait::kDuplicate, and Trait::kHasSideEffect of instructions that call
// computations with side effects. `first_edge` as for AddTraits.
void AddRedundancyTraits(const std::vector<int64_t>& first_edge, GraphColumns& columns);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_
