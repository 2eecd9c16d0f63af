// What dce and cse would find in a graph.
#ifndef HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_
#define HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/graph/graph.h"

namespace hlograph {

// Sets Trait::kDead, Trait::kDuplicate, and Trait::kHasSideEffect of what calls a
// computation with side effects. `first_edge` as for AddTraits.
void AddRedundancyTraits(const std::vector<int64_t>& first_edge, GraphColumns& columns);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_
