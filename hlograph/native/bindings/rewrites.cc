#include "hlograph/native/rewrites/rewrites.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/bindings/bind.h"
#include "hlograph/native/bindings/errors.h"
#include "hlograph/native/module/module.h"
#include "hlograph/native/module/work.h"
#include "hlograph/native/rewrites/rules.h"

namespace nb = nanobind;

namespace hlograph {
namespace {

std::vector<Rewrite> Propose(const Module& module, const std::vector<const Rule*>& rules) {
  nb::gil_scoped_release release;
  return module.Read([&](const xla::HloModule& hlo) { return ProposeRewrites(hlo, rules); });
}

std::vector<Rewrite> RewritesAnew(const Module& module, const std::vector<const Rule*>& rules,
                                  bool alone) {
  nb::gil_scoped_release release;
  return module.RewritesAnew(rules, /*shared_copies=*/!alone);
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

int64_t Sweep(Module& module, const Rule& rule, bool fewer) {
  absl::StatusOr<int64_t> count;
  {
    nb::gil_scoped_release release;
    count = module.Sweep(rule, fewer);
  }
  return ValueOrThrow(std::move(count), ErrorKind::kPass);
}

}  // namespace

void BindRewrites(nb::module_& m) {
  nb::class_<Rule>(m, "Rule", "Rewrite rule: XLA's code, or an identity, applied at one place.")
      .def_prop_ro("name", &Rule::name)
      .def_prop_ro("xla_code", &Rule::xla_code)
      .def_prop_ro("equation", &Rule::equation)
      .def_prop_ro("description", &Rule::description)
      .def_prop_ro("for_target",
                   [](const Rule& rule) { return rule.purpose() == Purpose::kTarget; })
      .def_prop_ro("for_time", [](const Rule& rule) { return rule.purpose() == Purpose::kTime; })
      .def_prop_ro("kernel", &Rule::kernel)
      .def_prop_ro("exact", [](const Rule& rule) { return rule.numerics() == Numerics::kExact; });
  nb::class_<Rewrite>(m, "Rewrite",
                      "A rule, the place where it applies, and the effect of applying it there.")
      .def_prop_ro("rule", [](const Rewrite& rewrite) { return rewrite.rule->name(); })
      .def_ro("instruction", &Rewrite::instruction)
      .def_ro("other", &Rewrite::other)
      .def_ro("added", &Rewrite::added)
      .def_ro("removed", &Rewrite::removed)
      .def_ro("flops", &Rewrite::flops)
      .def_ro("bytes", &Rewrite::bytes)
      .def_ro("work", &Rewrite::work)
      .def_ro("gone", &Rewrite::gone);
  m.def(
      "rules",
      [] {
        ThrowIfError(CheckRules(), ErrorKind::kHlo);
        nb::list rules;
        for (const RulePtr& rule : Rules()) {
          rules.append(nb::cast(rule.get(), nb::rv_policy::reference));
        }
        return nb::typed<nb::list, Rule>(rules);
      },
      "All rules, in the order of their numbers. Raises HloError if two have one name or "
      "position.");
  m.def("rewrites", &Module::Rewrites, nb::arg("module"), nb::arg("rules"),
        nb::call_guard<nb::gil_scoped_release>(),
        "Returns the rewrites by these rules that apply now.");
  m.def(
      "rewrites_anew", &RewritesAnew, nb::arg("module"), nb::arg("rules"), nb::arg("alone"),
      "The same, without using known outcomes; with alone=True each rewrite is tried on a copy of\n"
      "its own.");
  m.def("propose", &Propose, nb::arg("module"), nb::arg("rules"),
        "Returns the candidates of rewrites() without trying them: only rules and places are set.");
  m.def(
      "work_features",
      [] {
        std::vector<std::string> names;
        for (absl::string_view name : FeatureNames()) names.emplace_back(name);
        return names;
      },
      "Names of the features of work, in the order of their numbers.");
  m.def(
      "work",
      [](const Module& module) {
        nb::gil_scoped_release release;
        return module.Read([](const xla::HloModule& hlo) { return WorkOf(hlo).NotZero(); });
      },
      nb::arg("module"), "Returns the work of one run: features and their amounts.");
  m.def("apply", &Apply, nb::arg("module"), nb::arg("rule"), nb::arg("instruction"),
        nb::arg("other"), "Applies one; returns False if it does not apply.");
  m.def(
      "sweep", &Sweep, nb::arg("module"), nb::arg("rule"), nb::arg("fewer"),
      "Applies a rule at all places where it applies now, or with fewer=True at those where that\n"
      "leaves fewer instructions; returns at how many.");
}

}  // namespace hlograph
