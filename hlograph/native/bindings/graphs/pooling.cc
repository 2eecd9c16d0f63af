// Binds sums over the nodes of graphs.
#include "hlograph/native/kernels/pooling.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>

#include "hlograph/native/bindings/graphs/arrays.h"
#include "hlograph/native/bindings/graphs/bind.h"
#include "hlograph/native/kernels/weighted_sums.h"

namespace hlograph {
namespace {

WeightedEntries EntriesOf(const In<int64_t, 1>& offsets, const In<int32_t, 1>& place,
                          const In<float, 1>& weight, int64_t rows) {
  Expect(weight.shape(0) == place.shape(0), "there must be one weight for each entry");
  ExpectOffsets(offsets, static_cast<int64_t>(place.shape(0)));
  ExpectBelow(place, rows, "an entry of a row that there is not");
  const int64_t sums = static_cast<int64_t>(offsets.shape(0)) - 1;
  return {sums, offsets.data(), place.data(), weight.data()};
}

void Sums(const In<float, 2>& values, const In<int64_t, 1>& offsets, const In<int32_t, 1>& place,
          const In<float, 1>& weight, int threads, Out<float, 2> out) {
  nb::gil_scoped_release release;
  const int64_t rows = static_cast<int64_t>(values.shape(0));
  const int64_t columns = static_cast<int64_t>(values.shape(1));
  const WeightedEntries entries = EntriesOf(offsets, place, weight, rows);
  Expect(HasShape(out, entries.sums, columns), "results of the wrong shape");
  WeightedSums(entries, values.data(), columns, threads, out.data());
}

void SumsBackward(const In<float, 2>& gradient, const In<int64_t, 1>& offsets,
                  const In<int32_t, 1>& place, const In<float, 1>& weight, int threads,
                  Out<float, 2> to_values) {
  nb::gil_scoped_release release;
  const int64_t rows = static_cast<int64_t>(to_values.shape(0));
  const int64_t columns = static_cast<int64_t>(to_values.shape(1));
  const WeightedEntries entries = EntriesOf(offsets, place, weight, rows);
  Expect(HasShape(gradient, entries.sums, columns), "gradients of the wrong shape");
  WeightedSumsBackward(entries, gradient.data(), rows, columns, threads, to_values.data());
}

PoolingShape ShapeOf(const In<float, 2>& projected, int64_t heads, int64_t width, int64_t kinds,
                     float limit) {
  PoolingShape shape;
  shape.rows = static_cast<int64_t>(projected.shape(0));
  shape.columns = static_cast<int64_t>(projected.shape(1));
  shape.heads = heads;
  shape.width = width;
  shape.kinds = kinds;
  shape.limit = limit;
  Expect(heads >= 1 && width >= 0 && kinds >= 0, "there must be one head at least");
  Expect(PoolingSupports(shape),
         "width, kinds and columns must be multiples of 8, and rows hold a gate for each head");
  return shape;
}

void Terms(const In<float, 2>& projected, int64_t heads, int64_t width, int64_t kinds, float limit,
           int threads, Out<float, 2> terms) {
  nb::gil_scoped_release release;
  const PoolingShape shape = ShapeOf(projected, heads, width, kinds, limit);
  Expect(HasShape(terms, shape.rows, shape.columns), "results of the wrong shape");
  PoolingTerms(shape, projected.data(), threads, terms.data());
}

void TermsBackward(const In<float, 2>& projected, int64_t heads, int64_t width, int64_t kinds,
                   float limit, int threads, const In<float, 2>& terms,
                   const In<float, 2>& gradient, Out<float, 2> to_projected) {
  nb::gil_scoped_release release;
  const PoolingShape shape = ShapeOf(projected, heads, width, kinds, limit);
  Expect(HasShape(terms, shape.rows, shape.columns) &&
             HasShape(gradient, shape.rows, shape.columns) &&
             HasShape(to_projected, shape.rows, shape.columns),
         "gradients of the wrong shape");
  PoolingBackward(shape, projected.data(), terms.data(), gradient.data(), threads,
                  to_projected.data());
}

}  // namespace

void BindPooling(nb::module_& m) {
  m.def("weighted_sums", &Sums, nb::arg("values"), nb::arg("offsets"), nb::arg("place"),
        nb::arg("weight"), nb::arg("threads"), nb::arg("out"));
  m.def("weighted_sums_backward", &SumsBackward, nb::arg("gradient"), nb::arg("offsets"),
        nb::arg("place"), nb::arg("weight"), nb::arg("threads"), nb::arg("to_values"));
  m.def("pooling_terms", &Terms, nb::arg("projected"), nb::arg("heads"), nb::arg("width"),
        nb::arg("kinds"), nb::arg("limit"), nb::arg("threads"), nb::arg("terms"));
  m.def("pooling_terms_backward", &TermsBackward, nb::arg("projected"), nb::arg("heads"),
        nb::arg("width"), nb::arg("kinds"), nb::arg("limit"), nb::arg("threads"), nb::arg("terms"),
        nb::arg("gradient"), nb::arg("to_projected"));
}

}  // namespace hlograph
