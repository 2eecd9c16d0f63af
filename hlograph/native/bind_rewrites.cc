#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hlograph/native/bind.h"
#include "hlograph/native/errors.h"
#include "hlograph/native/module.h"
#include "hlograph/native/rewrite_rules.h"
#include "hlograph/native/rewrites.h"

namespace nb = nanobind;

namespace hlograph {
namespace {

std::vector<Rewrite> GetRewrites(const Module& module, const std::vector<const Rule*>& rules,
                                 bool alone) {
  absl::StatusOr<std::vector<Rewrite>> found;
  {
    nb::gil_scoped_release release;
    found = module.Rewrites(rules, alone);
  }
  return ValueOrThrow(std::move(found), ErrorKind::kPass);
}

std::vector<Rewrite> Propose(const Module& module, const std::vector<const Rule*>& rules) {
  nb::gil_scoped_release release;
  return module.Read([&](const xla::HloModule& hlo) { return ProposeRewrites(hlo, rules); });
}

bool Apply(Module& module, const Rule& rule, const std::string& instruction,
           const std::string& other) {
  absl::StatusOr<bool> applied;
  {
    nb::gil_scoped_release release;
    applied = module.Apply(rule, instruction, other);
  }
  return ValueOrThrow(std::move(applied), ErrorKind::kPass);
}

}  // namespace

void BindRewrites(nb::module_& m) {
  nb::class_<Rule>(m, "Rule", "What is done at one place: XLA's own code, or an identity.")
      .def_prop_ro("name", &Rule::name)
      .def_prop_ro("xla_code", &Rule::xla_code)
      .def_prop_ro("equation", &Rule::equation)
      .def_prop_ro("description", &Rule::description)
      .def_prop_ro("for_target", &Rule::for_target);
  nb::class_<Rewrite>(m, "Rewrite", "A rule at a place, and what it would change.")
      .def_prop_ro("rule", [](const Rewrite& rewrite) { return rewrite.rule->name(); })
      .def_ro("instruction", &Rewrite::instruction)
      .def_ro("other", &Rewrite::other)
      .def_ro("added", &Rewrite::added)
      .def_ro("removed", &Rewrite::removed)
      .def_ro("flops", &Rewrite::flops)
      .def_ro("bytes", &Rewrite::bytes)
      .def_ro("gone", &Rewrite::gone);
  m.def(
      "rules",
      [] {
        nb::list rules;
        for (const RulePtr& rule : Rules()) {
          rules.append(nb::cast(rule.get(), nb::rv_policy::reference));
        }
        return nb::typed<nb::list, Rule>(rules);
      },
      "All rules, in the order of their numbers.");
  m.def("rewrites", &GetRewrites, nb::arg("module"), nb::arg("rules"), nb::arg("alone"),
        "The rewrites by these rules that apply now.");
  m.def("propose", &Propose, nb::arg("module"), nb::arg("rules"),
        "What rewrites() tries, untried: rules and places alone.");
  m.def("apply", &Apply, nb::arg("module"), nb::arg("rule"), nb::arg("instruction"),
        nb::arg("other"), "Applies one; whether it applies.");
}

}  // namespace hlograph
