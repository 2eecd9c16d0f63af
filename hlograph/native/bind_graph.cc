#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hlograph/native/abort_guard.h"
#include "hlograph/native/bind.h"
#include "hlograph/native/errors.h"
#include "hlograph/native/graph.h"
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

nb::typed<nb::dict, std::string, nb::object> Graph(const Module& module) {
  GraphColumns columns;
  bool built = false;
  {
    nb::gil_scoped_release release;
    // Inside of Read, so that the module's lock is not left held by what is dropped.
    built = module.Read([&](const xla::HloModule& hlo) {
      return SurvivesAbort([&] { columns = BuildGraph(hlo); });
    });
  }
  if (!built) {
    throw StatusError(ErrorKind::kParse,
                      "XLA gave up on a failed check as it was asked for the attributes of an "
                      "instruction: they contradict each other; Module.verify() may say more");
  }
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
  m.def("attribute_names", &AttributeNames, "Names of the attribute keys, in order.");
  m.def("trait_names", &TraitNames, "Names of the traits, by bit.");
}

}  // namespace hlograph
