// Convolutions along one or two dimensions, and their gradients by the kernel.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "hlograph/native/custom_calls/convolved_arrays.h"
#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/processor.h"
#include "hlograph/native/custom_calls/product_tiles.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

// Bytes of a part of the input, and of a panel: both stay in the second cache.
constexpr int64_t kInputBytes = 192 << 10, kPanelBytes = 256 << 10;
constexpr int64_t kFewRows = 48;  // products with fewer rows take longer to pack a panel

// So many products are summed one after the other at most: then rounding errors stay small, and a
// panel stays in the second cache.
template <typename T>
int64_t MostSummed(int64_t panel_width) {
  constexpr int64_t kMost = 512;
  return std::clamp<int64_t>(kPanelBytes / sizeof(T) / panel_width, 1, kMost);
}

// Returns all taps and the channels that are summed, in parts whose panels are small enough.
template <typename T>
std::vector<Depth> DepthsOf(const ConvolvedArrays<T>& convolution, int64_t panel_width) {
  const int64_t most = MostSummed<T>(panel_width);
  const WindowAxis& rows = convolution.rows();
  const WindowAxis& columns = convolution.columns();
  const int64_t summed = convolution.depthwise ? 1 : convolution.channels;
  const int64_t input_step = convolution.depthwise ? convolution.channels : 1;
  const int64_t kernel_step = convolution.depthwise ? columns.NextTap() : convolution.input_step;
  std::vector<Depth> depths(1);
  for (int64_t i = 0; i < rows.taps; ++i) {
    for (int64_t j = 0; j < columns.taps; ++j) {
      const int64_t place =
          (i * rows.dilation * convolution.width() + j * columns.dilation) * convolution.channels;
      AddRun(depths, most, place, input_step, {rows.Tap(i) + columns.Tap(j), kernel_step, summed});
    }
  }
  return depths;
}

// Computes each position, summing over all taps and channels.
template <typename T>
class Forward {
 public:
  Forward(const ConvolvedArrays<T>& convolution, int64_t threads)
      : convolution_(convolution),
        width_(PanelWidth<T>(convolution.features)),
        depths_(DepthsOf(convolution, width_)) {
    SetParts(threads);
    places_ = PlacesOf(convolution, rows_, 1);
  }

  int64_t parts() const { return parts_.size(); }

  double nanoseconds() const {
    constexpr double kOfAProduct = 0.01;
    return kOfAProduct * rows_ * convolution_.columns().positions * panels_ * width_ *
           convolution_.rows().taps * convolution_.columns().taps * convolution_.channels;
  }

  void Compute(int64_t number) const {
    const Part& part = parts_[number];
    const int64_t input_rows = convolution_.rows().Reach(part.rows, convolution_.rows().taps);
    const int64_t elements = input_rows * convolution_.width() * convolution_.channels;
    const Scratch scratch((elements + MostDepth() * width_) * sizeof(T));
    T* const input = scratch.as<T>();
    T* const panel = input + elements;
    CopyRows(convolution_, part.image,
             part.row * convolution_.rows().stride - convolution_.rows().low, input_rows, input);
    const int64_t positions = convolution_.columns().positions;
    const int64_t first = (part.image * convolution_.rows().positions + part.row) * positions;
    const PanelProducts<T> products{input,
                                    places_,
                                    convolution_.depthwise ? convolution_.channels : 1,
                                    0,
                                    part.rows * positions,
                                    panel,
                                    convolution_.output + first * convolution_.features};
    for (int64_t i = part.panel; i < part.panel + part.panels; ++i) {
      for (const Depth& depth : depths_) {
        MultiplyPanel(convolution_, products, depth, i, width_, &depth != &depths_.front());
      }
    }
  }

 private:
  // Rows of positions of an image, and panels of features: what a thread computes at once.
  struct Part {
    int64_t image, row, rows, panel, panels;
  };

  int64_t MostDepth() const { return depths_.front().count; }

