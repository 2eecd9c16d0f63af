// Binds the refinement of graphs.
#include "hlograph/native/kernels/refinement.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"
#include "hlograph/native/bindings/numpy_array.h"

namespace hlograph {
namespace {

const WordTable& TableOf(const Refinement& refinement, int round) {
  Expect(round >= 0 && round <= refinement.rounds(), "there is no such round");
  return refinement.table(round);
}

using LinkArray = nb::ndarray<const int64_t, nb::shape<-1, -1>, nb::device::cpu>;

NumpyVector<int32_t> AddGraph(Refinement& refinement, const In<float, 2>& rows,
                              const LinkArray& links, const In<int32_t, 1>& labels,
                              int32_t reverse_label) {
  Expect(links.shape(1) == 2, "links must be [E, 2]");
  Expect(labels.shape(0) == links.shape(0), "there must be one label for each link");
  std::vector<int32_t> colours;
  {
    nb::gil_scoped_release release;
    const int64_t nodes = Size(rows, 0);
    const Neighbours neighbours =
        NeighboursOf(nodes, {links.data(), Size(links, 0), links.stride(0), links.stride(1)},
                     labels.data(), reverse_label);
    colours = refinement.AddRows(rows.data(), nodes, rows.shape(1));
    for (int round = 1; round <= refinement.rounds(); ++round) {
      colours = refinement.AddRound(round, colours, neighbours);
    }
  }
  return ToNumpy(std::move(colours));
}

nb::tuple Count(Refinement& refinement, const In<int32_t, 1>& colours) {
  CountedColours counted = refinement.Count(colours.data(), Size(colours, 0));
  return nb::make_tuple(ToNumpy(std::move(counted.colours)), ToNumpy(std::move(counted.counts)));
}

NumpyVector<int32_t> AddRows(Refinement& refinement, const In<uint64_t, 2>& rows) {
  return ToNumpy(refinement.AddRows(rows.data(), rows.shape(0), rows.shape(1)));
}

NumpyVector<int32_t> AddForeign(Refinement& refinement, int round, const In<int64_t, 1>& offsets,
                                const In<uint64_t, 1>& words, const In<int32_t, 1>& known) {
  Expect(round >= 1 && round <= refinement.rounds(), "there is no such round");
  Expect(offsets.shape(0) >= 1 && offsets.data()[0] >= 0, "offsets must begin with 0");
  const int64_t count = static_cast<int64_t>(offsets.shape(0)) - 1;
  for (int64_t i = 0; i < count; ++i) {
    Expect(offsets.data()[i] <= offsets.data()[i + 1], "offsets must not fall");
  }
  Expect(offsets.data()[count] <= static_cast<int64_t>(words.shape(0)), "offsets beyond words");
  return ToNumpy(refinement.AddForeign(round, offsets.data(), words.data(), count, known.data(),
                                       static_cast<int64_t>(known.shape(0))));
}

nb::tuple AsTuple(RoundColours found) {
  return nb::make_tuple(ToNumpy(std::move(found.own)), ToNumpy(std::move(found.offsets)),
                        ToNumpy(std::move(found.source)), ToNumpy(std::move(found.label)));
}

nb::tuple Round(const Refinement& refinement, int round, int64_t first, int32_t labels) {
  const WordTable& table = TableOf(refinement, round);
  Expect(round >= 1 && first >= 0 && first <= table.size(), "there is no such colour");
  return AsTuple(refinement.Round(round, first, labels));
}

nb::tuple Select(const Refinement& refinement, int round, const In<int32_t, 1>& chosen,
                 int32_t labels) {
  Expect(round >= 1 && round <= refinement.rounds(), "there is no such round");
  RoundColours found;
  std::vector<int32_t> before;
  {
    nb::gil_scoped_release release;
    found = refinement.Select(round, chosen.data(), static_cast<int64_t>(chosen.shape(0)), labels,
                              &before);
  }
  return nb::make_tuple(AsTuple(std::move(found)), ToNumpy(std::move(before)));
}

using WordRows = nb::ndarray<nb::numpy, uint64_t, nb::shape<-1, -1>>;

WordRows SelectRows(const Refinement& refinement, const In<int32_t, 1>& chosen, size_t row_words) {
  const size_t count = chosen.shape(0);
  std::vector<uint64_t> rows =
      refinement.SelectRows(chosen.data(), static_cast<int64_t>(count), row_words);
  return ToNumpy<WordRows>(std::move(rows), {count, row_words});
}

nb::tuple Distinct(const In<int32_t, 1>& numbers, int64_t limit) {
  Expect(limit >= 0, "a limit must not be negative");
  Numbered found;
  {
    nb::gil_scoped_release release;
    found = NumberDistinct(numbers.data(), static_cast<int64_t>(numbers.shape(0)), limit);
  }
  return nb::make_tuple(ToNumpy(std::move(found.distinct)), ToNumpy(std::move(found.place)));
}

}  // namespace

void BindRefinement(nb::module_& m) {
  nb::class_<Refinement>(m, "Refinement")
      .def(nb::init<int>(), nb::arg("rounds"))
      .def_prop_ro("rounds", &Refinement::rounds)
      .def("add", &AddGraph, nb::arg("rows"), nb::arg("links"), nb::arg("labels"),
           nb::arg("reverse_label"))
      .def("count", &Count, nb::arg("colours"))
      .def("add_rows", &AddRows, nb::arg("rows"))
      .def("add_foreign", &AddForeign, nb::arg("round"), nb::arg("offsets"), nb::arg("words"),
           nb::arg("known"))
      .def("round", &Round, nb::arg("round"), nb::arg("first"), nb::arg("labels"))
      .def("select", &Select, nb::arg("round"), nb::arg("chosen"), nb::arg("labels"))
      .def("select_rows", &SelectRows, nb::arg("chosen"), nb::arg("row_words"))
      .def(
          "size", [](const Refinement& r, int round) { return TableOf(r, round).size(); },
          nb::arg("round"))
      .def(
          "words",
          [](const Refinement& r, int round, int64_t first) {
            const WordTable& table = TableOf(r, round);
            Expect(first >= 0 && first <= table.size(), "there is no such colour");
            const int64_t begin = table.offsets()[first];
            std::vector<int64_t> offsets(table.offsets().begin() + first, table.offsets().end());
            for (int64_t& offset : offsets) offset -= begin;
            return std::make_pair(
                ToNumpy(std::move(offsets)),
                ToNumpy(std::vector<uint64_t>(table.words().begin() + begin, table.words().end())));
          },
          nb::arg("round"), nb::arg("first"));
  m.def("distinct", &Distinct, nb::arg("numbers"), nb::arg("limit"));
}

}  // namespace hlograph
