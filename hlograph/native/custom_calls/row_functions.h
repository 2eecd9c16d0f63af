// Elementwise functions of rows of floats, in vectors.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_ROW_FUNCTIONS_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_ROW_FUNCTIONS_H_

#include <cstdint>
#include <string_view>

namespace hlograph {

// Rows of floats that lie `stride` apart; a stride of 0 repeats a row.
struct RowsView {
  const float* data = nullptr;
  int64_t stride = 0;
};

// Computes rows of a result, which follow each other, from as many rows of each operand.
using RowFunction = void (*)(const RowsView* operands, int64_t rows, int64_t columns,
                             float* result);

// A function by its name in HLO: comparisons have their direction after it, and result in 1 or 0,
// which a select takes for truth values.
struct NamedRowFunction {
  std::string_view name;
  int operands;
  RowFunction function;
};

// Returns null for a name that there is no function of.
const NamedRowFunction* FindRowFunction(std::string_view name);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_ROW_FUNCTIONS_H_
