#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <string>
#include <vector>

#include "hlograph/native/bindings/bind.h"
#include "hlograph/native/bindings/errors.h"
#include "hlograph/native/module/names.h"
#include "hlograph/native/module/vocabulary.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace nb = nanobind;

namespace hlograph {

void BindPasses(nb::module_& m) {
  nb::class_<Pass>(m, "Pass", "One entry of the registry: XLA pass objects with fixed options.")
      .def_ro("name", &Pass::name)
      .def_ro("xla_class", &Pass::xla_class)
      .def_ro("description", &Pass::description)
      .def_ro("options", &Pass::options)
      .def_ro("requires_pass", &Pass::requires_pass)
      .def_prop_ro("numerics", [](const Pass& pass) { return std::string(NameOf(pass.numerics)); })
      .def_prop_ro("acts_on", [](const Pass& pass) {
        std::vector<std::string> names;
        for (xla::HloOpcode opcode : pass.acts_on) {
          names.push_back(OpcodeNames()[static_cast<size_t>(opcode)]);
        }
        return names;
      });
  m.def(
      "registry",
      [] {
        ThrowIfError(CheckPasses(), ErrorKind::kHlo);
        nb::list passes;
        for (const Pass& pass : Registry()) {
          passes.append(nb::cast(&pass, nb::rv_policy::reference));
        }
        return nb::typed<nb::list, Pass>(passes);
      },
      "All passes, in the order of their action numbers. Raises HloError if a name is misspelt.");
  m.def(
      "check_names",
      [](const std::string& noun, const std::vector<NamedEntry>& entries) {
        ThrowIfError(CheckNames(noun, entries), ErrorKind::kHlo);
      },
      nb::arg("noun"), nb::arg("entries"),
      "Raises HloError if two entries have one name, or if one refers to a name that none has.");
}

}  // namespace hlograph
