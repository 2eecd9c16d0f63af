#include "hlograph/native/kernels/projection.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hlograph/native/kernels/ranges.h"

namespace hlograph {
namespace {

// Rows that are normalised and projected together, so that they stay in the nearest cache.
constexpr int64_t kBlock = 48;
// Rows whose gradients of parameters are added up by one thread. The sums of all such parts are
// added in order.
constexpr int64_t kPart = 4096;

// Calls work(first, count) for the blocks of some rows.
template <typename Work>
void ForBlocks(int64_t begin, int64_t end, const Work& work) {
  for (; begin < end; begin += kBlock) work(begin, std::min(kBlock, end - begin));
}

struct PartialSums {
  explicit PartialSums(const DenseLayer& of)
      : dense(of.outputs(), of.inputs()), scale(of.inputs()), shift(of.inputs()) {}

  DenseGradient dense;
  std::vector<float> scale;
  std::vector<float> shift;
};

void AddTo(const std::vector<float>& values, float* to) {
  for (size_t i = 0; i < values.size(); ++i) to[i] += values[i];
}

}  // namespace

void Project(const Projection& projection, const float* rows, int64_t count, int threads,
             float* out) {
  const int64_t width = projection.norm.columns(), outputs = projection.dense.outputs();
  ForRanges(count, count, threads, [&](int64_t begin, int64_t end) {
    std::vector<float> normed(kBlock * width);
    ForBlocks(begin, end, [&](int64_t row, int64_t block) {
      projection.norm.Apply(rows + row * width, block, normed.data());
      projection.dense.Apply(normed.data(), width, block, out + row * outputs);
    });
  });
}

void ProjectBackward(const Projection& projection, const float* rows, int64_t count, int threads,
                     const float* gradient, const ProjectionGradients& gradients) {
  const LayerNorm& norm = projection.norm;
  const DenseLayer& dense = projection.dense;
  const int64_t width = norm.columns(), outputs = dense.outputs();
  const DenseLayer transposed = dense.Transposed();
  const int64_t parts = (count + kPart - 1) / kPart;
  std::vector<PartialSums> sums(parts, PartialSums(dense));
  ForRanges(parts, count, threads, [&](int64_t first, int64_t last) {
    std::vector<float> normed(kBlock * width + DenseGradient::kBeyond), arrived(kBlock * width);
    for (int64_t part = first; part < last; ++part) {
      PartialSums& of = sums[part];
      ForBlocks(part * kPart, std::min((part + 1) * kPart, count), [&](int64_t row, int64_t block) {
        const float* from = rows + row * width;
        const float* through = gradient + row * outputs;
        norm.Apply(from, block, normed.data());
        of.dense.Add(normed.data(), through, block);
        transposed.Apply(through, outputs, block, arrived.data());
        norm.Backward(from, arrived.data(), block, gradients.rows + row * width, of.scale.data(),
                      of.shift.data());
      });
    }
  });
  std::fill_n(gradients.scale, width, 0.0f);
  std::fill_n(gradients.shift, width, 0.0f);
  std::fill_n(gradients.weight, outputs * width, 0.0f);
  std::fill_n(gradients.bias, outputs, 0.0f);
  for (const PartialSums& of : sums) {
    AddTo(of.scale, gradients.scale);
    AddTo(of.shift, gradients.shift);
    of.dense.AddTo(gradients.weight, gradients.bias);
  }
}

}  // namespace hlograph
