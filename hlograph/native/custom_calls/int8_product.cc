// Products of matrices of 8-bit integers, with sums of 32 bits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hlograph/native/custom_calls/int8_tiles.h"
#include "hlograph/native/custom_calls/native_kernel.h"
#include "hlograph/native/custom_calls/pool_ranges.h"
#include "hlograph/native/custom_calls/scratch.h"
#include "xla/ffi/api/ffi.h"

namespace hlograph {
namespace {

namespace ffi = xla::ffi;

struct Product {
  const int8_t* left;
  const int8_t* right;
  int32_t* products;
  int64_t rows, depth, columns;
  bool by_columns;  // true if the elements of a column of the right matrix lie together
};

// Sizes of the parts that are multiplied at once. The depth is a multiple of 64.
struct Block {
  int64_t rows, depth, columns;
};

// A panel for many rows stays in the first cache, and the rows in the second one. With few rows,
// the time is that of reading the right matrix, so long runs of it are read.
Block BlockOf(const Product& product, int64_t threads) {
  constexpr int64_t kFewRows = 32, kLongRun = 2048, kDepthStep = 64;
  constexpr int64_t kFirstCache = 32 << 10, kSecondCache = 512 << 10, kPanelBytes = 128 << 10;
  if (product.rows > kFewRows) {
    const int64_t rows = std::clamp<int64_t>(kSecondCache / product.depth, 128, 512);
    return {rows, kFirstCache / kPanelColumns, kPanelColumns};
  }
  const int64_t of_a_thread = RoundedUp(product.columns / threads, kPanelColumns);
  const int64_t columns =
      product.by_columns ? kPanelColumns : std::clamp(of_a_thread, kPanelColumns, kLongRun);
  return {product.rows, kPanelBytes / columns / kDepthStep * kDepthStep, columns};
}

// Memory of a thread for a block, in the order of its alignment.
class BlockSpace {
 public:
  explicit BlockSpace(const Block& block)
      : scratch_(kVectorBytes + block.columns * block.depth + block.rows * sizeof(int32_t) +
                 block.rows * block.depth) {
    auto* const first = scratch_.as<uint8_t>();
    panels = first + kVectorBytes - reinterpret_cast<uintptr_t>(first) % kVectorBytes;
    excess = reinterpret_cast<int32_t*>(panels + block.columns * block.depth);
    rows = reinterpret_cast<int8_t*>(excess + block.rows);
  }

  uint8_t* panels;
  int32_t* excess;
  int8_t* rows;

 private:
  static constexpr size_t kVectorBytes = 64;

  Scratch scratch_;
};

// Copies rows, each followed by zeros up to a whole group; returns the distance of the copies.
int64_t CopyRows(const int8_t* from, int64_t stride, int64_t rows, int64_t depth, int8_t* to) {
  const int64_t width = RoundedUp(depth, kInt8Group);
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(to + i * width, from + i * stride, depth);
    std::fill(to + i * width + depth, to + (i + 1) * width, 0);
  }
  return width;
}

// Multiplies rows from `row` on with columns from `column` on, as many as a block has or there are.
void MultiplyBlock(const Product& product, const Block& block, int64_t row, int64_t column) {
  const BlockSpace space(block);
  const int64_t rows = std::min(block.rows, product.rows - row);
  const int64_t columns = std::min(block.columns, product.columns - column);
  const int64_t stride = product.by_columns ? product.depth : product.columns;
  for (int64_t k = 0; k < product.depth; k += block.depth) {
    const int64_t depth = std::min(block.depth, product.depth - k);
    const int64_t first = product.by_columns ? column * stride + k : k * stride + column;
    PackPanels({product.right + first, stride, product.by_columns, depth, columns}, space.panels);
    const int8_t* left = product.left + row * product.depth + k;
    int64_t left_stride = product.depth;
    if (depth % kInt8Group != 0) {
      left_stride = CopyRows(left, left_stride, rows, depth, space.rows);
      left = space.rows;
    }
    SumRows(left, left_stride, rows, depth, space.excess);
    const int64_t groups = PartsOf(depth, kInt8Group);
    for (int64_t i = 0; i < columns; i += kPanelColumns) {
      MultiplyRows({left, left_stride, space.excess, space.panels + i * groups * kInt8Group, groups,
                    product.products + row * product.columns + column + i, product.columns, rows,
                    std::min(kPanelColumns, columns - i), /*adds=*/k > 0});
    }
  }
}

void Multiply(ffi::ThreadPool pool, const Product& product) {
  const Block block = BlockOf(product, std::max<int64_t>(pool.num_threads(), 1));
  const int64_t across = PartsOf(product.columns, block.columns);
  const int64_t down = PartsOf(product.rows, block.rows);
  constexpr double kOfAnElement = 0.08, kOfAProduct = 0.0025;  // nanoseconds
  const double nanoseconds = static_cast<double>(product.depth) *
                             std::min(block.columns, product.columns) *
                             (kOfAnElement + kOfAProduct * std::min(block.rows, product.rows));
  ForPoolRanges(pool, across * down, nanoseconds, [&](int64_t number, int64_t end) {
    for (; number < end; ++number) {
      MultiplyBlock(product, block, number / across * block.rows, number % across * block.columns);
    }
  });
}

// Matrices of `depth` columns, left, and `columns`, right: of more dimensions, the left one is that
// of all its rows.
ffi::Error Int8Product(ffi::ThreadPool pool, ffi::AnyBuffer left, ffi::AnyBuffer right,
                       ffi::Result<ffi::Buffer<ffi::S32>> result, bool by_columns) {
  if (!HasVnni()) return Refusal("expected a processor with AVX-512 VNNI");
  if (left.element_type() != ffi::S8 || right.element_type() != ffi::S8 ||
      right.dimensions().size() != 2) {
    return Refusal("expected matrices of signed integers of 8 bits");
  }
  const MatrixSizes sizes = MatrixOf(left);
  const int64_t depth = right.dimensions()[by_columns ? 1 : 0];
  const int64_t columns = right.dimensions()[by_columns ? 0 : 1];
  if (sizes.columns != depth || depth == 0 ||
      static_cast<int64_t>(result->element_count()) != sizes.rows * columns) {
    return Refusal("expected matrices and a result of sizes that fit");
  }
  if (result->element_count() == 0) return ffi::Error::Success();
  const Product product{left.reinterpret_data<const int8_t>(),
                        right.reinterpret_data<const int8_t>(),
                        result->typed_data(),
                        sizes.rows,
                        depth,
                        columns,
                        by_columns};
  return WithoutExceptions([&] { Multiply(pool, product); });
}

XLA_FFI_DEFINE_HANDLER(kInt8Product, Int8Product,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<bool>("by_columns"));

const NativeKernel kInt8ProductKernel("hlograph.kernel.int8_product", kInt8Product,
                                      /*needs_numpy=*/false, HasVnni);

}  // namespace
}  // namespace hlograph