  // Several parts for each thread, of rows or, where they are few, of features.
  void SetParts(int64_t threads) {
    const WindowAxis& rows = convolution_.rows();
    const int64_t positions = rows.positions, wanted = 2 * threads;
    const int64_t row_bytes = convolution_.width() * convolution_.channels * sizeof(T);
    const int64_t fitting =
        (kInputBytes / row_bytes - (rows.taps - 1) * rows.dilation - 1) / rows.stride + 1;
    const int64_t few = (kFewRows - 1) / convolution_.columns().positions + 1;
    const int64_t shared = (convolution_.images * positions - 1) / wanted + 1;
    rows_ = std::clamp<int64_t>(std::min(fitting, std::max(few, shared)), 1, positions);
    const int64_t pieces = convolution_.images * ((positions - 1) / rows_ + 1);
    const int64_t panels = (convolution_.features - 1) / width_ + 1;
    const int64_t groups = std::min(panels, (wanted - 1) / pieces + 1);
    panels_ = (panels - 1) / groups + 1;
    for (int64_t image = 0; image < convolution_.images; ++image) {
      for (int64_t row = 0; row < positions; row += rows_) {
        for (int64_t panel = 0; panel < panels; panel += panels_) {
          parts_.push_back({image, row, std::min(rows_, positions - row), panel,
                            std::min(panels_, panels - panel)});
        }
      }
    }
  }

  const ConvolvedArrays<T>& convolution_;
  const int64_t width_;
  const std::vector<Depth> depths_;
  int64_t rows_ = 0, panels_ = 0;
  std::vector<Part> parts_;
  std::vector<int64_t> places_;  // of pixels in the rows of a part
};

// Sums over all images and taps, for some channels at some positions, and some panels of features.
template <typename T>
class Gradient {
 public:
  Gradient(const ConvolvedArrays<T>& convolution, int64_t threads)
      : convolution_(convolution),
        width_(PanelWidth<T>(FeaturesOfAPanel(convolution, threads))),
        places_(PlacesOf(convolution, convolution.rows().positions,
                         convolution.depthwise ? 1 : convolution.channels)) {
    SetParts(threads);
    const WindowAxis& rows = convolution.rows();
    const int64_t row_bytes = convolution.width() * convolution.channels * sizeof(T);
    const int64_t fitting =
        (kInputBytes / row_bytes - (rows.positions - 1) * rows.stride - 1) / rows.dilation + 1;
    taps_ = std::clamp<int64_t>(fitting, 1, rows.taps);
  }

  int64_t parts() const { return parts_.size(); }

  double nanoseconds() const {
    constexpr double kOfAProduct = 0.01;
    return kOfAProduct * convolution_.images * convolution_.rows().taps *
           convolution_.columns().taps * places_.size() * convolution_.features / parts();
  }

  void Compute(int64_t number) const {
    const Part& part = parts_[number];
    const WindowAxis& rows = convolution_.rows();
    const int64_t elements =
        rows.Reach(rows.positions, taps_) * convolution_.width() * convolution_.channels;
    const Scratch scratch((elements + MostSummed<T>(width_) * width_) * sizeof(T));
    T* const input = scratch.as<T>();
    T* const panel = input + elements;
    const PanelProducts<T> products{
        input, places_, step(), part.begin, part.end, panel, convolution_.output};
    bool adds = false;
    for (int64_t image = 0; image < convolution_.images; ++image) {
      for (int64_t tap = 0; tap < rows.taps; tap += taps_, adds = true) {
        const int64_t taps = std::min(taps_, rows.taps - tap);
        CopyRows(convolution_, image, tap * rows.dilation - rows.low,
                 rows.Reach(rows.positions, taps), input);
        const std::vector<Depth> depths = DepthsOfTaps(image, tap, taps);
        for (int64_t i = part.panel; i < part.panel_end; ++i) {
          for (const Depth& depth : depths) {
            MultiplyPanel(convolution_, products, depth, i, width_,
                          adds || &depth != &depths.front());
          }
        }
      }
    }
  }

 private:
  struct Part {
    int64_t begin, end;  // of channels at positions
    int64_t panel, panel_end;
  };

  // With a few taps to compute for each channel, threads share the channels.
  static int64_t FeaturesOfAPanel(const ConvolvedArrays<T>& convolution, int64_t threads) {
    const int64_t shared = (convolution.features - 1) / (2 * threads) + 1;
    return convolution.depthwise ? shared : convolution.features;
  }

