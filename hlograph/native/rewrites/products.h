// Dots and convolutions: products that are linear in either operand.
#ifndef HLOGRAPH_NATIVE_REWRITES_PRODUCTS_H_
#define HLOGRAPH_NATIVE_REWRITES_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {

// A dimension of an operand, and the dimension of the result that it becomes.
struct ResultDimension {
  int64_t operand = 0;
  int64_t result = 0;
};

// The dimensions of one operand of a dot, the batch and contracting ones in the order in which they
// meet those of the other operand, the free ones in their own order.
struct DotOperand {
  std::vector<int64_t> batch, free, contracting;
};

// Expects a dot, and side 0 or 1.
DotOperand DotOperandOf(const Instruction* dot, int side);

// Returns true for a plain and valid instruction of that opcode, dot or convolution.
bool IsProduct(const Instruction* instruction, xla::HloOpcode opcode);

// Returns true if two products differ in their operands only: they have the same dimension numbers,
// window, groups and precision.
bool SameProduct(const Instruction* one, const Instruction* two);

// Returns true if the operands and the result have the same element type, and its addition and
// multiplication form a ring.
bool HasOneType(const Instruction* product);

// Returns the dimensions of one operand along which the product distributes over concatenation: the
// product of concatenated operands is the concatenation of the products. Expects a product, and
// side 0 or 1.
std::vector<ResultDimension> FreeDimensions(const Instruction* product, int side);

// Returns the dimensions along which scaling the operand scales the result alike: the free
// dimensions and the batch dimensions.
std::vector<ResultDimension> ScalableDimensions(const Instruction* product, int side);

// Returns the two operands, with the one on `side` replaced.
std::vector<Instruction*> OperandsWith(Instruction* product, int side, Instruction* operand);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_PRODUCTS_H_
