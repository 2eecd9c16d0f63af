// Forms: rules that give a computation another form, which takes another time on XLA:CPU.
//
// As rules of our own, they apply wherever their pattern matches; whether the other form is faster
// depends on shapes, and is for the caller to decide.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_FORMS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_FORMS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
class HloComputation;
}  // namespace xla

namespace hlograph {

class FormRule : public InstructionRule {
 public:
  explicit FormRule(Identity identity) : InstructionRule(std::move(identity), Purpose::kTime) {}
};

// Return the number of dimensions, the number of elements, and the sizes of an array.
int64_t RankOf(const Instruction* array);
int64_t SizeOf(const Instruction* array);
std::vector<int64_t> SizesOf(const Instruction* array);
int64_t ProductOf(absl::Span<const int64_t> sizes);

// Returns true for arrays of f32 or f64.
bool IsFloat(const Instruction* array);

// Returns the value that a sum, product, maximum, minimum or conjunction of truth values starts
// with: zero for other operations.
xla::Literal NeutralOf(xla::HloOpcode opcode, xla::PrimitiveType type);

// Returns true for a scalar constant that such an operation starts with.
bool IsNeutral(const Instruction* scalar, xla::HloOpcode opcode);

// Returns true for a scalar constant, or a broadcast of one, of this value, 0 without the sign of
// -0; the type is any but a complex one.
bool IsConstantOf(const Instruction* instruction, double value);

// Returns true for a plain reduction of one array by this operation, of both scalars in turn, that
// starts with the operation's neutral element (0 for kAdd, 1 for kMultiply, the lowest value or
// minus infinity for kMaximum, the highest or infinity for kMinimum).
bool IsReductionBy(const Instruction* instruction, xla::HloOpcode opcode);

// Returns true if a reduction of one array is along dimensions that this has, each once, and the
// result has the others.
bool HasReducedShape(const Instruction* reduce);

// Returns true if the computation is of two scalars, and its root is this operation on both.
bool IsScalarOperation(const xla::HloComputation* computation, xla::HloOpcode opcode);

// Returns true if the operand has no other users than this one.
bool IsOnlyUser(const Instruction* user, const Instruction* operand);

// Builders of new instructions in the computation of `place`, with its metadata. Shapes follow from
// the operands, which must fit.
class Builder {
 public:
  explicit Builder(Instruction* place) : place_(place) {}

  // Scalar constant; the array of one value.
  Instruction* Scalar(xla::PrimitiveType type, double value) const;
  Instruction* Uniform(const xla::Shape& shape, double value) const;
  // Array 0, 1, 2, ... along a dimension.
  Instruction* Iota(const xla::Shape& shape, int64_t dimension) const;

  Instruction* Unary(xla::HloOpcode opcode, Instruction* operand) const;
  Instruction* Binary(xla::HloOpcode opcode, Instruction* lhs, Instruction* rhs) const;
  Instruction* Compare(Instruction* lhs, Instruction* rhs,
                       xla::ComparisonDirection direction) const;
  Instruction* Select(Instruction* which, Instruction* yes, Instruction* no) const;
  Instruction* Convert(Instruction* operand, xla::PrimitiveType type) const;
  Instruction* BitcastConvert(Instruction* operand, xla::PrimitiveType type) const;

  // Dimension `i` of the operand becomes dimension `dimensions[i]` of the result.
  Instruction* Broadcast(Instruction* operand, absl::Span<const int64_t> sizes,
                         absl::Span<const int64_t> dimensions) const;
  Instruction* Reshape(Instruction* operand, absl::Span<const int64_t> sizes) const;
  // Dimension `i` of the result is dimension `permutation[i]` of the operand.
  Instruction* Transpose(Instruction* operand, absl::Span<const int64_t> permutation) const;
  Instruction* Reverse(Instruction* operand, absl::Span<const int64_t> dimensions) const;
  Instruction* Slice(Instruction* operand, absl::Span<const int64_t> starts,
                     absl::Span<const int64_t> limits, absl::Span<const int64_t> strides) const;
  // Elements from `start` to before `limit` of one dimension.
  Instruction* SliceOf(Instruction* operand, int64_t dimension, int64_t start, int64_t limit,
                       int64_t stride = 1) const;
  // Pads with zeros, or with a scalar; negative edges cut off.
  Instruction* Pad(Instruction* operand, const xla::PaddingConfig& padding,
                   Instruction* value = nullptr) const;
  Instruction* Concatenate(absl::Span<Instruction* const> operands, int64_t dimension) const;

  // Sums (kAdd), products, maxima or minima over dimensions, from the operation's neutral element.
  Instruction* Reduce(xla::HloOpcode opcode, Instruction* operand,
                      absl::Span<const int64_t> dimensions) const;
  // The computation of this operation on two scalars, for reductions and scatters.
  xla::HloComputation* ScalarOperation(xla::HloOpcode opcode, xla::PrimitiveType type) const;
  // The scalar that is true if all truth values of an array are.
  Instruction* All(Instruction* predicates) const;
  Instruction* Dot(Instruction* lhs, Instruction* rhs, const xla::DotDimensionNumbers& numbers,
                   xla::PrimitiveType type) const;
  // Keeps XLA from moving operations across: the operand, as it is.
  Instruction* Barrier(Instruction* operand) const;
  Instruction* Element(Instruction* tuple, int64_t index) const;

  Instruction* place() const { return place_; }

 private:
  Instruction* place_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_FORMS_H_
