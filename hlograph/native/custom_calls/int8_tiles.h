// Products of some rows with panels of columns, of 8-bit integers, by AVX-512 VNNI.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_INT8_TILES_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_INT8_TILES_H_

#include <cstdint>

namespace hlograph {

// Neighbours along the contraction that are multiplied at once, in a lane of a vector.
constexpr int64_t kInt8Group = 4;
constexpr int64_t kPanelColumns = 64;

// Return the number of parts of a size, of which the last one may be smaller, and the size of as
// many whole ones.
constexpr int64_t PartsOf(int64_t size, int64_t part) { return (size + part - 1) / part; }
constexpr int64_t RoundedUp(int64_t size, int64_t part) { return PartsOf(size, part) * part; }

// Returns true if the processor has the instructions. Nothing else may be called where it has not.
bool HasVnni();

// A part of the right matrix.
struct RightPart {
  const int8_t* first;
  int64_t stride;   // between its rows, or between its columns
  bool by_columns;  // true if the elements of a column lie together
  int64_t depth, columns;
};

// Writes the part as panels of 64 columns, one after the other, of whole groups. A panel has the
// columns of four rows, the four elements of each together, before those of the next four. 128 is
// added to elements, which have no sign then. Panels are aligned to 64 bytes.
void PackPanels(const RightPart& part, uint8_t* panels);

// Writes 128 times the sum of each row, which is what panels add too much.
void SumRows(const int8_t* first, int64_t stride, int64_t rows, int64_t depth, int32_t* excess);

// Rows of the left matrix, a panel, and the products of both.
struct RowsByPanel {
  const int8_t* left;
  int64_t left_stride;
  const int32_t* excess;
  const uint8_t* panel;
  int64_t groups;  // whole ones: rows have zeros after the last element
  int32_t* products;
  int64_t product_stride;
  int64_t rows, columns;
  bool adds;  // to the products that are there
};

// Writes the products. All sums are modulo 2^32, as those of XLA.
void MultiplyRows(const RowsByPanel& work);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_INT8_TILES_H_
