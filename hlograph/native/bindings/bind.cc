#include "hlograph/native/bindings/bind.h"

#include <nanobind/nanobind.h>

NB_MODULE(_xla, m) {
  m.doc() = "XLA in process: modules, passes, graphs, cost, execution.";
  // The registry lives until the interpreter ends, which nanobind would report.
  nanobind::set_leak_warnings(false);
  m.attr("TENSORFLOW_VERSION") = HLOGRAPH_TENSORFLOW_VERSION;
  hlograph::BindErrors(m);
  hlograph::BindPasses(m);
  hlograph::BindRewrites(m);
  hlograph::BindModule(m);
  hlograph::BindGraph(m);
  hlograph::BindExecute(m);
}
