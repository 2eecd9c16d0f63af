#include "hlograph/native/rewrites/forms/gather_pieces.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"

namespace hlograph {
namespace {

constexpr size_t kMaxGatherPieces = 16;

// Splits positions from 0 on where the step or the row changes.
std::optional<std::vector<Piece>> SplitRows(const std::vector<int64_t>& positions, int64_t width) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < positions.size();) {
    Piece piece{positions[i] / width, positions[i] % width, 0, 1};
    size_t next = i + 1;
    if (next < positions.size()) piece.step = positions[next] - positions[i];
    while (next < positions.size() && positions[next] / width == piece.row &&
           positions[next] - positions[next - 1] == piece.step) {
      ++next;
    }
    piece.count = static_cast<int64_t>(next - i);
    if (pieces.size() == kMaxGatherPieces) return std::nullopt;
    pieces.push_back(piece);
    i = next;
  }
  return pieces;
}

// Splits positions of which those after each `period` are the same, shifted.
std::optional<Pieces> SplitPeriod(const std::vector<int64_t>& positions, int64_t period,
                                  int64_t size) {
  const auto count = static_cast<int64_t>(positions.size());
  Pieces found{0, 0, count / period, {}};
  if (found.rows > 1) found.width = positions[period] - positions[0];
  if (found.width < 0) return std::nullopt;
  for (int64_t i = period; i < count; ++i) {
    if (positions[i] - positions[i - period] != found.width) return std::nullopt;
  }
  std::vector<int64_t> first(positions.begin(), positions.begin() + period);
  if (found.width > 0) {
    found.base = *absl::c_min_element(first);
    for (int64_t& position : first) position -= found.base;
  }
  auto pieces = SplitRows(first, found.width > 0 ? found.width : size);
  if (!pieces.has_value()) return std::nullopt;
  found.pieces = *std::move(pieces);
  return found;
}

}  // namespace

std::optional<Pieces> FindPieces(const std::vector<int64_t>& positions, int64_t size) {
  const auto count = static_cast<int64_t>(positions.size());
  std::optional<Pieces> best = SplitPeriod(positions, count, size);
  for (int64_t period = 1; 2 * period <= count; ++period) {
    if (count % period != 0) continue;
    std::optional<Pieces> found = SplitPeriod(positions, period, size);
    if (!found.has_value()) continue;
    if (!best.has_value() || found->pieces.size() < best->pieces.size()) best = std::move(found);
  }
  if (best.has_value() && 2 * static_cast<int64_t>(best->pieces.size()) > count) {
    return std::nullopt;
  }
  return best;
}

}  // namespace hlograph
