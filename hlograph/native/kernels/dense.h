// Fully connected layers and layer normalisation of rows of floats, and their gradients.
//
// A row of the result depends on that row of the input alone, bit for bit: rows may be computed
// together or one by one. Knows neither XLA nor Python.
#ifndef HLOGRAPH_NATIVE_KERNELS_DENSE_H_
#define HLOGRAPH_NATIVE_KERNELS_DENSE_H_

#include <cstdint>
#include <vector>

namespace hlograph {

// Matrix and bias of a layer, which are kept in the order in which the products read them.
class DenseLayer {
 public:
  DenseLayer() = default;
  // `weight` is [outputs, inputs] and `bias` [outputs].
  DenseLayer(const float* weight, const float* bias, int64_t outputs, int64_t inputs);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  // Writes out [count, outputs] of rows that begin `stride` floats apart.
  void Apply(const float* rows, int64_t stride, int64_t count, float* out) const;
  // Returns the layer that maps gradients of the outputs to gradients of the inputs.
  DenseLayer Transposed() const;

 private:
  int64_t inputs_ = 0;
  int64_t outputs_ = 0;
  std::vector<float> panels_;  // [panels, inputs, kPanel]: columns of the result, side by side
  std::vector<float> bias_;    // [panels, kPanel]
};

// Gradients of the parameters of a fully connected layer, added up over rows.
class DenseGradient {
 public:
  // Floats beyond the last row that are read, whatever they are.
  static constexpr int64_t kBeyond = 16;

  DenseGradient(int64_t outputs, int64_t inputs);

  // Adds those of rows [count, inputs], given the gradient of their outputs [count, outputs].
  void Add(const float* rows, const float* gradient, int64_t count);
  // Adds them to arrays of the shapes of the parameters.
  void AddTo(float* weight, float* bias) const;

 private:
  int64_t inputs_;
  int64_t outputs_;
  std::vector<float> panels_;  // [panels, outputs, kPanel]: columns of the weight, side by side
  std::vector<float> bias_;    // [outputs]
};

// Layer normalisation with a scale and a shift for each column (Ba et al. 2016, arXiv:1607.06450).
class LayerNorm {
 public:
  LayerNorm() = default;
  // There are a multiple of 8 columns.
  LayerNorm(const float* scale, const float* shift, int64_t columns, float epsilon)
      : scale_(scale, scale + columns), shift_(shift, shift + columns), epsilon_(epsilon) {}

  int64_t columns() const { return static_cast<int64_t>(scale_.size()); }
  // Writes out [count, columns], given rows of the same shape.
  void Apply(const float* rows, int64_t count, float* out) const;
  // Writes the gradient of the rows, given that of the result, and adds those of scale and shift.
  void Backward(const float* rows, const float* gradient, int64_t count, float* to_rows,
                float* to_scale, float* to_shift) const;

 private:
  std::vector<float> scale_;
  std::vector<float> shift_;
  float epsilon_ = 0.0f;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_DENSE_H_
