// Dot and convolution: products that are linear in either operand.
#ifndef HLOGRAPH_NATIVE_REWRITES_PRODUCTS_H_
#define HLOGRAPH_NATIVE_REWRITES_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {

// A dimension of an operand that is one of the result's.
struct ResultDimension {
  int64_t operand = 0;
  int64_t result = 0;
};

// Whether this is a dot or convolution, plain and valid, of that opcode.
bool IsProduct(const Instruction* instruction, xla::HloOpcode opcode);

// The same product of other operands: dimension numbers, window, groups and precision.
bool SameProduct(const Instruction* one, const Instruction* two);

// Whether the operands and the result have one type, of a ring.
bool HasOneType(const Instruction* product);

// Dimensions along which the result for the concatenation of operands, the one on the other side
// being the same, is the concatenation of the results. Expects a product, and side 0 or 1.
std::vector<ResultDimension> FreeDimensions(const Instruction* product, int side);

// Dimensions along which the operand and the result may be scaled alike: batches as well.
std::vector<ResultDimension> ScalableDimensions(const Instruction* product, int side);

// The two operands, with another one on one side.
std::vector<Instruction*> OperandsWith(Instruction* product, int side, Instruction* operand);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_PRODUCTS_H_
