// The extension hlograph._graphs: operations on graphs that are given as arrays.
// It links no XLA, so it loads at once and works where tensorflow-cpu is missing.
#include <nanobind/nanobind.h>

#include "hlograph/native/bindings/graphs/bind.h"

NB_MODULE(_graphs, m) {
  hlograph::BindRefinement(m);
  hlograph::BindAttention(m);
  hlograph::BindPooling(m);
  hlograph::BindDense(m);
  hlograph::BindEncoder(m);
  hlograph::BindHeads(m);
  hlograph::BindTrees(m);
}
