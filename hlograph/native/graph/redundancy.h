// Finds the nodes of a graph that dce and cse would remove.
#ifndef HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_
#define HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_

namespace hlograph {

struct Graph;

// Adds Trait::kDead, Trait::kDuplicate, and Trait::kHasSideEffect of instructions that call
// computations with side effects.
void AddRedundancyTraits(Graph& graph);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_REDUNDANCY_H_
