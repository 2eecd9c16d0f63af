#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hlograph/native/abort_guard.h"
#include "hlograph/native/bind.h"
#include "hlograph/native/errors.h"
#include "hlograph/native/graph.h"
#include "hlograph/native/graph_features.h"
#include "hlograph/native/graph_traits.h"
#include "hlograph/native/instruction_attributes.h"
#include "hlograph/native/module.h"

namespace nb = nanobind;

namespace hlograph {
namespace {

// Hands a column to numpy without a copy.
template <typename T>
nb::object Array(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const size_t size = owned->size();
  nb::capsule owner(owned.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::shape<-1>>(data, {size}, owner));
}

// The two rows of edge_index.
nb::object EdgeIndex(std::vector<int64_t> values) {
  const size_t edges = values.size() / 2;
  return Array(std::move(values)).attr("reshape")(2, edges);
}

nb::list Strings(const std::vector<std::string>& values) {
  nb::list list;
  for (const std::string& value : values) {
    // Custom-call targets and backend configs are bytes to XLA.
    list.append(nb::steal(PyUnicode_DecodeUTF8(value.data(), value.size(), "replace")));
  }
  return list;
}

// Lets `build(const xla::HloModule&)` look at a module without the GIL.
template <typename Build>
void LookAt(const Module& module, Build build) {
  bool built = false;
  {
    nb::gil_scoped_release release;
    // Inside of Read, so that the module's lock is not left held by what is dropped.
    built =
        module.Read([&](const xla::HloModule& hlo) { return SurvivesAbort([&] { build(hlo); }); });
  }
  if (!built) {
    throw StatusError(ErrorKind::kParse,
                      "XLA gave up on a failed check as it was asked for the attributes of an "
                      "instruction: they contradict each other; Module.verify() may say more");
  }
}

nb::typed<nb::dict, std::string, nb::object> Graph(const Module& module) {
  GraphColumns columns;
  LookAt(module, [&](const xla::HloModule& hlo) { columns = BuildGraph(hlo, Columns::kAll); });
  nb::dict result;
  result["node_type"] = Array(std::move(columns.node_type));
  result["opcode"] = Array(std::move(columns.opcode));
  result["element_type"] = Array(std::move(columns.element_type));
  result["elements"] = Array(std::move(columns.elements));
  result["bytes"] = Array(std::move(columns.bytes));
  result["computation"] = Array(std::move(columns.computation));
  result["is_root"] = Array(std::move(columns.is_root));
  result["is_entry"] = Array(std::move(columns.is_entry));
  result["traits"] = Array(std::move(columns.traits));
  result["dim_offsets"] = Array(std::move(columns.dim_offsets));
  result["dim_size"] = Array(std::move(columns.dim_size));
  result["dim_layout"] = Array(std::move(columns.dim_layout));
  result["dim_is_dynamic"] = Array(std::move(columns.dim_is_dynamic));
  result["attribute_offsets"] = Array(std::move(columns.attribute_offsets));
  result["attribute_key"] = Array(std::move(columns.attribute_key));
  result["value_offsets"] = Array(std::move(columns.value_offsets));
  result["attribute_values"] = Array(std::move(columns.attribute_values));
  result["strings"] = Strings(columns.strings);
  result["edge_index"] = EdgeIndex(std::move(columns.edge_index));
  result["edge_type"] = Array(std::move(columns.edge_type));
  result["edge_position"] = Array(std::move(columns.edge_position));
  result["name_offsets"] = Array(std::move(columns.name_offsets));
  result["name_text"] = Array(std::move(columns.name_text));
  return result;
}

using FloatMatrix = nb::ndarray<nb::numpy, float, nb::shape<-1, -1>, nb::c_contig>;
using LinkMatrix = nb::ndarray<nb::numpy, int64_t, nb::shape<-1, 2>>;

FloatMatrix Matrix(std::vector<float> values, size_t columns) {
  auto owned = std::make_unique<std::vector<float>>(std::move(values));
  float* data = owned->data();
  const size_t rows = owned->size() / columns;
  nb::capsule owner(owned.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return FloatMatrix(data, {rows, columns}, owner);
}

// The transpose of the two rows, which is how environments hand out links.
LinkMatrix Links(std::vector<int64_t> values) {
  auto owned = std::make_unique<std::vector<int64_t>>(std::move(values));
  int64_t* data = owned->data();
  const int64_t edges = owned->size() / 2;
  nb::capsule owner(owned.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
  return LinkMatrix(data, {static_cast<size_t>(edges), 2}, owner, {1, edges});
}

std::tuple<FloatMatrix, FloatMatrix, LinkMatrix> Features(const Module& module) {
  GraphFeatures features;
  LookAt(module, [&](const xla::HloModule& hlo) {
    features = FeaturesOf(BuildGraph(hlo, Columns::kForFeatures));
  });
  return {Matrix(std::move(features.nodes), kNodeFeatures),
          Matrix(std::move(features.edges), kEdgeFeatures), Links(std::move(features.links))};
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
  m.def("graph", &Graph, nb::arg("module"),
        "The module as arrays; see hlograph.HloGraph for what each column holds.");
  m.def("features", &Features, nb::arg("module"),
        "Node features [N, F], edge features [E, 2] and links [E, 2] of the module's graph; see\n"
        "hlograph.features.");
  m.def("attribute_names", &AttributeNames, "Names of the attribute keys, in order.");
  m.def("trait_names", &TraitNames, "Names of the traits, by bit.");
}

}  // namespace hlograph
