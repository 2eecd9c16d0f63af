#include "hlograph/native/kernels/dense.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hlograph/native/kernels/lanes.h"

namespace hlograph {
namespace {

constexpr int64_t kPanel = 2 * kLanes;  // columns that are computed together
constexpr int64_t kRows = 6;            // rows that are: their sums fill the registers

struct Panel {
  const float* weight;  // [inputs, kPanel]
  const float* bias;    // [kPanel]
  int64_t inputs;
};

// Writes kCount rows of the columns of a panel.
template <int kCount>
inline void MultiplyRows(const Panel& panel, const float* rows, int64_t stride, Lanes (*sums)[2]) {
  for (int r = 0; r < kCount; ++r) {
    sums[r][0] = At(panel.bias);
    sums[r][1] = At(panel.bias + kLanes);
  }
  for (int64_t k = 0; k < panel.inputs; ++k) {
    const Lanes first = At(panel.weight + k * kPanel);
    const Lanes second = At(panel.weight + k * kPanel + kLanes);
    for (int r = 0; r < kCount; ++r) {
      const Lanes value = Broadcast(rows[r * stride + k]);
      sums[r][0] += value * first;
      sums[r][1] += value * second;
    }
  }
}

template <int kCount>
inline void WriteRows(const Panel& panel, const float* rows, int64_t stride, float* out,
                      int64_t out_stride, int64_t columns) {
  Lanes sums[kCount][2];
  MultiplyRows<kCount>(panel, rows, stride, sums);
  for (int r = 0; r < kCount; ++r) {
    float* to = out + r * out_stride;
    if (columns == kPanel) {
      At(to) = sums[r][0];
      At(to + kLanes) = sums[r][1];
    } else {
      for (int64_t c = 0; c < columns; ++c) to[c] = sums[r][c / kLanes][c % kLanes];
    }
  }
}

HLOGRAPH_FOR_EACH_PROCESSOR void MultiplyPanel(const Panel& panel, const float* rows,
                                               int64_t stride, int64_t count, float* out,
                                               int64_t out_stride, int64_t columns) {
  int64_t row = 0;
  for (; row + kRows <= count; row += kRows) {
    WriteRows<kRows>(panel, rows + row * stride, stride, out + row * out_stride, out_stride,
                     columns);
  }
  for (; row < count; ++row) {
    WriteRows<1>(panel, rows + row * stride, stride, out + row * out_stride, out_stride, columns);
  }
}

HLOGRAPH_FOR_EACH_PROCESSOR void Normalise(const float* rows, int64_t count, int64_t columns,
                                           const float* scale, const float* shift, float epsilon,
                                           float* out) {
  const float share = 1.0f / static_cast<float>(columns);
  for (int64_t row = 0; row < count; ++row) {
    const float* from = rows + row * columns;
    Lanes sum = {}, squares = {};
    for (int64_t i = 0; i < columns; i += kLanes) sum += At(from + i);
    const Lanes mean = Broadcast(Sum(sum) * share);
    for (int64_t i = 0; i < columns; i += kLanes) {
      const Lanes away = At(from + i) - mean;
      squares += away * away;
    }
    const float inverse = 1.0f / std::sqrt(Sum(squares) * share + epsilon);
    float* to = out + row * columns;
    for (int64_t i = 0; i < columns; i += kLanes) {
      At(to + i) = (At(from + i) - mean) * inverse * At(scale + i) + At(shift + i);
    }
  }
}

}  // namespace

DenseLayer::DenseLayer(const float* weight, const float* bias, int64_t outputs, int64_t inputs)
    : inputs_(inputs), outputs_(outputs) {
  const int64_t panels = (outputs + kPanel - 1) / kPanel;
  panels_.resize(panels * inputs * kPanel);
  bias_.resize(panels * kPanel);
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t panel = o / kPanel, column = o % kPanel;
    bias_[o] = bias[o];
    for (int64_t i = 0; i < inputs; ++i) {
      panels_[(panel * inputs + i) * kPanel + column] = weight[o * inputs + i];
    }
  }
}

void DenseLayer::Apply(const float* rows, int64_t stride, int64_t count, float* out) const {
  // As many rows at a time as stay in the nearest cache while all panels go over them.
  constexpr int64_t kBlock = 8 * kRows;
  for (int64_t row = 0; row < count; row += kBlock) {
    const int64_t block = std::min(kBlock, count - row);
    for (int64_t first = 0; first < outputs_; first += kPanel) {
      const Panel panel = {panels_.data() + first * inputs_, bias_.data() + first, inputs_};
      MultiplyPanel(panel, rows + row * stride, stride, block, out + row * outputs_ + first,
                    outputs_, std::min(kPanel, outputs_ - first));
    }
  }
}

void LayerNorm::Apply(const float* rows, int64_t count, float* out) const {
  Normalise(rows, count, columns(), scale_.data(), shift_.data(), epsilon_, out);
}

}  // namespace hlograph
