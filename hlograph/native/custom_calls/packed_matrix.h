// Matrices of floats that many rows are multiplied with, one after the other.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_PACKED_MATRIX_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_PACKED_MATRIX_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "hlograph/native/custom_calls/product_tiles.h"

namespace hlograph {

// A matrix in panels, as products in tiles take it.
class PackedMatrix {
 public:
  static constexpr double kNanosecondsOfAProduct = 0.01;  // for each multiplication, about

  PackedMatrix(const float* matrix, int64_t depth, int64_t columns, bool by_column)
      : depth_(depth), columns_(columns), width_(PanelWidth<float>(columns)), run_{{0, depth}} {
    constexpr int64_t kLine = 16;  // floats
    memory_.reset(new float[depth * panels() * width_ + kLine]);
    const auto address = reinterpret_cast<uintptr_t>(memory_.get()) / sizeof(float);
    panels_ = memory_.get() + (kLine - address % kLine) % kLine;
    for (int64_t first = 0; first < columns; first += width_) {
      const int64_t count = std::min(width_, columns - first);
      float* const panel = panels_ + first * depth;
      if (by_column) {
        PackColumns(matrix + first * depth, count, panel);
      } else {
        PackRows(matrix + first, count, panel);
      }
    }
  }

  double NanosecondsOf(int64_t rows) const {
    return kNanosecondsOfAProduct * rows * depth_ * columns_;
  }

  int64_t panels() const { return (columns_ - 1) / width_ + 1; }

  // Multiplies rows, which begin at these places, with a panel.
  void Multiply(const float* left, const std::vector<int64_t>& rows, int64_t panel,
                float* products) const {
    const int64_t first = panel * width_;
    MultiplyTiles<float>(
        {left, rows, run_, 1, panels_ + first * depth_, std::min(width_, columns_ - first),
         products + first, columns_, /*adds=*/false, /*by_column=*/false},
        0, rows.size());
  }

 private:
  void PackRows(const float* rows, int64_t count, float* panel) const {
    const int64_t width = PanelWidth<float>(count);
    for (int64_t k = 0; k < depth_; ++k, rows += columns_, panel += width) {
      std::copy_n(rows, count, panel);
      std::fill(panel + count, panel + width, 0.0f);
    }
  }

  // Some elements of each column at a time, so that what is written stays in the first cache.
  void PackColumns(const float* columns, int64_t count, float* panel) const {
    constexpr int64_t kBlock = 16;
    const int64_t width = PanelWidth<float>(count);
    for (int64_t k = 0; k < depth_; k += kBlock) {
      const int64_t end = std::min(k + kBlock, depth_);
      for (int64_t i = 0; i < width; ++i) {
        for (int64_t j = k; j < end; ++j) {
          panel[j * width + i] = i < count ? columns[i * depth_ + j] : 0.0f;
        }
      }
    }
  }

  int64_t depth_, columns_, width_;
  std::vector<Run> run_;  // the whole depth
  std::unique_ptr<float[]> memory_;
  float* panels_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_PACKED_MATRIX_H_
