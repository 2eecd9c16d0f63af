// Positions of a regular pattern, as pieces of rows.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_GATHER_PIECES_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_GATHER_PIECES_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace hlograph {

// Elements of rows: `count` of each row from column `start` on, every `step`, for the rows from
// `row` on.
struct Piece {
  int64_t row = 0;
  int64_t start = 0;
  int64_t step = 0;
  int64_t count = 0;
};

// Positions of an array as those of rows of `width` from `base` on: the pieces of one row, those
// of the next row, and so on. With a width of 0, all rows are equal, and there is only one.
struct Pieces {
  int64_t base = 0;
  int64_t width = 0;
  int64_t rows = 1;
  std::vector<Piece> pieces;
};

// Finds the fewest pieces that give the positions, which are below the size; none if there is no
// structure.
std::optional<Pieces> FindPieces(const std::vector<int64_t>& positions, int64_t size);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_GATHER_PIECES_H_
