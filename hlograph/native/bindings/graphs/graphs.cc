// The extension hlograph._graphs: what is done with graphs once they are arrays.
// It links no XLA, so it loads at once and works where tensorflow-cpu is missing.
#include <nanobind/nanobind.h>

#include "hlograph/native/bindings/graphs/bind.h"

NB_MODULE(_graphs, m) {
  hlograph::BindRefinement(m);
  hlograph::BindAttention(m);
  hlograph::BindPooling(m);
}
