// Parts of convolutions: their axes, rows of the input with zeros around them, panels of the
// kernel.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_CONVOLVED_ARRAYS_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_CONVOLVED_ARRAYS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "hlograph/native/custom_calls/product_tiles.h"

namespace hlograph {

// A spatial dimension: tap k at position p meets the element p * stride + k * dilation - low.
struct WindowAxis {
  int64_t size = 1, taps = 1, positions = 1;
  int64_t stride = 1, dilation = 1, low = 0;
  bool reversed = false;
  int64_t tap_step = 0;  // from a tap to the next one, in the elements of the kernel

  int64_t Reach(int64_t count_of_positions, int64_t count_of_taps) const {
    return (count_of_positions - 1) * stride + (count_of_taps - 1) * dilation + 1;
  }

  // A tap, and the next one from there on, in the elements of the kernel.
  int64_t Tap(int64_t tap) const { return (reversed ? taps - 1 - tap : tap) * tap_step; }
  int64_t NextTap() const { return reversed ? -tap_step : tap_step; }
};

// A convolution. The input is [images][rows][columns][channels]. Channels are summed over, or
// images are if `by_kernel`: each channel is convolved alone then, as in gradients by the kernel.
// If `depthwise`, features are channels, and each meets its own part of the kernel alone.
template <typename T>
struct ConvolvedArrays {
  const T* input;
  const T* kernel;
  T* output;  // [images][rows][columns][features], or [rows][columns][channels][features]
  int64_t images, channels, features;
  int64_t input_step, feature_step;  // in the kernel, along what is summed and along features
  std::array<WindowAxis, 2> axes;
  bool by_kernel, depthwise;

  const WindowAxis& rows() const { return axes[0]; }
  const WindowAxis& columns() const { return axes[1]; }
  int64_t width() const { return columns().Reach(columns().positions, columns().taps); }
};

// Elements of the kernel, a row of a panel for each: the first one, and the step to the next.
struct KernelRun {
  int64_t first, step, count;
};

// What is multiplied at once: of the input and of the kernel.
struct Depth {
  std::vector<Run> runs;
  std::vector<KernelRun> kernel;
  int64_t count = 0;

  // Adds neighbours, which lie `input_step` apart in the input.
  void Add(int64_t first, int64_t input_step, const KernelRun& run) {
    count += run.count;
    if (!runs.empty() && runs.back().first + runs.back().count * input_step == first) {
      runs.back().count += run.count;
    } else {
      runs.push_back({first, run.count});
    }
    if (!kernel.empty() && kernel.back().step == run.step &&
        kernel.back().first + kernel.back().count * run.step == run.first) {
      kernel.back().count += run.count;
    } else {
      kernel.push_back(run);
    }
  }
};

// Adds a run to the last of several depths, and to new ones where that has `most` elements.
inline void AddRun(std::vector<Depth>& depths, int64_t most, int64_t first, int64_t input_step,
                   const KernelRun& run) {
  for (int64_t begin = 0, count; begin < run.count; begin += count) {
    if (depths.back().count >= most) depths.emplace_back();
    count = std::min(run.count - begin, most - depths.back().count);
    depths.back().Add(first + begin * input_step, input_step,
                      {run.first + begin * run.step, run.step, count});
  }
}

// Copies rows of an image with the zeros around them: row 0 is that of `from` in the image.
template <typename T>
void CopyRows(const ConvolvedArrays<T>& convolution, int64_t image, int64_t from, int64_t count,
              T* to) {
  const int64_t channels = convolution.channels, width = convolution.width();
  const int64_t size = convolution.columns().size, low = convolution.columns().low;
  const int64_t begin = std::clamp<int64_t>(low, 0, width);
  const int64_t end = std::clamp<int64_t>(low + size, begin, width);
  for (int64_t i = 0; i < count; ++i, to += width * channels) {
    const int64_t row = from + i;
    if (row < 0 || row >= convolution.rows().size) {
      std::fill_n(to, width * channels, T{0});
      continue;
    }
    const T* const first =
        convolution.input + (image * convolution.rows().size + row) * size * channels;
    std::fill_n(to, begin * channels, T{0});
    std::copy_n(first + (begin - low) * channels, (end - begin) * channels, to + begin * channels);
    std::fill_n(to + end * channels, (width - end) * channels, T{0});
  }
}

// Copies columns of the kernel to a panel, with zeros up to its width.
template <typename T>
void PackPanel(const ConvolvedArrays<T>& convolution, const Depth& depth, int64_t feature,
               int64_t features, T* panel) {
  const int64_t width = PanelWidth<T>(features), step = convolution.feature_step;
  for (const KernelRun& run : depth.kernel) {
    const T* from = convolution.kernel + run.first + feature * step;
    for (int64_t k = 0; k < run.count; ++k, from += run.step, panel += width) {
      for (int64_t i = 0; i < features; ++i) panel[i] = from[i * step];
      std::fill(panel + features, panel + width, T{0});
    }
  }
}

// Returns where the positions of some rows are in the input, and `each` channels at a position.
template <typename T>
std::vector<int64_t> PlacesOf(const ConvolvedArrays<T>& arrays, int64_t rows, int64_t each) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < arrays.columns().positions; ++j) {
      const int64_t place = i * arrays.rows().stride * arrays.width() + j * arrays.columns().stride;
      for (int64_t k = 0; k < each; ++k) places.push_back(place * arrays.channels + k);
    }
  }
  return places;
}

// What is multiplied with a panel: elements of the input, `step` apart in a run, at the places from
// `begin` to before `end`. The panel is memory of this thread.
template <typename T>
struct PanelProducts {
  const T* input;
  const std::vector<int64_t>& places;
  int64_t step;
  int64_t begin, end;
  T* panel;
  T* output;  // of the first place and feature
};

// Multiplies a panel, whose number says which features it has.
template <typename T>
void MultiplyPanel(const ConvolvedArrays<T>& arrays, const PanelProducts<T>& products,
                   const Depth& depth, int64_t number, int64_t width, bool adds) {
  const int64_t feature = number * width, features = std::min(arrays.features - feature, width);
  PackPanel(arrays, depth, feature, features, products.panel);
  const T* const input = arrays.depthwise ? products.input + feature : products.input;
  MultiplyTiles<T>({input, products.places, depth.runs, products.step, products.panel, features,
                    products.output + feature, arrays.features, adds, arrays.depthwise},
                   products.begin, products.end);
}

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_CONVOLVED_ARRAYS_H_
