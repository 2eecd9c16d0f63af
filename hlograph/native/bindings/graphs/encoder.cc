// Binds the encoder of graphs.
#include "hlograph/native/kernels/encoder.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"
#include "hlograph/native/bindings/numpy_array.h"

namespace hlograph {
namespace {

template <typename Array>
std::vector<float> Values(const Array& array) {
  return {array.data(), array.data() + array.size()};
}

// Collects the parts of an encoder, whose shapes are checked as they come.
class EncoderParts {
 public:
  EncoderParts(const std::vector<In<float, 2>>& embeddings, const In<float, 2>& features,
               const In<float, 1>& features_bias, int64_t heads, int64_t head_width,
               float negative_slope)
      : width_(heads * head_width) {
    Expect(heads >= 1 && AttentionSupports(head_width),
           "there must be a head, and its width must be 8, 16, 32 or 64");
    attention_.heads = heads;
    attention_.width = head_width;
    attention_.negative_slope = negative_slope;
    for (const In<float, 2>& embedding : embeddings) {
      Expect(Size(embedding, 1) == width_, "embeddings must be heads * width wide");
      input_.embeddings.push_back({Values(embedding), Size(embedding, 0)});
    }
    Expect(Size(features, 0) == width_ || Size(features, 0) == 0,
           "features must be mapped to heads * width values, or to none");
    input_.features = Dense(features, features_bias);
  }

  void AddLayer(const In<float, 1>& scale, const In<float, 1>& shift, float epsilon,
                const In<float, 2>& projection, const In<float, 1>& projection_bias,
                const In<float, 2>& label, const In<float, 2>& weight, const In<float, 1>& bias) {
    Expect(Size(scale, 0) == width_ && HasShape(projection, 2 * width_, width_) &&
               Size(label, 1) == width_ && HasShape(weight, attention_.heads, attention_.width) &&
               Size(bias, 0) == width_,
           "a layer of another width");
    Expect(layers_.empty() || Size(label, 0) == attention_.labels,
           "all layers must have the same labels");
    attention_.labels = Size(label, 0);
    layers_.push_back({ProjectionOf(scale, shift, epsilon, projection, projection_bias),
                       Values(label), Values(weight), Values(bias)});
  }

  GraphEncoder Encoder(const In<float, 1>& scale, const In<float, 1>& shift, float epsilon,
                       const In<float, 2>& projection, const In<float, 1>& projection_bias,
                       int64_t kinds, float limit, float count_scale) {
    PoolingShape shape;
    shape.columns = Size(projection, 0);
    shape.heads = attention_.heads;
    shape.width = attention_.width;
    shape.kinds = kinds;
    shape.limit = limit;
    Expect(kinds >= 0 && PoolingSupports(shape) && shape.columns > width_ + kinds + shape.heads,
           "kinds and columns must be multiples of 8, and rows hold a gate more than heads");
    Expect(Size(scale, 0) == width_ && Size(projection, 1) == width_, "pooling of another width");
    return {input_, layers_, attention_,
            GraphPooling{ProjectionOf(scale, shift, epsilon, projection, projection_bias), shape,
                         count_scale}};
  }

 private:
  int64_t width_;
  NodeInput input_;
  std::vector<EncoderLayer> layers_;
  AttentionShape attention_;
};

void EncodeGraphs(GraphEncoder& encoder, const In<int64_t, 1>& offsets, const In<int32_t, 1>& place,
                  const In<float, 1>& weight, Out<float, 2> out) {
  nb::gil_scoped_release release;
  Expect(weight.shape(0) == place.shape(0), "there must be one weight for each entry");
  ExpectOffsets(offsets, Size(place, 0));
  ExpectBelow(place, encoder.nodes().size(), "a colour that is not encoded");
  const int64_t graphs = Size(offsets, 0) - 1;
  Expect(HasShape(out, graphs, encoder.graph_width()), "results of the wrong shape");
  encoder.EncodeGraphs({graphs, offsets.data(), place.data(), weight.data()}, out.data());
}

using Matrix = nb::ndarray<nb::numpy, float, nb::shape<-1, -1>, nb::c_contig>;

Matrix Nodes(const GraphEncoder& encoder) {
  const GrowingRows& nodes = encoder.nodes();
  const size_t count = nodes.size(), width = nodes.width();
  return ToNumpy<Matrix>(std::vector<float>(nodes.data(), nodes.data() + count * width),
                         {count, width});
}

}  // namespace

void BindEncoder(nb::module_& m) {
  nb::class_<GraphEncoder>(m, "GraphEncoder")
      .def("extend", &GraphEncoder::Extend, nb::arg("refinement"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("encode", &EncodeGraphs, nb::arg("offsets"), nb::arg("place"), nb::arg("weight"),
           nb::arg("out"))
      .def_prop_ro("graph_width", &GraphEncoder::graph_width)
      .def("nodes", &Nodes);
  nb::class_<EncoderParts>(m, "EncoderParts")
      .def(nb::init<const std::vector<In<float, 2>>&, const In<float, 2>&, const In<float, 1>&,
                    int64_t, int64_t, float>(),
           nb::arg("embeddings"), nb::arg("features"), nb::arg("features_bias"), nb::arg("heads"),
           nb::arg("head_width"), nb::arg("negative_slope"))
      .def("add_layer", &EncoderParts::AddLayer, nb::arg("scale"), nb::arg("shift"),
           nb::arg("epsilon"), nb::arg("projection"), nb::arg("projection_bias"), nb::arg("label"),
           nb::arg("weight"), nb::arg("bias"))
      .def("encoder", &EncoderParts::Encoder, nb::arg("scale"), nb::arg("shift"),
           nb::arg("epsilon"), nb::arg("projection"), nb::arg("projection_bias"), nb::arg("kinds"),
           nb::arg("limit"), nb::arg("count_scale"));
}

}  // namespace hlograph
