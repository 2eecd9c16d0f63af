// Binds the heads of an actor-critic.
#include "hlograph/native/kernels/heads.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"
#include "hlograph/native/kernels/dense.h"
#include "hlograph/native/kernels/lanes.h"

namespace hlograph {
namespace {

Head HeadOf(const In<float, 2>& hidden, const In<float, 1>& hidden_bias, const In<float, 2>& output,
            const In<float, 1>& output_bias) {
  Expect(hidden.shape(0) % kLanes == 0, "the width of a head must be a multiple of 8");
  Expect(output.shape(1) == hidden.shape(0), "layers of a head must follow each other");
  return {Dense(hidden, hidden_bias), Dense(output, output_bias)};
}

void Apply(const Head& head, const In<float, 2>& rows, Out<float, 2> out) {
  nb::gil_scoped_release release;
  const HeadInput input = {rows.data(), nullptr, Size(rows, 0), Size(rows, 1)};
  Expect(head.hidden.inputs() <= input.columns, "rows must be as wide as what the head sees");
  Expect(HasShape(out, input.count, head.output.outputs()), "a result of the wrong shape");
  ApplyHead(head, input, out.data());
}

void Evaluate(const Head& policy, const Head& value, const In<float, 2>& rows,
              const In<bool, 2>& mask, float masked, Out<float, 2> log_probs,
              Out<float, 2> values) {
  nb::gil_scoped_release release;
  const HeadInput input = {rows.data(), mask.data(), Size(rows, 0), Size(rows, 1)};
  const int64_t actions = policy.output.outputs();
  Expect(policy.hidden.inputs() <= input.columns && value.hidden.inputs() <= input.columns,
         "rows must be as wide as what the heads see");
  Expect(actions >= 1 && HasShape(mask, input.count, actions), "a mask of the wrong shape");
  Expect(HasShape(log_probs, input.count, actions) &&
             HasShape(values, input.count, value.output.outputs()),
         "results of the wrong shape");
  ApplyHead(policy, input, log_probs.data());
  LogSoftmax(input, actions, masked, log_probs.data());
  ApplyHead(value, input, values.data());
}

}  // namespace

void BindHeads(nb::module_& m) {
  nb::class_<Head>(m, "Head")
      .def(nb::new_(&HeadOf), nb::arg("hidden"), nb::arg("hidden_bias"), nb::arg("output"),
           nb::arg("output_bias"))
      .def("apply", &Apply, nb::arg("rows"), nb::arg("out"));
  m.def("evaluate_heads", &Evaluate, nb::arg("policy"), nb::arg("value"), nb::arg("rows"),
        nb::arg("mask"), nb::arg("masked"), nb::arg("log_probs"), nb::arg("values"));
}

}  // namespace hlograph
