#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "hlograph/native/bindings/bind.h"
#include "hlograph/native/passes/registry.h"

namespace nb = nanobind;

namespace hlograph {

void BindPasses(nb::module_& m) {
  nb::class_<Pass>(m, "Pass", "One entry of the registry: XLA pass objects with fixed options.")
      .def_ro("name", &Pass::name)
      .def_ro("xla_class", &Pass::xla_class)
      .def_ro("description", &Pass::description)
      .def_ro("options", &Pass::options)
      .def_ro("requires_pass", &Pass::requires_pass)
      .def_ro("numerics", &Pass::numerics)
      .def_ro("acts_on", &Pass::acts_on);
  m.def(
      "registry",
      [] {
        nb::list passes;
        for (const Pass& pass : Registry()) {
          passes.append(nb::cast(&pass, nb::rv_policy::reference));
        }
        return nb::typed<nb::list, Pass>(passes);
      },
      "All passes, in the order of their action numbers.");
}

}  // namespace hlograph
