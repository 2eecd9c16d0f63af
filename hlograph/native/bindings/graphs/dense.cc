// Binds fully connected layers.
#include "hlograph/native/kernels/dense.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"

namespace hlograph {
namespace {

void Apply(const DenseLayer& layer, const In<float, 2>& rows, Out<float, 2> out) {
  nb::gil_scoped_release release;
  Expect(Size(rows, 1) == layer.inputs(), "rows must be as wide as the layer's input");
  Expect(HasShape(out, Size(rows, 0), layer.outputs()), "results of the wrong shape");
  layer.Apply(rows.data(), Size(rows, 1), Size(rows, 0), out.data());
}

}  // namespace

void BindDense(nb::module_& m) {
  nb::class_<DenseLayer>(m, "DenseLayer")
      .def(nb::new_(&Dense), nb::arg("weight"), nb::arg("bias"))
      .def_prop_ro("outputs", &DenseLayer::outputs)
      .def("apply", &Apply, nb::arg("rows"), nb::arg("out"));
}

}  // namespace hlograph
