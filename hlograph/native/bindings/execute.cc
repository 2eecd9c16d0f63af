#include "hlograph/native/execution/execute.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/bindings/bind.h"
#include "hlograph/native/bindings/errors.h"
#include "hlograph/native/execution/evaluate.h"
#include "hlograph/native/execution/lowering.h"
#include "hlograph/native/execution/signature.h"
#include "hlograph/native/execution/timing.h"
#include "hlograph/native/module/module.h"
#include "xla/hlo/ir/hlo_module.h"

namespace nb = nanobind;

namespace hlograph {
namespace {

using ArraySpecTuple = std::tuple<std::string, std::vector<int64_t>, std::vector<int64_t>>;
using SignatureTuple = std::tuple<std::vector<ArraySpecTuple>, std::vector<ArraySpecTuple>>;
using BytesList = nb::typed<nb::list, nb::bytes>;

// Views of Python's bytes, which the caller's list keeps alive.
std::vector<absl::string_view> Views(const BytesList& inputs) {
  std::vector<absl::string_view> views;
  for (nb::handle input : inputs) {
    nb::bytes bytes = nb::cast<nb::bytes>(input);
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  return views;
}

BytesList ToList(absl::StatusOr<std::vector<std::string>> outputs) {
  BytesList list;
  for (const std::string& output : ValueOrThrow(std::move(outputs), ErrorKind::kHlo)) {
    list.append(nb::bytes(output.data(), output.size()));
  }
  return list;
}

std::vector<ArraySpecTuple> ToTuples(const std::vector<ArraySpec>& specs) {
  std::vector<ArraySpecTuple> tuples;
  for (const ArraySpec& spec : specs) {
    tuples.emplace_back(spec.element_type, spec.dims, spec.index);
  }
  return tuples;
}

SignatureTuple GetSignature(const Module& module) {
  absl::StatusOr<Signature> signature;
  {
    nb::gil_scoped_release release;
    signature = module.Read([](const xla::HloModule& hlo) { return SignatureOf(hlo); });
  }
  const Signature value = ValueOrThrow(std::move(signature), ErrorKind::kHlo);
  return {ToTuples(value.parameters), ToTuples(value.results)};
}

std::unique_ptr<Program> CompileWith(const Module& module,
                                     const std::optional<CompileSettings>& settings, bool lowered) {
  absl::StatusOr<std::unique_ptr<Program>> program;
  {
    nb::gil_scoped_release release;
    // On a clone: compiling takes seconds, and the module is locked meanwhile.
    std::unique_ptr<Module> copy = module.Clone();
    program = copy->Read(
        [&](const xla::HloModule& hlo) { return Program::Compile(hlo, settings, lowered); });
  }
  return ValueOrThrow(std::move(program), ErrorKind::kHlo);
}

std::unique_ptr<Program> Compile(const Module& module,
                                 const std::vector<std::string>& disabled_passes, bool strict,
                                 int optimization_level) {
  return CompileWith(module, CompileSettings{disabled_passes, strict, optimization_level},
                     /*lowered=*/false);
}

std::unique_ptr<Program> CompileForSpeed(const Module& module, bool lowered) {
  return CompileWith(module, std::nullopt, lowered);
}

std::unique_ptr<Module> Lower(const Module& module) {
  absl::StatusOr<std::unique_ptr<xla::HloModule>> lowered;
  {
    nb::gil_scoped_release release;
    std::unique_ptr<Module> copy = module.Clone();
    lowered = copy->Read([](const xla::HloModule& hlo) { return LowerForFusion(hlo); });
  }
  return std::make_unique<Module>(ValueOrThrow(std::move(lowered), ErrorKind::kHlo));
}

int64_t GetKernels(const Module& module) {
  nb::gil_scoped_release release;
  return module.Read([](const xla::HloModule& hlo) { return CountKernels(hlo); });
}

std::unique_ptr<Module> GetOptimized(const Program& program) {
  nb::gil_scoped_release release;
  return std::make_unique<Module>(program.Optimized());
}

std::vector<std::pair<std::string, std::string>> GetSteps(const Program& program) {
  absl::StatusOr<std::vector<CodeStep>> steps;
  {
    nb::gil_scoped_release release;
    steps = program.Steps();
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (CodeStep& step : ValueOrThrow(std::move(steps), ErrorKind::kHlo)) {
    pairs.emplace_back(std::move(step.kind), std::move(step.instruction));
  }
  return pairs;
}

std::unique_ptr<TimedProgram> GetTimed(const Program& program, const BytesList& inputs) {
  const std::vector<absl::string_view> views = Views(inputs);
  absl::StatusOr<std::unique_ptr<TimedProgram>> timed;
  {
    nb::gil_scoped_release release;
    timed = TimedProgram::Create(program, views);
  }
  return ValueOrThrow(std::move(timed), ErrorKind::kHlo);
}

double GetSeconds(const TimedProgram& timed, int64_t runs) {
  absl::StatusOr<double> seconds;
  {
    nb::gil_scoped_release release;
    seconds = timed.Seconds(runs);
  }
  return ValueOrThrow(std::move(seconds), ErrorKind::kHlo);
}

BytesList Run(const Program& program, const BytesList& inputs) {
  const std::vector<absl::string_view> views = Views(inputs);
  absl::StatusOr<std::vector<std::string>> outputs;
  {
    nb::gil_scoped_release release;
    outputs = program.Run(views);
  }
  return ToList(std::move(outputs));
}

BytesList EvaluateModule(const Module& module, const BytesList& inputs, double max_seconds) {
  const std::vector<absl::string_view> views = Views(inputs);
  absl::StatusOr<std::vector<std::string>> outputs;
  {
    nb::gil_scoped_release release;
    outputs =
        module.Read([&](const xla::HloModule& hlo) { return Evaluate(hlo, views, max_seconds); });
  }
  return ToList(std::move(outputs));
}

}  // namespace

void BindExecute(nb::module_& m) {
  nb::class_<Program>(m, "Program", "A module compiled by XLA:CPU.")
      .def_static("compile", &Compile, nb::arg("module"), nb::arg("disabled_passes"),
                  nb::arg("strict"), nb::arg("optimization_level"))
      .def_static("compile_for_speed", &CompileForSpeed, nb::arg("module"), nb::arg("lowered"),
                  "As XLA:CPU compiles when it is asked for nothing; a lowered module keeps its\n"
                  "fusions.")
      .def("steps", &GetSteps, "(kind, instruction) of each step of the code.")
      .def("optimized", &GetOptimized, "The module that the code was generated from.")
      .def("count_kernels", &Program::CountKernels,
           "Generated loops, copies and library calls; control flow's own, once each.")
      .def("run", &Run, nb::arg("inputs"),
           "Bytes of the result's leaves, from those of the parameters' leaves; row-major.")
      .def("timed", &GetTimed, nb::arg("inputs"), nb::keep_alive<0, 1>(),
           "The program with these inputs, to be timed.");
  nb::class_<TimedProgram>(m, "TimedProgram", "A program with inputs on XLA's device.")
      .def("seconds", &GetSeconds, nb::arg("runs"),
           "Wall seconds of one run, the median over so many.");
  m.def("count_kernels", &GetKernels, nb::arg("module"),
        "The same of a module that is to be compiled as lowered, but for copies.");
  m.def("lower", &Lower, nb::arg("module"), "What XLA:CPU makes of a module before fusion.");
  m.def("signature", &GetSignature, nb::arg("module"),
        "(element type, dimensions, index) of the leaves of parameters and result; the index of a\n"
        "parameter's leaf begins with the parameter's number.");
  m.def("evaluate", &EvaluateModule, nb::arg("module"), nb::arg("inputs"), nb::arg("max_seconds"),
        "The same as Program.run, by XLA's reference evaluator.");
}

}  // namespace hlograph
