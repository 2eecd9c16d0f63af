// Binds the layer of attention.
#include "hlograph/native/kernels/attention.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"

namespace hlograph {
namespace {

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
  ExpectOffsets(offsets, shape.edges);
  ExpectBelow(own, shape.nodes, "a row of a node that there is not");
  ExpectBelow(edge_source, shape.nodes, "an edge from a source that there is not");
  ExpectBelow(edge_label, shape.labels, "an edge with a label that there is not");
  return shape;
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

}  // namespace

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

}  // namespace hlograph