  // From a tap to the next one, in the input.
  int64_t step() const { return convolution_.columns().dilation * convolution_.channels; }

  std::vector<Depth> DepthsOfTaps(int64_t image, int64_t tap, int64_t taps) const {
    const WindowAxis& rows = convolution_.rows();
    const WindowAxis& columns = convolution_.columns();
    std::vector<Depth> depths(1);
    for (int64_t i = 0; i < taps; ++i) {
      const int64_t row = i * rows.dilation * convolution_.width() * convolution_.channels;
      const int64_t kernel = image * convolution_.input_step + rows.Tap(tap + i) + columns.Tap(0);
      AddRun(depths, MostSummed<T>(width_), row, step(), {kernel, columns.NextTap(), columns.taps});
    }
    return depths;
  }

  void SetParts(int64_t threads) {
    constexpr int64_t kLeast = 24;
    const int64_t wanted = 2 * threads;
    const int64_t count = places_.size();
    const int64_t panels = (convolution_.features - 1) / width_ + 1;
    const int64_t groups = std::min(panels, wanted);
    const int64_t pieces = std::clamp<int64_t>(wanted / groups, 1, (count - 1) / kLeast + 1);
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        parts_.push_back({piece * count / pieces, (piece + 1) * count / pieces,
                          group * panels / groups, (group + 1) * panels / groups});
      }
    }
  }

  const ConvolvedArrays<T>& convolution_;
  const int64_t width_;
  const std::vector<int64_t> places_;  // of channels at all positions
  int64_t taps_ = 0;                   // rows of taps at once
  std::vector<Part> parts_;
};

template <typename Kind>
void ComputeParts(ffi::ThreadPool pool, const Kind& kind) {
  ForPoolRanges(pool, kind.parts(), kind.nanoseconds(), [&](int64_t number, int64_t end) {
    for (; number < end; ++number) kind.Compute(number);
  });
}

// Attributes of a call: of the spatial dimensions, and where the dimensions of the kernel are, the
// spatial ones, that which is summed over, and that of the features.
struct Attributes {
  ffi::Span<const int64_t> strides, dilations, lows, reversed, kernel;
  bool by_kernel, depthwise;
};

bool Fit(const Attributes& attributes, const ffi::AnyBuffer& input, const ffi::AnyBuffer& kernel,
         const ffi::AnyBuffer& output) {
  const size_t rank = input.dimensions().size();
  if ((rank != 3 && rank != 4) || kernel.dimensions().size() != rank ||
      output.dimensions().size() != rank || attributes.kernel.size() != rank) {
    return false;
  }
  for (const auto& values :
       {attributes.strides, attributes.dilations, attributes.lows, attributes.reversed}) {
    if (values.size() != rank - 2) return false;
  }
  std::array<bool, 4> seen{};
  for (const int64_t dimension : attributes.kernel) {
    if (dimension < 0 || dimension >= static_cast<int64_t>(rank) || seen[dimension]) return false;
    seen[dimension] = true;
  }
  for (size_t i = 0; i < rank - 2; ++i) {
    if (attributes.strides[i] < 1 || attributes.dilations[i] < 1) return false;
  }
  const auto sizes = input.dimensions(), kernel_sizes = kernel.dimensions();
  const auto output_sizes = output.dimensions();
  const bool by_kernel = attributes.by_kernel;
  const int64_t images = sizes[0], channels = sizes[rank - 1];
  const int64_t features = output_sizes[rank - 1], summed = by_kernel ? images : channels;
  const int64_t kept = by_kernel ? channels : images;
  const bool alone = attributes.depthwise;
  return kernel_sizes[attributes.kernel[rank - 2]] == (alone && !by_kernel ? 1 : summed) &&
         kernel_sizes[attributes.kernel[rank - 1]] == features &&
         output_sizes[by_kernel ? rank - 2 : 0] == (alone && by_kernel ? 1 : kept) &&
         (!alone || features == channels) && input.element_count() > 0 &&
         kernel.element_count() > 0 && output.element_count() > 0;
}

