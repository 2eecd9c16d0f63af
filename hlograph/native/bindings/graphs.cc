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

// The arrays of an AttentionInput, in the order of its members.
struct AttentionArrays {
  const In<float, 2>& nodes;
  const In<float, 2>& projected;
  const In<float, 2>& label;
  const In<float, 2>& weight;
  const In<float, 1>& bias;
  const In<int64_t, 1>& own;
  const In<int64_t, 1>& offsets;
  const In<int32_t, 1>& edge_source;
  const In<int32_t, 1>& edge_label;

  AttentionInput input() const {
    return {nodes.data(), projected.data(), label.data(),       weight.data(),    bias.data(),
            own.data(),   offsets.data(),   edge_source.data(), edge_label.data()};
  }
  AttentionShape shape(float negative_slope) const;
};

// Refuses numbers that are not those of a row.
template <typename Numbers>
void ExpectBelow(const Numbers& numbers, int64_t limit, const char* message) {
  bool holds = true;
  for (size_t i = 0; i < numbers.shape(0); ++i) {
    holds &= numbers.data()[i] >= 0 && numbers.data()[i] < limit;
  }
  Expect(holds, message);
}

AttentionShape AttentionArrays::shape(float negative_slope) const {
  AttentionShape shape;
  shape.nodes = static_cast<int64_t>(nodes.shape(0));
  shape.rows = static_cast<int64_t>(own.shape(0));
  shape.labels = static_cast<int64_t>(label.shape(0));
  shape.edges = static_cast<int64_t>(edge_source.shape(0));
  shape.heads = static_cast<int64_t>(weight.shape(0));
  shape.width = static_cast<int64_t>(weight.shape(1));
  shape.negative_slope = negative_slope;
  const size_t width = weight.shape(0) * weight.shape(1);
  Expect(AttentionSupports(shape.width), "the width of a head must be 8, 16, 32 or 64");
  Expect(nodes.shape(1) == width && label.shape(1) == width && bias.shape(0) == width,
         "rows must be heads * width wide");
  Expect(projected.shape(0) == nodes.shape(0) && projected.shape(1) == 2 * width,
         "each node must be projected as source and as target");
  Expect(offsets.shape(0) == own.shape(0) + 1, "there must be one offset more than rows");
  Expect(edge_label.shape(0) == edge_source.shape(0), "there must be one label for each edge");
  Expect(offsets.data()[0] == 0 && offsets.data()[shape.rows] == shape.edges,
         "offsets must run from 0 to the number of edges");
  for (int64_t row = 0; row < shape.rows; ++row) {
    Expect(offsets.data()[row] <= offsets.data()[row + 1], "offsets must not fall");
  }
  ExpectBelow(own, shape.nodes, "a row of a node that there is not");
  ExpectBelow(edge_source, shape.nodes, "an edge from a source that there is not");
  ExpectBelow(edge_label, shape.labels, "an edge with a label that there is not");
  return shape;
}

template <typename Array>
bool HasShape(const Array& array, int64_t rows, int64_t columns) {
  return static_cast<int64_t>(array.shape(0)) == rows &&
         static_cast<int64_t>(array.shape(1)) == columns;
}

void Forward(const In<float, 2>& nodes, const In<float, 2>& projected, const In<float, 2>& label,
             const In<float, 2>& weight, const In<float, 1>& bias, const In<int64_t, 1>& own,
             const In<int64_t, 1>& offsets, const In<int32_t, 1>& edge_source,
             const In<int32_t, 1>& edge_label, float negative_slope, int threads, Out<float, 2> out,
             Out<float, 2> attended, Out<float, 2> shares) {
  nb::gil_scoped_release release;
  const AttentionArrays arrays = {nodes, projected, label,       weight,    bias,
                                  own,   offsets,   edge_source, edge_label};
  const AttentionShape shape = arrays.shape(negative_slope);
  const int64_t width = shape.heads * shape.width;
  Expect(HasShape(out, shape.rows, width) && HasShape(attended, shape.rows, width) &&
             HasShape(shares, shape.edges, shape.heads),
         "results of the wrong shape");
  AttentionForward(shape, arrays.input(), threads, {out.data(), attended.data(), shares.data()});
}

void Backward(const In<float, 2>& nodes, const In<float, 2>& projected, const In<float, 2>& label,
              const In<float, 2>& weight, const In<float, 1>& bias, const In<int64_t, 1>& own,
              const In<int64_t, 1>& offsets, const In<int32_t, 1>& edge_source,
              const In<int32_t, 1>& edge_label, float negative_slope, int threads,
              const In<float, 2>& attended, const In<float, 2>& shares,
              const In<float, 2>& gradient, Out<float, 2> to_nodes, Out<float, 2> to_projected,
              Out<float, 2> to_label, Out<float, 2> to_weight, Out<float, 1> to_bias) {
  nb::gil_scoped_release release;
  const AttentionArrays arrays = {nodes, projected, label,       weight,    bias,
                                  own,   offsets,   edge_source, edge_label};
  const AttentionShape shape = arrays.shape(negative_slope);
  const int64_t width = shape.heads * shape.width;
  Expect(HasShape(attended, shape.rows, width) && HasShape(gradient, shape.rows, width) &&
             HasShape(shares, shape.edges, shape.heads) && HasShape(to_nodes, shape.nodes, width) &&
             HasShape(to_projected, shape.nodes, 2 * width) &&
             HasShape(to_label, shape.labels, width) &&
             HasShape(to_weight, shape.heads, shape.width) &&
             static_cast<int64_t>(to_bias.shape(0)) == width,
         "gradients of the wrong shape");
  AttentionBackward(
      shape, arrays.input(), threads, {attended.data(), shares.data()}, gradient.data(),
      {to_nodes.data(), to_projected.data(), to_label.data(), to_weight.data(), to_bias.data()});
}

void BindAttention(nb::module_& m) {
  m.def("attention_forward", &Forward, nb::arg("nodes"), nb::arg("projected"), nb::arg("label"),
        nb::arg("weight"), nb::arg("bias"), nb::arg("own"), nb::arg("offsets"),
        nb::arg("edge_source"), nb::arg("edge_label"), nb::arg("negative_slope"),
        nb::arg("threads"), nb::arg("out"), nb::arg("attended"), nb::arg("shares"));
  m.def("attention_backward", &Backward, nb::arg("nodes"), nb::arg("projected"), nb::arg("label"),
        nb::arg("weight"), nb::arg("bias"), nb::arg("own"), nb::arg("offsets"),
        nb::arg("edge_source"), nb::arg("edge_label"), nb::arg("negative_slope"),
        nb::arg("threads"), nb::arg("attended"), nb::arg("shares"), nb::arg("gradient"),
        nb::arg("to_nodes"), nb::arg("to_projected"), nb::arg("to_label"), nb::arg("to_weight"),
        nb::arg("to_bias"));
}

}  // namespace

NB_MODULE(_graphs, m) {
  BindRefinement(m);
  BindAttention(m);
}

}  // namespace hlograph
