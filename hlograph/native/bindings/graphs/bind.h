// The parts of the extension hlograph._graphs.
#ifndef HLOGRAPH_NATIVE_BINDINGS_GRAPHS_BIND_H_
#define HLOGRAPH_NATIVE_BINDINGS_GRAPHS_BIND_H_

#include <nanobind/nanobind.h>

namespace hlograph {

void BindRefinement(nanobind::module_& m);
void BindAttention(nanobind::module_& m);
void BindDense(nanobind::module_& m);
void BindPooling(nanobind::module_& m);
void BindEncoder(nanobind::module_& m);
void BindHeads(nanobind::module_& m);
void BindTrees(nanobind::module_& m);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_BINDINGS_GRAPHS_BIND_H_
