#include "hlograph/native/module/module.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/bindings/bind.h"
#include "hlograph/native/bindings/errors.h"
#include "hlograph/native/bindings/numpy_array.h"
#include "hlograph/native/execution/dump_passes.h"
#include "hlograph/native/module/fingerprint.h"
#include "hlograph/native/module/vocabulary.h"
#include "hlograph/native/parsing/text_check.h"
#include "hlograph/native/parsing/tile_check.h"

namespace nb = nanobind;

namespace hlograph {
namespace {

using CountArray = nb::ndarray<nb::numpy, int64_t, nb::shape<-1>, nb::c_contig>;

std::unique_ptr<Module> FromText(nb::bytes text, bool isolated) {
  absl::StatusOr<std::unique_ptr<Module>> module;
  {
    const absl::string_view view(text.c_str(), text.size());
    nb::gil_scoped_release release;
    module = Module::FromText(view, isolated);
  }
  return ValueOrThrow(std::move(module), ErrorKind::kParse);
}

std::unique_ptr<Module> FromProto(nb::bytes serialized, bool isolated) {
  absl::StatusOr<std::unique_ptr<Module>> module;
  {
    const absl::string_view view(serialized.c_str(), serialized.size());
    nb::gil_scoped_release release;
    module = Module::FromProto(view, isolated);
  }
  return ValueOrThrow(std::move(module), ErrorKind::kParse);
}

nb::bytes ToProto(const Module& module) {
  std::string serialized;
  {
    nb::gil_scoped_release release;
    serialized = module.ToProto();
  }
  return nb::bytes(serialized.data(), serialized.size());
}

std::string GetFingerprint(const Module& module, bool cached) {
  nb::gil_scoped_release release;
  if (cached) return module.GetFingerprint().ToHex();
  return module.Read([](const xla::HloModule& hlo) { return FingerprintOf(hlo).ToHex(); });
}

std::string GetStructure(const Module& module) {
  nb::gil_scoped_release release;
  return module.GetStructure().ToHex();
}

CountArray OpCounts(const Module& module) {
  std::vector<int64_t> counts(OpcodeNames().size());
  {
    nb::gil_scoped_release release;
    module.CountOpcodes(counts.data());
  }
  const size_t size = counts.size();
  return ToNumpy<CountArray>(std::move(counts), {size});
}

using FloatArray = nb::ndarray<nb::numpy, float, nb::shape<-1>, nb::c_contig>;
// Fingerprint, op count and op counts.
using StateTuple = std::tuple<std::string, int64_t, FloatArray>;
// Whether the pass reported a change, seconds, and the state if it is another one.
using StepTuple = std::tuple<bool, double, std::optional<StateTuple>>;

StateTuple ToTuple(State state) {
  const size_t size = state.op_counts.size();
  return {state.fingerprint.ToHex(), state.op_count,
          ToNumpy<FloatArray>(std::move(state.op_counts), {size})};
}

StateTuple GetState(const Module& module) {
  State state;
  {
    nb::gil_scoped_release release;
    state = module.GetState();
  }
  return ToTuple(std::move(state));
}

std::string GetContext(const Module& module) {
  nb::gil_scoped_release release;
  return module.GetContext().ToHex();
}

StepTuple RunWithSnapshot(Module& module, const Pass& pass) {
  absl::StatusOr<Step> result;
  {
    nb::gil_scoped_release release;
    result = module.RunWithSnapshot(pass);
  }
  Step step = ValueOrThrow(std::move(result), ErrorKind::kPass);
  if (!step.state) return {step.reported, step.seconds, std::nullopt};
  return {step.reported, step.seconds, ToTuple(*std::move(step.state))};
}

bool Run(Module& module, const Pass& pass) {
  absl::StatusOr<bool> changed;
  {
    nb::gil_scoped_release release;
    changed = module.Run(pass);
  }
  return ValueOrThrow(std::move(changed), ErrorKind::kPass);
}

void Verify(const Module& module) {
  absl::Status status;
  {
    nb::gil_scoped_release release;
    status = module.Verify();
  }
  ThrowIfError(status, ErrorKind::kVerify);
}

std::tuple<double, double, double> GetCost(const Module& module) {
  absl::StatusOr<Cost> cost;
  {
    nb::gil_scoped_release release;
    cost = module.GetCost();
  }
  const Cost value = ValueOrThrow(std::move(cost), ErrorKind::kHlo);
  return {value.flops, value.transcendentals, value.bytes_accessed};
}

using PassRecordTuple = std::tuple<std::string, std::string, bool>;

std::vector<PassRecordTuple> DumpPasses(const Module& module, const std::string& directory,
                                        const std::vector<std::string>& disabled) {
  absl::StatusOr<std::vector<PassRecord>> records;
  {
    nb::gil_scoped_release release;
    records = module.Read(
        [&](const xla::HloModule& hlo) { return DumpCpuPasses(hlo, directory, disabled); });
  }
  std::vector<PassRecordTuple> result;
  for (const PassRecord& record : ValueOrThrow(std::move(records), ErrorKind::kHlo)) {
    result.emplace_back(record.pipeline, record.pass, record.changed);
  }
  return result;
}

}  // namespace

void BindModule(nb::module_& m) {
  nb::class_<Module>(m, "Module", "An HLO module held by XLA.")
      .def_static(
          "from_text", &FromText, nb::arg("text"), nb::arg("isolated") = false,
          nb::sig("def from_text(text: bytes, isolated: bool = False) -> Module | None"),
          "Returns None if XLA may end the process on this text: then it is to be parsed in\n"
          "a process that may end, with isolated=True.")
      .def_static(
          "from_proto", &FromProto, nb::arg("serialized"), nb::arg("isolated") = false,
          nb::sig("def from_proto(serialized: bytes, isolated: bool = False) -> Module | None"),
          "Returns None as from_text does.")
      .def_prop_ro("name", &Module::Name, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("op_count", &Module::OpCount, nb::call_guard<nb::gil_scoped_release>())
      .def("op_counts", &OpCounts)
      .def("to_text", &Module::ToText, nb::arg("metadata"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("to_proto", &ToProto)
      .def("clone", &Module::Clone, nb::call_guard<nb::gil_scoped_release>())
      .def("fingerprint", &GetFingerprint, nb::arg("cached") = true)
      .def("structure", &GetStructure)
      .def("verify", &Verify)
      .def("cost", &GetCost, "Flops, transcendentals and bytes accessed.")
      .def("state", &GetState, "Fingerprint, op count and float op counts.")
      .def("surroundings", &GetContext)
      .def("run", &Run, nb::arg("pass_"))
      .def(
          "run_and_look", &RunWithSnapshot, nb::arg("pass_"),
          "Returns whether the pass reported a change, its seconds, and the state unless it is as\n"
          "before.")
      .def("dump_cpu_passes", &DumpPasses, nb::arg("directory"), nb::arg("disabled"),
           "Has XLA:CPU write the module after each of its own passes into a folder; returns\n"
           "(pipeline, pass, changed) of each pass that it ran.");
  m.attr("MAX_BYTES") = kMaxBytes;
  m.attr("MAX_NESTING") = kMaxNesting;
  m.attr("MAX_ELIDED_ELEMENTS") = kMaxElidedElements;
  m.attr("MAX_DEVICES") = kMaxDevices;
  m.def("opcodes", &OpcodeNames, "XLA's opcodes, in the order of op_counts.");
  m.def("element_types", &ElementTypeNames, "XLA's element types; empty for unused numbers.");
}

}  // namespace hlograph
