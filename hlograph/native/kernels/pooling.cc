#include "hlograph/native/kernels/pooling.h"

#include <cstdint>

#include "hlograph/native/kernels/lanes.h"
#include "hlograph/native/kernels/ranges.h"

namespace hlograph {
namespace {

HLOGRAPH_FOR_EACH_PROCESSOR void TermsOfRows(const PoolingShape& shape, const float* projected,
                                             int64_t begin, int64_t end, float* terms) {
  const int64_t values = shape.heads * shape.width, gates = values + shape.kinds;
  for (int64_t row = begin; row < end; ++row) {
    const float* from = projected + row * shape.columns;
    float* to = terms + row * shape.columns;
    for (int64_t i = gates; i < shape.columns; i += kLanes) {
      At(to + i) = Exp(shape.limit * Tanh(At(from + i) / shape.limit));
    }
    for (int64_t i = values; i < gates; i += kLanes) At(to + i) = Sigmoid(At(from + i));
    for (int64_t h = 0; h < shape.heads; ++h) {
      const float weight = to[gates + h];
      for (int64_t i = h * shape.width; i < (h + 1) * shape.width; i += kLanes) {
        At(to + i) = weight * At(from + i);
      }
    }
  }
}

HLOGRAPH_FOR_EACH_PROCESSOR void BackwardRows(const PoolingShape& shape, const float* projected,
                                              const float* terms, const float* gradient,
                                              int64_t begin, int64_t end, float* to_projected) {
  const int64_t values = shape.heads * shape.width, gates = values + shape.kinds;
  for (int64_t row = begin; row < end; ++row) {
    const float* from = projected + row * shape.columns;
    const float* term = terms + row * shape.columns;
    const float* arrived = gradient + row * shape.columns;
    float* to = to_projected + row * shape.columns;
    for (int64_t i = gates; i < shape.columns; i += kLanes) At(to + i) = At(arrived + i);
    for (int64_t h = 0; h < shape.heads; ++h) {
      Lanes through = {};
      for (int64_t i = h * shape.width; i < (h + 1) * shape.width; i += kLanes) {
        At(to + i) = term[gates + h] * At(arrived + i);
        through += At(arrived + i) * At(from + i);
      }
      to[gates + h] += Sum(through);
    }
    for (int64_t i = values; i < gates; i += kLanes) {
      At(to + i) = At(arrived + i) * At(term + i) * (1.0f - At(term + i));
    }
    for (int64_t i = gates; i < shape.columns; i += kLanes) {
      const Lanes bent = Tanh(At(from + i) / shape.limit);
      At(to + i) *= At(term + i) * (1.0f - bent * bent);
    }
  }
}

}  // namespace

bool PoolingSupports(const PoolingShape& shape) {
  const int64_t gates = shape.heads * shape.width + shape.kinds;
  return shape.width % kLanes == 0 && shape.kinds % kLanes == 0 && shape.columns % kLanes == 0 &&
         gates + shape.heads <= shape.columns;
}

void PoolingTerms(const PoolingShape& shape, const float* projected, int threads, float* terms) {
  ForRanges(shape.rows, shape.rows, threads,
            [&](int64_t begin, int64_t end) { TermsOfRows(shape, projected, begin, end, terms); });
}

void PoolingBackward(const PoolingShape& shape, const float* projected, const float* terms,
                     const float* gradient, int threads, float* to_projected) {
  ForRanges(shape.rows, shape.rows, threads, [&](int64_t begin, int64_t end) {
    BackwardRows(shape, projected, terms, gradient, begin, end, to_projected);
  });
}

}  // namespace hlograph
