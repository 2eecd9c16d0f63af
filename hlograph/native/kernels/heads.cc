#include "hlograph/native/kernels/heads.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hlograph/native/kernels/lanes.h"

namespace hlograph {
namespace {

HLOGRAPH_FOR_EACH_PROCESSOR void TanhAll(float* values, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) At(values + i) = Tanh(At(values + i));
}

}  // namespace

void ApplyHead(const Head& head, const HeadInput& input, float* out) {
  const int64_t width = head.hidden.outputs();
  std::vector<float> hidden(input.count * width);
  head.hidden.Apply(input.rows, input.columns, input.count, hidden.data());
  TanhAll(hidden.data(), static_cast<int64_t>(hidden.size()));
  head.output.Apply(hidden.data(), width, input.count, out);
}

void LogSoftmax(const HeadInput& input, int64_t actions, float masked, float* logits) {
  for (int64_t row = 0; row < input.count; ++row, logits += actions) {
    const bool* mask = input.mask + row * actions;
    for (int64_t a = 0; a < actions; ++a) logits[a] = mask[a] ? logits[a] : masked;
    const float largest = *std::max_element(logits, logits + actions);
    float total = 0.0f;
    for (int64_t a = 0; a < actions; ++a) total += std::exp(logits[a] - largest);
    const float shift = largest + std::log(total);
    for (int64_t a = 0; a < actions; ++a) logits[a] -= shift;
  }
}

}  // namespace hlograph
