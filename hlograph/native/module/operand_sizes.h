// Sizes of shapes and operands. Modules need not be valid HLO, so shapes are checked.
#ifndef HLOGRAPH_NATIVE_MODULE_OPERAND_SIZES_H_
#define HLOGRAPH_NATIVE_MODULE_OPERAND_SIZES_H_

#include <cstdint>

namespace xla {
class HloInstruction;
class Shape;
}  // namespace xla

namespace hlograph {

// Return the size of a shape: of an array, or all arrays of a tuple.
double Elements(const xla::Shape& shape);
double Bytes(const xla::Shape& shape);

// Returns the elements, of which those of eight bytes count twice.
double Weighed(const xla::Shape& shape);

// Returns how many elements of four bytes one element counts as.
double Weight(const xla::Shape& shape);

// Returns the size of a dimension; 1 if there is no such dimension.
double Dimension(const xla::Shape& shape, int64_t dimension);

template <typename Numbers>
double Product(const xla::Shape& shape, const Numbers& dimensions) {
  double product = 1;
  for (int64_t dimension : dimensions) product *= Dimension(shape, dimension);
  return product;
}

bool IsFloat(const xla::Shape& shape);

const xla::Shape& OperandShape(const xla::HloInstruction* instruction, int64_t number);

// Returns the logarithm to base 2, rounded up; 1 at least.
double Logarithm(double number);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_OPERAND_SIZES_H_
