#include "hlograph/native/kernels/dense.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hlograph/native/custom_calls/processor.h"
#include "hlograph/native/kernels/lanes.h"

namespace hlograph {
namespace {

constexpr int64_t kPanel = 16;  // columns that are computed together
static_assert(DenseGradient::kBeyond == kPanel, "a panel may begin in the last column of a row");

// Factors of the sums over k of left(r, k) * right(k, c), for the columns c of a panel.
struct Factors {
  const float* left;
  int64_t left_row;
  int64_t left_step;   // from k to the next one
  const float* right;  // [steps, at least kPanel]
  int64_t right_step;
  int64_t steps;
};

// Where the sums begin, and where the first ones of their columns are written.
struct Sums {
  const float* start;
  int64_t start_row;
  float* out;
  int64_t out_row;
  int64_t columns;
};

// Vectors that a processor computes with, and the rows whose sums fill its registers.
struct Narrow {
  using Vector = Lanes;
  static constexpr int kRows = 6;
};
struct Wide {
  using Vector = WideLanes;
  static constexpr int kRows = 12;
};

template <typename Kind, int kCount>
inline void SumRows(const Factors& of, const Sums& to, int64_t row) {
  using Vector = typename Kind::Vector;
  constexpr int kWidth = sizeof(Vector) / sizeof(float), kVectors = kPanel / kWidth;
  const auto load = [](const float* from) { return *reinterpret_cast<const Vector*>(from); };
  Vector sums[kCount][kVectors];
  for (int r = 0; r < kCount; ++r) {
    const float* start = to.start + (row + r) * to.start_row;
    for (int v = 0; v < kVectors; ++v) sums[r][v] = load(start + v * kWidth);
  }
  const float* left = of.left + row * of.left_row;
  const float* right = of.right;
  for (int64_t k = 0; k < of.steps; ++k, left += of.left_step, right += of.right_step) {
    for (int r = 0; r < kCount; ++r) {
      const float value = left[r * of.left_row];
      for (int v = 0; v < kVectors; ++v) sums[r][v] += value * load(right + v * kWidth);
    }
  }
  for (int r = 0; r < kCount; ++r) {
    float some[kPanel];
    float* out = to.out + (row + r) * to.out_row;
    float* whole = to.columns == kPanel ? out : some;
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Vector*>(whole + v * kWidth) = sums[r][v];
    if (whole == some) std::copy_n(some, to.columns, out);
  }
}

template <typename Kind>
inline void SumPanelBy(const Factors& of, const Sums& to, int64_t rows) {
  int64_t row = 0;
  for (; row + Kind::kRows <= rows; row += Kind::kRows) SumRows<Kind, Kind::kRows>(of, to, row);
  for (; row + 4 <= rows; row += 4) SumRows<Kind, 4>(of, to, row);
  for (; row < rows; ++row) SumRows<Kind, 1>(of, to, row);
}

HLOGRAPH_FOR_EACH_PROCESSOR void SumPanelNarrow(const Factors& of, const Sums& to, int64_t rows) {
  SumPanelBy<Narrow>(of, to, rows);
}

HLOGRAPH_FOR_WIDE_PROCESSORS void SumPanelWide(const Factors& of, const Sums& to, int64_t rows) {
  SumPanelBy<Wide>(of, to, rows);
}

// The bits are the same for both.
void SumPanel(const Factors& of, const Sums& to, int64_t rows) {
  return HasWideVectors() ? SumPanelWide(of, to, rows) : SumPanelNarrow(of, to, rows);
}

// Mean of a row, and the inverse of its standard deviation.
struct Moments {
  Lanes mean;
  float inverse;
};

inline Moments MomentsOf(const float* row, int64_t columns, float epsilon) {
  const float share = 1.0f / static_cast<float>(columns);
  Lanes sum = {}, squares = {};
  for (int64_t i = 0; i < columns; i += kLanes) sum += At(row + i);
  const Lanes mean = Broadcast(Sum(sum) * share);
  for (int64_t i = 0; i < columns; i += kLanes) {
    const Lanes away = At(row + i) - mean;
    squares += away * away;
  }
  return {mean, 1.0f / std::sqrt(Sum(squares) * share + epsilon)};
}

HLOGRAPH_FOR_EACH_PROCESSOR void Normalise(const float* rows, int64_t count, int64_t columns,
                                           const float* scale, const float* shift, float epsilon,
                                           float* out) {
  for (; count > 0; --count, rows += columns, out += columns) {
    const Moments of = MomentsOf(rows, columns, epsilon);
    for (int64_t i = 0; i < columns; i += kLanes) {
      At(out + i) = (At(rows + i) - of.mean) * of.inverse * At(scale + i) + At(shift + i);
    }
  }
}

HLOGRAPH_FOR_EACH_PROCESSOR void NormaliseBackward(const float* rows, const float* gradient,
                                                   int64_t count, int64_t columns,
                                                   const float* scale, float epsilon,
                                                   float* to_rows, float* to_scale,
                                                   float* to_shift) {
  const float share = 1.0f / static_cast<float>(columns);
  for (; count > 0; --count, rows += columns, gradient += columns, to_rows += columns) {
    const Moments of = MomentsOf(rows, columns, epsilon);
    Lanes sum = {}, along = {};
    for (int64_t i = 0; i < columns; i += kLanes) {
      const Lanes normed = (At(rows + i) - of.mean) * of.inverse;
      const Lanes scaled = At(gradient + i) * At(scale + i);
      sum += scaled;
      along += scaled * normed;
      At(to_scale + i) += At(gradient + i) * normed;
      At(to_shift + i) += At(gradient + i);
    }
    const float mean = Sum(sum) * share, slope = Sum(along) * share;
    for (int64_t i = 0; i < columns; i += kLanes) {
      const Lanes normed = (At(rows + i) - of.mean) * of.inverse;
      At(to_rows + i) = (At(gradient + i) * At(scale + i) - mean - normed * slope) * of.inverse;
    }
  }
}

int64_t Panels(int64_t columns) { return (columns + kPanel - 1) / kPanel; }

}  // namespace

DenseLayer::DenseLayer(const float* weight, const float* bias, int64_t outputs, int64_t inputs)
    : inputs_(inputs), outputs_(outputs) {
  panels_.resize(Panels(outputs) * inputs * kPanel);
  bias_.resize(Panels(outputs) * kPanel);
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
  constexpr int64_t kBlock = 48;
  for (int64_t row = 0; row < count; row += kBlock) {
    const int64_t block = std::min(kBlock, count - row);
    for (int64_t first = 0; first < outputs_; first += kPanel) {
      SumPanel({rows + row * stride, stride, 1, panels_.data() + first * inputs_, kPanel, inputs_},
               {bias_.data() + first, 0, out + row * outputs_ + first, outputs_,
                std::min(kPanel, outputs_ - first)},
               block);
    }
  }
}

DenseLayer DenseLayer::Transposed() const {
  std::vector<float> weight(inputs_ * outputs_), bias(inputs_);
  for (int64_t i = 0; i < inputs_; ++i) {
    for (int64_t o = 0; o < outputs_; ++o) {
      weight[i * outputs_ + o] = panels_[(o / kPanel * inputs_ + i) * kPanel + o % kPanel];
    }
  }
  return {weight.data(), bias.data(), inputs_, outputs_};
}

DenseGradient::DenseGradient(int64_t outputs, int64_t inputs)
    : inputs_(inputs),
      outputs_(outputs),
      panels_(Panels(inputs) * outputs * kPanel),
      bias_(outputs) {}

void DenseGradient::Add(const float* rows, const float* gradient, int64_t count) {
  for (int64_t first = 0; first < inputs_; first += kPanel) {
    float* panel = panels_.data() + first * outputs_;
    SumPanel({gradient, 1, outputs_, rows + first, inputs_, count},
             {panel, kPanel, panel, kPanel, kPanel}, outputs_);
  }
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t o = 0; o < outputs_; ++o) bias_[o] += gradient[row * outputs_ + o];
  }
}

void DenseGradient::AddTo(float* weight, float* bias) const {
  for (int64_t o = 0; o < outputs_; ++o) {
    bias[o] += bias_[o];
    for (int64_t i = 0; i < inputs_; ++i) {
      weight[o * inputs_ + i] += panels_[(i / kPanel * outputs_ + o) * kPanel + i % kPanel];
    }
  }
}

void LayerNorm::Apply(const float* rows, int64_t count, float* out) const {
  Normalise(rows, count, columns(), scale_.data(), shift_.data(), epsilon_, out);
}

void LayerNorm::Backward(const float* rows, const float* gradient, int64_t count, float* to_rows,
                         float* to_scale, float* to_shift) const {
  NormaliseBackward(rows, gradient, count, columns(), scale_.data(), epsilon_, to_rows, to_scale,
                    to_shift);
}

}  // namespace hlograph
