// The extension hlograph._graphs: what is done with graphs once they are arrays.
// It links no XLA, so it loads at once and works where tensorflow-cpu is missing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hlograph/native/bindings/numpy_array.h"
#include "hlograph/native/kernels/attention.h"
#include "hlograph/native/kernels/refinement.h"

namespace nb = nanobind;

namespace hlograph {
namespace {

template <typename T, int kRank>
struct ArrayOf;
template <typename T>
struct ArrayOf<T, 1> {
  using In = nb::ndarray<const T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
  using Out = nb::ndarray<T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
};
template <typename T>
struct ArrayOf<T, 2> {
  using In = nb::ndarray<const T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
  using Out = nb::ndarray<T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
};
template <typename T, int kRank>
using In = typename ArrayOf<T, kRank>::In;
template <typename T, int kRank>
using Out = typename ArrayOf<T, kRank>::Out;

void Expect(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

const WordTable& TableOf(const Refinement& refinement, int round) {
  Expect(round >= 0 && round <= refinement.rounds(), "there is no such round");
  return refinement.table(round);
}

NumpyVector<int32_t> AddGraph(Refinement& refinement, const In<uint64_t, 2>& rows,
                              const In<int64_t, 2>& links, const In<int32_t, 1>& labels,
                              int32_t reverse_label) {
  Expect(links.shape(1) == 2, "links must be [E, 2]");
  Expect(labels.shape(0) == links.shape(0), "there must be one label for each link");
  std::vector<int32_t> colours;
  {
    nb::gil_scoped_release release;
    const int64_t nodes = static_cast<int64_t>(rows.shape(0));
    const Neighbours neighbours = NeighboursOf(nodes, links.data(), labels.data(),
                                               static_cast<int64_t>(links.shape(0)), reverse_label);
    colours = refinement.AddRows(rows.data(), nodes, rows.shape(1));
    for (int round = 1; round <= refinement.rounds(); ++round) {
      colours = refinement.AddRound(round, colours, neighbours);
    }
  }
  return ToNumpy(std::move(colours));
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

void BindRefinement(nb::module_& m) {
  nb::class_<Refinement>(m, "Refinement")
      .def(nb::init<int>(), nb::arg("rounds"))
      .def_prop_ro("rounds", &Refinement::rounds)
      .def("add", &AddGraph, nb::arg("rows"), nb::arg("links"), nb::arg("labels"),
           nb::arg("reverse_label"))
      .def("add_rows", &AddRows, nb::arg("rows"))
      .def("add_foreign", &AddForeign, nb::arg("round"), nb::arg("offsets"), nb::arg("words"),
           nb::arg("known"))
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
}

AttentionShape ShapeOf(const In<float, 2>& source, const In<float, 2>& target,
                       const In<float, 2>& label, const In<float, 2>& weight,
                       const In<int64_t, 1>& offsets, const In<int32_t, 1>& edge_source,
                       const In<int32_t, 1>& edge_label, float negative_slope) {
  AttentionShape shape;
  shape.sources = static_cast<int64_t>(source.shape(0));
  shape.targets = static_cast<int64_t>(target.shape(0));
  shape.labels = static_cast<int64_t>(label.shape(0));
  shape.edges = static_cast<int64_t>(edge_source.shape(0));
  shape.heads = static_cast<int64_t>(weight.shape(0));
  shape.width = static_cast<int64_t>(weight.shape(1));
  shape.negative_slope = negative_slope;
  const size_t width = weight.shape(0) * weight.shape(1);
  Expect(AttentionSupports(shape.width), "the width of a head must be 8, 16, 32 or 64");
  Expect(source.shape(1) == width && target.shape(1) == width && label.shape(1) == width,
         "rows must be heads * width wide");
  Expect(offsets.shape(0) == target.shape(0) + 1, "there must be one offset more than targets");
  Expect(edge_label.shape(0) == edge_source.shape(0), "there must be one label for each edge");
  Expect(offsets.data()[0] == 0 && offsets.data()[shape.targets] == shape.edges,
         "offsets must run from 0 to the number of edges");
  for (int64_t row = 0; row < shape.targets; ++row) {
    Expect(offsets.data()[row] <= offsets.data()[row + 1], "offsets must not fall");
  }
  for (int64_t e = 0; e < shape.edges; ++e) {
    Expect(edge_source.data()[e] >= 0 && edge_source.data()[e] < shape.sources,
           "an edge from a source that there is not");
    Expect(edge_label.data()[e] >= 0 && edge_label.data()[e] < shape.labels,
           "an edge with a label that there is not");
  }
  return shape;
}

void Forward(const In<float, 2>& source, const In<float, 2>& target, const In<float, 2>& label,
             const In<float, 2>& weight, const In<int64_t, 1>& offsets,
             const In<int32_t, 1>& edge_source, const In<int32_t, 1>& edge_label,
             float negative_slope, int threads, Out<float, 2> out, Out<float, 2> attention) {
  nb::gil_scoped_release release;
  const AttentionShape shape =
      ShapeOf(source, target, label, weight, offsets, edge_source, edge_label, negative_slope);
  Expect(out.shape(0) == target.shape(0) && out.shape(1) == target.shape(1) &&
             attention.shape(0) == edge_source.shape(0) && attention.shape(1) == weight.shape(0),
         "results of the wrong shape");
  AttentionForward(shape,
                   {source.data(), target.data(), label.data(), weight.data(), offsets.data(),
                    edge_source.data(), edge_label.data()},
                   threads, out.data(), attention.data());
}

void Backward(const In<float, 2>& source, const In<float, 2>& target, const In<float, 2>& label,
              const In<float, 2>& weight, const In<int64_t, 1>& offsets,
              const In<int32_t, 1>& edge_source, const In<int32_t, 1>& edge_label,
              float negative_slope, int threads, const In<float, 2>& out,
              const In<float, 2>& attention, const In<float, 2>& gradient, Out<float, 2> to_source,
              Out<float, 2> to_target, Out<float, 2> to_label, Out<float, 2> to_weight) {
  nb::gil_scoped_release release;
  const AttentionShape shape =
      ShapeOf(source, target, label, weight, offsets, edge_source, edge_label, negative_slope);
  const auto alike = [](const auto& a, const auto& b) {
    return a.shape(0) == b.shape(0) && a.shape(1) == b.shape(1);
  };
  Expect(alike(out, target) && alike(gradient, target) && alike(to_source, source) &&
             alike(to_target, target) && alike(to_label, label) && alike(to_weight, weight) &&
             attention.shape(0) == edge_source.shape(0) && attention.shape(1) == weight.shape(0),
         "gradients of the wrong shape");
  AttentionBackward(shape,
                    {source.data(), target.data(), label.data(), weight.data(), offsets.data(),
                     edge_source.data(), edge_label.data()},
                    threads, out.data(), attention.data(), gradient.data(),
                    {to_source.data(), to_target.data(), to_label.data(), to_weight.data()});
}

}  // namespace

NB_MODULE(_graphs, m) {
  BindRefinement(m);
  m.def("attention_forward", &Forward, nb::arg("source"), nb::arg("target"), nb::arg("label"),
        nb::arg("weight"), nb::arg("offsets"), nb::arg("edge_source"), nb::arg("edge_label"),
        nb::arg("negative_slope"), nb::arg("threads"), nb::arg("out"), nb::arg("attention"));
  m.def("attention_backward", &Backward, nb::arg("source"), nb::arg("target"), nb::arg("label"),
        nb::arg("weight"), nb::arg("offsets"), nb::arg("edge_source"), nb::arg("edge_label"),
        nb::arg("negative_slope"), nb::arg("threads"), nb::arg("out"), nb::arg("attention"),
        nb::arg("gradient"), nb::arg("to_source"), nb::arg("to_target"), nb::arg("to_label"),
        nb::arg("to_weight"));
}

}  // namespace hlograph