template <typename T>
void ComputeConvolution(ffi::ThreadPool pool, const Attributes& attributes,
                        const ffi::AnyBuffer& input, const ffi::AnyBuffer& kernel,
                        ffi::AnyBuffer& output) {
  const auto sizes = input.dimensions(), kernel_sizes = kernel.dimensions();
  const size_t rank = sizes.size();
  std::array<int64_t, 4> steps{};  // of the dimensions of the kernel
  for (int64_t i = rank - 1, step = 1; i >= 0; step *= kernel_sizes[i--]) steps[i] = step;
  const auto& order = attributes.kernel;
  ConvolvedArrays<T> convolution{static_cast<const T*>(input.untyped_data()),
                                 static_cast<const T*>(kernel.untyped_data()),
                                 static_cast<T*>(output.untyped_data()),
                                 sizes[0],
                                 sizes[rank - 1],
                                 kernel_sizes[order[rank - 1]],
                                 steps[order[rank - 2]],
                                 steps[order[rank - 1]],
                                 {},
                                 attributes.by_kernel,
                                 attributes.depthwise};
  const int64_t first_position = attributes.by_kernel ? 0 : 1;
  for (size_t i = 0; i < rank - 2; ++i) {
    convolution.axes[i] = {sizes[1 + i],
                           kernel_sizes[order[i]],
                           output.dimensions()[first_position + i],
                           attributes.strides[i],
                           attributes.dilations[i],
                           attributes.lows[i],
                           attributes.reversed[i] != 0,
                           steps[order[i]]};
  }
  if (rank == 3) {  // columns of one tap, which follow each other as the rows do
    convolution.axes[1].dilation = convolution.axes[0].dilation;
    convolution.axes[1].tap_step = convolution.axes[0].tap_step;
  }
  const int64_t threads = std::max<int64_t>(pool.num_threads(), 1);
  if (attributes.by_kernel) return ComputeParts(pool, Gradient<T>(convolution, threads));
  ComputeParts(pool, Forward<T>(convolution, threads));
}

ffi::Error Convolve(ffi::ThreadPool pool, ffi::AnyBuffer input, ffi::AnyBuffer kernel,
                    ffi::Result<ffi::AnyBuffer> output, ffi::Span<const int64_t> strides,
                    ffi::Span<const int64_t> dilations, ffi::Span<const int64_t> lows,
                    ffi::Span<const int64_t> reversed, ffi::Span<const int64_t> kernel_dimensions,
                    bool by_kernel, bool depthwise) {
  if (!HasFusedMultiplyAdd()) return Refusal("expected a processor with AVX2");
  const ffi::DataType type = input.element_type();
  if (kernel.element_type() != type || output->element_type() != type ||
      (type != ffi::F32 && type != ffi::F64)) {
    return Refusal("expected floats of 32 or 64 bits, of one type");
  }
  const Attributes attributes{strides,           dilations, lows,     reversed,
                              kernel_dimensions, by_kernel, depthwise};
  if (!Fit(attributes, input, kernel, *output)) {
    return Refusal(
        "expected an input, a kernel and a result of a convolution along one or two "
        "dimensions");
  }
  return WithoutExceptions([&] {
    if (type == ffi::F32)
      return ComputeConvolution<float>(pool, attributes, input, kernel, *output);
    ComputeConvolution<double>(pool, attributes, input, kernel, *output);
  });
}

XLA_FFI_DEFINE_HANDLER(kConvolution, Convolve,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<ffi::Span<const int64_t>>("strides")
                           .Attr<ffi::Span<const int64_t>>("dilations")
                           .Attr<ffi::Span<const int64_t>>("lows")
                           .Attr<ffi::Span<const int64_t>>("reversed")
                           .Attr<ffi::Span<const int64_t>>("kernel")
                           .Attr<bool>("by_kernel")
                           .Attr<bool>("depthwise"));

const NativeKernel kConvolutionKernel("hlograph.kernel.convolution", kConvolution,
                                      /*needs_numpy=*/false, HasFusedMultiplyAdd);

}  // namespace
}  // namespace hlograph
