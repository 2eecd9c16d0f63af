#include "hlograph/native/graph/graph.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/bindings/bind.h"
#include "hlograph/native/bindings/errors.h"
#include "hlograph/native/bindings/numpy_array.h"
#include "hlograph/native/graph/columns.h"
#include "hlograph/native/graph/facts_table.h"
#include "hlograph/native/graph/features.h"
#include "hlograph/native/graph/instruction_attributes.h"
#include "hlograph/native/graph/kernel_inputs.h"
#include "hlograph/native/graph/traits.h"
#include "hlograph/native/module/module.h"
#include "hlograph/native/module/own_hashes.h"
#include "hlograph/native/module/work.h"

namespace nb = nanobind;

namespace hlograph {
namespace {

// The two rows of edge_index.
nb::object EdgeIndex(std::vector<int64_t> values) {
  const size_t edges = values.size() / 2;
  return nb::cast(ToNumpy(std::move(values))).attr("reshape")(2, edges);
}

nb::list Strings(const std::vector<std::string>& values) {
  nb::list list;
  for (const std::string& value : values) {
    // Custom-call targets and backend configs are bytes to XLA.
    list.append(nb::steal(PyUnicode_DecodeUTF8(value.data(), value.size(), "replace")));
  }
  return list;
}

// Calls `read` with the arguments of BuildGraph for a module, without the GIL.
template <typename Read>
auto ReadGraph(const Module& module, Read read) {
  // Of this thread, which needs no lock then. Modules have most instructions in common.
  thread_local FactsTable table;
  nb::gil_scoped_release release;
  auto result = module.ReadWithHashes([&](const xla::HloModule& hlo, const OwnHashes& own_hashes) {
    return read(hlo, own_hashes, table);
  });
  table.Trim();
  return result;
}

nb::typed<nb::dict, std::string, nb::object> Columns(const Module& module) {
  GraphColumns columns = ReadGraph(module, ColumnsOf);
  nb::dict result;
  result["node_type"] = ToNumpy(std::move(columns.node_type));
  result["opcode"] = ToNumpy(std::move(columns.opcode));
  result["element_type"] = ToNumpy(std::move(columns.element_type));
  result["elements"] = ToNumpy(std::move(columns.elements));
  result["bytes"] = ToNumpy(std::move(columns.bytes));
  result["computation"] = ToNumpy(std::move(columns.computation));
  result["is_root"] = ToNumpy(std::move(columns.is_root));
  result["is_entry"] = ToNumpy(std::move(columns.is_entry));
  result["traits"] = ToNumpy(std::move(columns.traits));
  result["dim_offsets"] = ToNumpy(std::move(columns.dim_offsets));
  result["dim_size"] = ToNumpy(std::move(columns.dim_size));
  result["dim_layout"] = ToNumpy(std::move(columns.dim_layout));
  result["dim_is_dynamic"] = ToNumpy(std::move(columns.dim_is_dynamic));
  result["attribute_offsets"] = ToNumpy(std::move(columns.attribute_offsets));
  result["attribute_key"] = ToNumpy(std::move(columns.attribute_key));
  result["value_offsets"] = ToNumpy(std::move(columns.value_offsets));
  result["attribute_values"] = ToNumpy(std::move(columns.attribute_values));
  result["strings"] = Strings(columns.strings);
  result["edge_index"] = EdgeIndex(std::move(columns.edge_index));
  result["edge_type"] = ToNumpy(std::move(columns.edge_type));
  result["edge_position"] = ToNumpy(std::move(columns.edge_position));
  result["name_offsets"] = ToNumpy(std::move(columns.name_offsets));
  result["name_text"] = ToNumpy(std::move(columns.name_text));
  return result;
}

using FloatMatrix = nb::ndarray<nb::numpy, float, nb::shape<-1, -1>, nb::c_contig>;
using LinkMatrix = nb::ndarray<nb::numpy, int64_t, nb::shape<-1, 2>>;

FloatMatrix NodeRows(GraphFeatures& features) {
  return ToNumpy<FloatMatrix>(std::move(features.nodes), {features.num_nodes, features.columns});
}

FloatMatrix EdgeRows(GraphFeatures& features) {
  return ToNumpy<FloatMatrix>(std::move(features.edges), {features.num_edges, kEdgeFeatures});
}

// The transpose of the two rows, which is how environments hand out links.
LinkMatrix Links(GraphFeatures& features) {
  const size_t edges = features.num_edges;
  return ToNumpy<LinkMatrix>(std::move(features.links), {edges, 2},
                             {1, static_cast<int64_t>(edges)});
}

std::tuple<FloatMatrix, FloatMatrix, LinkMatrix> Features(const Module& module) {
  GraphFeatures features = ReadGraph(module, [](const auto& hlo, const auto& own, auto& table) {
    return FeaturesOf(BuildGraph(hlo, own, table));
  });
  return {NodeRows(features), EdgeRows(features), Links(features)};
}

using Rates = nb::ndarray<const double, nb::shape<kFeatures>, nb::c_contig, nb::device::cpu>;

// Nodes, edges and links of all kernels, their numbers, and the first node of each.
using KernelArrays =
    std::tuple<FloatMatrix, FloatMatrix, LinkMatrix, FloatMatrix, NumpyVector<int64_t>>;

KernelArrays Kernels(const std::vector<std::pair<const Module*, nb::bytes>>& kernels,
                     const Rates& rates) {
  std::vector<KernelInputs> inputs;
  inputs.reserve(kernels.size());
  for (const auto& [module, text] : kernels) {
    if (module == nullptr) {
      inputs.push_back(ControlInputs());
      continue;
    }
    const absl::string_view view(text.c_str(), text.size());
    inputs.push_back(ValueOrThrow(ReadGraph(*module,
                                            [&](const auto& hlo, const auto& own, auto& table) {
                                              return KernelInputsOf(
                                                  hlo, view, {rates.data(), kFeatures}, own, table);
                                            }),
                                  ErrorKind::kHlo));
  }
  KernelBatch batch(inputs);
  KernelInputs& joined = batch.joined;
  const size_t numbers = inputs.empty() ? 0 : inputs[0].numbers.size();
  return {NodeRows(joined.graph), EdgeRows(joined.graph), Links(joined.graph),
          ToNumpy<FloatMatrix>(std::move(joined.numbers), {inputs.size(), numbers}),
          ToNumpy(std::move(batch.first_node))};
}

nb::typed<nb::list, std::string> AttributeNames() {
  nb::list names;
  for (int i = 0; i < static_cast<int>(AttributeKey::kCount); ++i) {
    names.append(nb::cast(std::string(AttributeName(static_cast<AttributeKey>(i)))));
  }
  return names;
}

nb::typed<nb::list, std::string> TraitNames() {
  nb::list names;
  for (const char* name : kTraitNames) names.append(nb::str(name));
  return names;
}

}  // namespace

void BindGraph(nb::module_& m) {
  m.def("graph", &Columns, nb::arg("module"),
        "The module as arrays; see hlograph.HloGraph for what each column holds.");
  m.def("features", &Features, nb::arg("module"),
        "Node features [N, F], edge features [E, 2] and links [E, 2] of the module's graph; see\n"
        "hlograph.graph.features.");
  m.def("kernel_inputs", &Kernels, nb::arg("kernels"), nb::arg("rates"),
        nb::sig("def kernel_inputs(kernels: Sequence[tuple[Module | None, bytes]], "
                "rates: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float32], "
                "NDArray[numpy.float32], NDArray[numpy.int64], NDArray[numpy.float32], "
                "NDArray[numpy.int64]]"),
        "Inputs of kernels, given as modules and their texts, or None for loops and branches of\n"
        "other kernels; see hlograph.profiling.kernel_inputs.");
  m.def("attribute_names", &AttributeNames, "Names of the attribute keys, in order.");
  m.def("trait_names", &TraitNames, "Names of the traits, by bit.");
}

}  // namespace hlograph
