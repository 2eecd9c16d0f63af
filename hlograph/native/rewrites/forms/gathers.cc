// Gathers at positions that follow from constants, as slices.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/gather_pieces.h"
#include "hlograph/native/rewrites/forms/known_values.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/shape_inference.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kMaxGathered = int64_t{1} << 20;

// A gather along one dimension, of `width` elements from each position.
struct KnownGather {
  int64_t dimension = 0;
  int64_t width = 1;
  std::vector<int64_t> positions;  // of all elements along the dimension
};

bool IsWholeGather(const Instruction* gather) {
  if (gather->opcode() != Opcode::kGather || !IsPlain(gather)) return false;
  for (const Instruction* operand : gather->operands()) {
    if (!operand->shape().IsArray() || !operand->shape().is_static()) return false;
  }
  const absl::StatusOr<xla::Shape> shape = xla::ShapeInference::InferGatherShape(
      gather->operand(0)->shape(), gather->operand(1)->shape(), gather->gather_dimension_numbers(),
      gather->gather_slice_sizes());
  return shape.ok() && xla::ShapeUtil::Compatible(*shape, gather->shape()) &&
         gather->gather_dimension_numbers().operand_batching_dims_size() == 0 &&
         !xla::ShapeUtil::IsZeroElementArray(gather->shape());
}

// The only dimension that is not gathered whole.
std::optional<int64_t> GatheredDimension(const Instruction* gather) {
  std::optional<int64_t> found;
  const xla::Shape& shape = gather->operand(0)->shape();
  for (size_t i = 0; i < shape.dimensions().size(); ++i) {
    if (gather->gather_slice_sizes()[i] == shape.dimensions(i)) continue;
    if (found.has_value()) return std::nullopt;
    found = i;
  }
  return found;
}

// The indices along one dimension, in their order.
std::vector<int64_t> ColumnOf(const std::vector<int64_t>& indices, const Instruction* gather,
                              int64_t column) {
  const xla::Shape& shape = gather->operand(1)->shape();
  const int64_t vector = gather->gather_dimension_numbers().index_vector_dim();
  if (vector == static_cast<int64_t>(shape.dimensions().size())) return indices;
  int64_t inner = 1;
  for (size_t i = vector + 1; i < shape.dimensions().size(); ++i) inner *= shape.dimensions(i);
  const int64_t size = shape.dimensions(vector);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < static_cast<int64_t>(indices.size()); ++i) {
    if (i / inner % size == column) found.push_back(indices[i]);
  }
  return found;
}

std::optional<KnownGather> FindKnownGather(const Instruction* gather) {
  if (!IsWholeGather(gather)) return std::nullopt;
  const std::optional<int64_t> dimension = GatheredDimension(gather);
  if (!dimension.has_value()) return std::nullopt;
  const auto& map = gather->gather_dimension_numbers().start_index_map();
  const auto column = std::find(map.begin(), map.end(), *dimension);
  if (column == map.end()) return std::nullopt;
  const std::optional<std::vector<int64_t>> indices = KnownIntegers(gather->operand(1));
  if (!indices.has_value()) return std::nullopt;
  KnownGather found{*dimension, gather->gather_slice_sizes()[*dimension], {}};
  const int64_t last = gather->operand(0)->shape().dimensions(*dimension) - found.width;
  const std::vector<int64_t> starts = ColumnOf(*indices, gather, column - map.begin());
  const auto count = static_cast<int64_t>(starts.size()) * found.width;
  if (count < 2 || count > kMaxGathered) return std::nullopt;
  for (int64_t start : starts) {
    // Positions out of bounds are those at the bounds.
    start = std::clamp<int64_t>(start, 0, last);
    for (int64_t i = 0; i < found.width; ++i) found.positions.push_back(start + i);
  }
  return found;
}

// The elements of a piece, side by side along `dimension`.
Instruction* Taken(const Builder& builder, Instruction* rows, const Piece& piece,
                   int64_t dimension) {
  if (piece.count == 1 || piece.step == 0) {
    Instruction* const one = builder.SliceOf(rows, dimension, piece.start, piece.start + 1);
    if (piece.count == 1) return one;
    std::vector<int64_t> flat, dimensions, sizes = SizesOf(one);
    for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
      if (i == dimension) continue;
      flat.push_back(sizes[i]);
      dimensions.push_back(i);
    }
    sizes[dimension] = piece.count;
    return builder.Broadcast(builder.Reshape(one, flat), sizes, dimensions);
  }
  const int64_t reach = (piece.count - 1) * std::abs(piece.step);
  if (piece.step > 0) {
    return builder.SliceOf(rows, dimension, piece.start, piece.start + reach + 1, piece.step);
  }
  return builder.Reverse(
      builder.SliceOf(rows, dimension, piece.start - reach, piece.start + 1, -piece.step),
      {dimension});
}

