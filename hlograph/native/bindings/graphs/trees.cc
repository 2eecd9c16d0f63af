// Binds sums of decision trees.
#include "hlograph/native/kernels/trees.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"

namespace hlograph {
namespace {

Trees TreesOf(const In<int32_t, 1>& feature, const In<double, 1>& threshold,
              const In<int32_t, 2>& children, const In<double, 1>& leaves,
              const In<int32_t, 1>& roots, int64_t features) {
  const int64_t size = Size(feature, 0);
  Expect(Size(threshold, 0) == size && HasShape(children, size, 2),
         "a branch has a feature, a threshold and two children");
  std::vector<Branch> branches;
  branches.reserve(size);
  for (int64_t n = 0; n < size; ++n) {
    branches.push_back({threshold.data()[n], feature.data()[n], children.data()[2 * n],
                        children.data()[2 * n + 1]});
  }
  return Trees(std::move(branches), {leaves.data(), leaves.data() + Size(leaves, 0)},
               {roots.data(), roots.data() + Size(roots, 0)}, features);
}

void SumLeaves(const Trees& trees, const In<double, 2>& rows, Out<double, 1> out) {
  nb::gil_scoped_release release;
  Expect(Size(rows, 1) == trees.features(), "rows must have as many features as the trees know");
  Expect(Size(out, 0) == Size(rows, 0), "results of the wrong shape");
  trees.Sum(rows.data(), Size(rows, 0), out.data());
}

}  // namespace

void BindTrees(nb::module_& m) {
  nb::class_<Trees>(m, "Trees")
      .def(nb::new_(&TreesOf), nb::arg("feature"), nb::arg("threshold"), nb::arg("children"),
           nb::arg("leaves"), nb::arg("roots"), nb::arg("features"))
      .def("sum", &SumLeaves, nb::arg("rows"), nb::arg("out"));
}

}  // namespace hlograph
