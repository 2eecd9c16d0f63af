// Binds fully connected layers after layer normalisation.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"
#include "hlograph/native/kernels/projection.h"

namespace hlograph {
namespace {

void Forward(const Projection& projection, const In<float, 2>& rows, int threads,
             Out<float, 2> out) {
  nb::gil_scoped_release release;
  Expect(Size(rows, 1) == projection.dense.inputs(), "rows must be as wide as the layer's input");
  Expect(HasShape(out, Size(rows, 0), projection.dense.outputs()), "results of the wrong shape");
  Project(projection, rows.data(), Size(rows, 0), threads, out.data());
}

void Backward(const Projection& projection, const In<float, 2>& rows, const In<float, 2>& gradient,
              int threads, Out<float, 2> to_rows, Out<float, 1> to_scale, Out<float, 1> to_shift,
              Out<float, 2> to_weight, Out<float, 1> to_bias) {
  nb::gil_scoped_release release;
  const int64_t count = Size(rows, 0), inputs = projection.dense.inputs();
  const int64_t outputs = projection.dense.outputs();
  Expect(Size(rows, 1) == inputs, "rows must be as wide as the layer's input");
  Expect(HasShape(gradient, count, outputs) && HasShape(to_rows, count, inputs) &&
             Size(to_scale, 0) == inputs && Size(to_shift, 0) == inputs &&
             HasShape(to_weight, outputs, inputs) && Size(to_bias, 0) == outputs,
         "gradients of the wrong shape");
  ProjectBackward(
      projection, rows.data(), count, threads, gradient.data(),
      {to_rows.data(), to_scale.data(), to_shift.data(), to_weight.data(), to_bias.data()});
}

}  // namespace

void BindDense(nb::module_& m) {
  nb::class_<Projection>(m, "Projection")
      .def(nb::new_(&ProjectionOf), nb::arg("scale"), nb::arg("shift"), nb::arg("epsilon"),
           nb::arg("weight"), nb::arg("bias"))
      .def("forward", &Forward, nb::arg("rows"), nb::arg("threads"), nb::arg("out"))
      .def("backward", &Backward, nb::arg("rows"), nb::arg("gradient"), nb::arg("threads"),
           nb::arg("to_rows"), nb::arg("to_scale"), nb::arg("to_shift"), nb::arg("to_weight"),
           nb::arg("to_bias"));
}

}  // namespace hlograph