// The array with rows of the width instead of the dimension, as many as are needed.
Instruction* InRows(const Builder& builder, Instruction* array, int64_t dimension,
                    const Pieces& pieces) {
  int64_t rows = 0;
  for (const Piece& piece : pieces.pieces) rows = std::max(rows, piece.row + pieces.rows);
  const int64_t size = array->shape().dimensions(dimension);
  const int64_t end = pieces.base + rows * pieces.width;
  Instruction* part = builder.SliceOf(array, dimension, pieces.base, std::min(end, size));
  if (end > size) {
    xla::PaddingConfig padding;
    for (int64_t i = 0; i < RankOf(array); ++i) {
      padding.add_dimensions()->set_edge_padding_high(i == dimension ? end - size : 0);
    }
    part = builder.Pad(part, padding);
  }
  std::vector<int64_t> sizes = SizesOf(array);
  sizes[dimension] = rows;
  sizes.insert(sizes.begin() + dimension + 1, pieces.width);
  return builder.Reshape(part, sizes);
}

// The elements at the positions along the dimension, in their order.
Instruction* Take(const Builder& builder, Instruction* array, int64_t dimension,
                  const Pieces& pieces) {
  std::vector<Instruction*> parts;
  std::vector<int64_t> sizes = SizesOf(array);
  if (pieces.width == 0) {
    for (const Piece& piece : pieces.pieces) {
      parts.push_back(Taken(builder, array, piece, dimension));
    }
    Instruction* const row = builder.Concatenate(parts, dimension);
    if (pieces.rows == 1) return row;
    std::vector<int64_t> dimensions(sizes.size());
    for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
      dimensions[i] = i < dimension ? i : i + 1;
    }
    sizes = SizesOf(row);
    sizes.insert(sizes.begin() + dimension, pieces.rows);
    return builder.Broadcast(row, sizes, dimensions);
  }
  Instruction* const rows = InRows(builder, array, dimension, pieces);
  for (const Piece& piece : pieces.pieces) {
    Instruction* const own = builder.SliceOf(rows, dimension, piece.row, piece.row + pieces.rows);
    parts.push_back(Taken(builder, own, piece, dimension + 1));
  }
  return builder.Concatenate(parts, dimension + 1);
}

class GatherAsSlices : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kKnownDepth + 2}; }

 protected:
  bool Matches(const Instruction* gather) const override {
    const std::optional<KnownGather> found = FindKnownGather(gather);
    return found.has_value() && FindPieces(found->positions, SizeAlong(gather, *found)).has_value();
  }

  Instruction* Build(Instruction* gather) const override {
    const Builder builder(gather);
    const KnownGather found = *FindKnownGather(gather);
    const Pieces pieces = *FindPieces(found.positions, SizeAlong(gather, found));
    Instruction* const taken = Take(builder, gather->mutable_operand(0), found.dimension, pieces);
    return Arranged(builder, gather, taken, found.dimension);
  }

 private:
  static int64_t SizeAlong(const Instruction* gather, const KnownGather& found) {
    return gather->operand(0)->shape().dimensions(found.dimension);
  }

  // Puts the dimensions of the indices, and those of the array, where the gather has them.
  static Instruction* Arranged(const Builder& builder, Instruction* gather, Instruction* taken,
                               int64_t dimension) {
    const auto& offsets = gather->gather_dimension_numbers().offset_dims();
    const auto& collapsed = gather->gather_dimension_numbers().collapsed_slice_dims();
    const xla::Shape& shape = gather->operand(0)->shape();
    std::vector<int64_t> sizes, order;  // of what is taken: dimensions of the result
    int64_t offset = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(shape.dimensions().size()); ++i) {
      if (i == dimension) {
        for (int64_t k = 0; k < RankOf(gather); ++k) {
          if (!absl::c_linear_search(offsets, k)) order.push_back(k);
        }
      }
      if (!absl::c_linear_search(collapsed, i)) order.push_back(offsets[offset++]);
    }
    std::vector<int64_t> permutation(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      sizes.push_back(gather->shape().dimensions(order[i]));
      permutation[order[i]] = static_cast<int64_t>(i);
    }
    return builder.Transpose(builder.Reshape(taken, sizes), permutation);
  }
};

}  // namespace

const RuleTopic kGatherForms(324, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<GatherAsSlices>(
      Identity{"gather-as-slices", "x[p] = [slices of x]",
               "Slices, reverses and repeats what is gathered at positions of a regular pattern "
               "that follows from constants.",
               Numerics::kExact}));
});

}  // namespace hlograph
