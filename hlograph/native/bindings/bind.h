// Registers the bindings, one function for each topic.
#ifndef HLOGRAPH_NATIVE_BINDINGS_BIND_H_
#define HLOGRAPH_NATIVE_BINDINGS_BIND_H_

#include <nanobind/nanobind.h>

namespace hlograph {

void BindErrors(nanobind::module_& m);
void BindExecute(nanobind::module_& m);
void BindGraph(nanobind::module_& m);
void BindModule(nanobind::module_& m);
void BindPasses(nanobind::module_& m);
void BindRewrites(nanobind::module_& m);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_BINDINGS_BIND_H_
