#include "hlograph/native/rewrites/forms/batching.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

std::vector<int64_t> Sizes(const Instruction* array) {
  const absl::Span<const int64_t> sizes = array->shape().dimensions();
  return {sizes.begin(), sizes.end()};
}

std::vector<int64_t> After(int64_t first, absl::Span<const int64_t> rest) {
  std::vector<int64_t> all = {first};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

std::vector<int64_t> Later(absl::Span<const int64_t> dimensions) {
  std::vector<int64_t> later(dimensions.begin(), dimensions.end());
  for (int64_t& one : later) ++one;
  return later;
}

// The permutation that moves a dimension to the front, or back.
std::vector<int64_t> ToFront(int64_t rank, int64_t dimension) {
  std::vector<int64_t> order = {dimension};
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dimension) order.push_back(i);
  }
  return order;
}

std::vector<int64_t> FromFront(int64_t rank, int64_t dimension) {
  std::vector<int64_t> order(rank - 1);
  std::iota(order.begin(), order.end(), 1);
  order.insert(order.begin() + dimension, 0);
  return order;
}

void MoveLater(google::protobuf::RepeatedField<int64_t>* dimensions) {
  for (int64_t& one : *dimensions) ++one;
}

}  // namespace

Batcher::Batcher(const CountedLoop& loop, Instruction* place, bool reversed)
    : loop_(&loop),
      builder_(place),
      trips_(loop.trips),
      reversed_(reversed),
      parameter_(loop.body()->parameter_instruction(0)) {}

Batcher::Batcher(Instruction* place, int64_t trips, const Instruction* parameter,
                 std::vector<Batched> elements)
    : builder_(place), trips_(trips), parameter_(parameter), elements_(std::move(elements)) {}

const std::vector<Batched>& Batcher::AllOf(const Instruction* instruction) {
  const Instruction* const value = Forwarded(instruction);
  if (auto found = values_.find(value); found != values_.end()) return found->second;
  std::vector<Batched> built = Build(value);
  return values_[value] = std::move(built);
}

std::vector<int64_t> Batcher::SizesOf(const Instruction* one) const {
  return After(trips_, one->shape().dimensions());
}

Instruction* Batcher::Stacked(Batched value) const {
  if (value.stacked) return value.array;
  std::vector<int64_t> dimensions(value.array->shape().dimensions().size());
  std::iota(dimensions.begin(), dimensions.end(), 1);
  return builder_.Broadcast(value.array, After(trips_, value.array->shape().dimensions()),
                            dimensions);
}

Instruction* Batcher::Like(const Instruction* like, absl::Span<const int64_t> sizes,
                           absl::Span<Instruction* const> operands) {
  const xla::Shape shape = xla::ShapeUtil::MakeShape(like->shape().element_type(), sizes);
  std::unique_ptr<Instruction> copy = like->CloneWithNewOperands(shape, operands);
  copy->set_original_value(nullptr);  // it is another value
  return builder_.place()->parent()->AddInstruction(std::move(copy));
}

std::vector<Batched> Batcher::Build(const Instruction* instruction) {
  if (instruction->opcode() == Opcode::kGetTupleElement) {
    if (instruction->operand(0) == parameter_) return {BuildElement(instruction->tuple_index())};
    return {AllOf(instruction->operand(0))[instruction->tuple_index()]};
  }
  if (instruction->opcode() == Opcode::kWhile) return BuildLoop(instruction);
  if (loop_ != nullptr && instruction->opcode() == Opcode::kDynamicSlice &&
      !Of(instruction->operand(0)).stacked) {
    if (const auto rows = FindRows(*loop_, instruction)) return {BuildRows(instruction, *rows)};
  }
  std::vector<Batched> operands;
  for (const Instruction* operand : instruction->operands()) operands.push_back(Of(operand));
  if (instruction->opcode() == Opcode::kTuple) return operands;
  const bool stacked =
      std::any_of(operands.begin(), operands.end(), [](const Batched& one) { return one.stacked; });
  if (stacked) return {BuildArray(instruction, operands)};
  std::vector<Instruction*> arrays;
  for (const Batched& one : operands) arrays.push_back(one.array);
  return {{Like(instruction, instruction->shape().dimensions(), arrays), false}};
}

Batched Batcher::BuildElement(int64_t element) {
  if (loop_ == nullptr) return elements_[element];
  Instruction* const initial =
      TakeElement(const_cast<Instruction*>(loop_->loop->operand(0)), element);
  if (IsInvariant(*loop_, element)) return {initial, false};
  return BuildCounter(initial, *FindInduction(*loop_, element));
}

Batched Batcher::BuildCounter(const Instruction* like, Affine value) {
  const xla::PrimitiveType type = like->shape().element_type();
  const xla::Shape shape = xla::ShapeUtil::MakeShape(type, {trips_});
  Instruction* count = builder_.Iota(shape, 0);
  if (value.slope != 1) {
    count = builder_.Binary(Opcode::kMultiply, count, builder_.Uniform(shape, value.slope));
  }
  if (value.base != 0) {
    count = builder_.Binary(Opcode::kAdd, count, builder_.Uniform(shape, value.base));
  }
  return {reversed_ ? builder_.Reverse(count, {0}) : count, true};
}

Batched Batcher::BuildRows(const Instruction* slice, const Rows& rows) {
  Instruction* array = Of(slice->operand(0)).array;
  std::vector<int64_t> starts = rows.starts, limits = starts, strides(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) limits[i] += slice->shape().dimensions(i);
  const int64_t d = rows.dimension, slope = rows.index.slope;
  const int64_t last = rows.index.base + slope * (trips_ - 1);
  starts[d] = std::min(rows.index.base, last);
  limits[d] = std::max(rows.index.base, last) + 1;
  strides[d] = std::abs(slope);
  array = builder_.Slice(array, starts, limits, strides);
  if ((slope < 0) != reversed_) array = builder_.Reverse(array, {d});
  array = builder_.Transpose(array, ToFront(starts.size(), d));
  return {builder_.Reshape(array, SizesOf(slice)), true};
}

Batched Batcher::BuildArray(const Instruction* instruction, const std::vector<Batched>& operands) {
  const std::vector<int64_t> sizes = SizesOf(instruction);
  Instruction* const first = operands[0].array;
  switch (instruction->opcode()) {
    case Opcode::kDot:
      return {BuildDot(instruction, operands), true};
    case Opcode::kConvolution:
      return {BuildConvolution(instruction, Stacked(operands[0]), operands[1].array), true};
    case Opcode::kBroadcast:
      return {builder_.Broadcast(first, sizes, After(0, Later(instruction->dimensions()))), true};
    case Opcode::kReshape:
      return {builder_.Reshape(first, sizes), true};
    case Opcode::kTranspose:
      return {builder_.Transpose(first, After(0, Later(instruction->dimensions()))), true};
    case Opcode::kReverse:
      return {builder_.Reverse(first, Later(instruction->dimensions())), true};
    case Opcode::kSlice:
      return {builder_.Slice(first, After(0, instruction->slice_starts()),
                             After(trips_, instruction->slice_limits()),
                             After(1, instruction->slice_strides())),
              true};
    case Opcode::kPad: {
      xla::PaddingConfig padding;
      padding.add_dimensions();
      for (const auto& one : instruction->padding_config().dimensions()) {
        *padding.add_dimensions() = one;
      }
      return {builder_.Pad(Stacked(operands[0]), padding, operands[1].array), true};
    }
    case Opcode::kReduce:
      return {builder_.place()->AddInstruction(Instruction::CreateReduce(
                  xla::ShapeUtil::MakeShape(instruction->shape().element_type(), sizes), first,
                  operands[1].array, Later(instruction->dimensions()), instruction->to_apply())),
              true};
    default:
      break;
  }
  std::vector<Instruction*> arrays;
  for (const Batched& one : operands) arrays.push_back(Stacked(one));
  if (instruction->opcode() == Opcode::kConcatenate) {
    return {builder_.Concatenate(arrays, instruction->concatenate_dimension() + 1), true};
  }
  const bool slices = instruction->opcode() == Opcode::kDynamicSlice;
  if (!slices && instruction->opcode() != Opcode::kDynamicUpdateSlice) {
    return {Like(instruction, sizes, arrays), true};
  }
  arrays.resize(slices ? 1 : 2);
  const size_t indices = arrays.size();
  arrays.push_back(builder_.Scalar(operands[indices].array->shape().element_type(), 0));
  for (size_t i = indices; i < operands.size(); ++i) arrays.push_back(operands[i].array);
  const xla::Shape shape = xla::ShapeUtil::MakeShape(instruction->shape().element_type(), sizes);
  const absl::Span<Instruction* const> at = absl::MakeSpan(arrays).subspan(indices);
  return {builder_.place()->AddInstruction(
              slices ? Instruction::CreateDynamicSlice(shape, arrays[0], at, sizes)
                     : Instruction::CreateDynamicUpdateSlice(shape, arrays[0], arrays[1], at)),
          true};
}

// The iteration is a batch dimension if both operands are stacked, else a free dimension of one.
Instruction* Batcher::BuildDot(const Instruction* dot, const std::vector<Batched>& operands) {
  xla::DotDimensionNumbers numbers = dot->dot_dimension_numbers();
  const bool both = operands[0].stacked && operands[1].stacked;
  if (operands[0].stacked) {
    MoveLater(numbers.mutable_lhs_batch_dimensions());
    MoveLater(numbers.mutable_lhs_contracting_dimensions());
  }
  if (operands[1].stacked) {
    MoveLater(numbers.mutable_rhs_batch_dimensions());
    MoveLater(numbers.mutable_rhs_contracting_dimensions());
  }
  const int64_t rank = dot->shape().dimensions().size();
  int64_t at = 0;  // of the iteration in the result
  if (both) {
    const auto lhs = After(0, numbers.lhs_batch_dimensions());
    const auto rhs = After(0, numbers.rhs_batch_dimensions());
    numbers.mutable_lhs_batch_dimensions()->Assign(lhs.begin(), lhs.end());
    numbers.mutable_rhs_batch_dimensions()->Assign(rhs.begin(), rhs.end());
  } else if (operands[0].stacked) {
    at = numbers.lhs_batch_dimensions_size();
  } else {
    at = rank - (dot->operand(1)->shape().dimensions().size() -
                 numbers.rhs_batch_dimensions_size() - numbers.rhs_contracting_dimensions_size());
  }
  std::vector<int64_t> sizes = Sizes(dot);
  sizes.insert(sizes.begin() + at, trips_);
  Instruction* const product = builder_.place()->AddInstruction(Instruction::CreateDot(
      xla::ShapeUtil::MakeShape(dot->shape().element_type(), sizes), operands[0].array,
      operands[1].array, numbers, dot->precision_config()));
  return builder_.Transpose(product, ToFront(rank + 1, at));
}

// The iterations become part of the batch.
Instruction* Batcher::BuildConvolution(const Instruction* convolution, Instruction* input,
                                       Instruction* kernel) {
  const auto merged = [&](Instruction* stacked, int64_t batch) {
    std::vector<int64_t> order = FromFront(stacked->shape().dimensions().size(), batch);
    Instruction* const moved = builder_.Transpose(stacked, order);
    std::vector<int64_t> sizes = Sizes(moved);
    sizes[batch] *= sizes[batch + 1];
    sizes.erase(sizes.begin() + batch + 1);
    return builder_.Reshape(moved, sizes);
  };
  const auto& numbers = convolution->convolution_dimension_numbers();
  const int64_t batch = numbers.output_batch_dimension();
  std::vector<int64_t> sizes = Sizes(convolution);
  sizes[batch] *= trips_;
  Instruction* const product =
      Like(convolution, sizes, {merged(input, numbers.input_batch_dimension()), kernel});
  sizes[batch] /= trips_;
  sizes.insert(sizes.begin() + batch, trips_);
  return builder_.Transpose(builder_.Reshape(product, sizes), ToFront(sizes.size(), batch));
}

std::vector<Batched> Batcher::BuildLoop(const Instruction* loop) {
  std::vector<Batched> initial = AllOf(loop->operand(0));
  std::vector<Dependence> elements;
  for (const Batched& one : initial) {
    elements.push_back(one.stacked ? Dependence::kNumber : Dependence::kOnce);
  }
  for (std::vector<Dependence> next;; elements = next) {  // until no more become stacked
    const Dependences body(loop->while_body(), elements);
    next = body.Of(loop->while_body()->root_instruction());
    for (size_t i = 0; i < next.size(); ++i) next[i] = std::max(next[i], elements[i]);
    if (next == elements) break;
  }
  std::vector<Instruction*> arrays;
  std::vector<xla::Shape> shapes;
  for (size_t i = 0; i < initial.size(); ++i) {
    const bool stacked = elements[i] == Dependence::kNumber;
    arrays.push_back(stacked ? Stacked(initial[i]) : initial[i].array);
    shapes.push_back(arrays.back()->shape());
  }
  const xla::Shape shape = xla::ShapeUtil::MakeTupleShape(shapes);
  const auto batched = [&](const xla::HloComputation* original) {
    xla::HloComputation* const made =
        AddLoopComputation(builder_.place()->GetModule(), "batched", shape);
    Instruction* const parameter = made->parameter_instruction(0);
    std::vector<Batched> values;
    for (size_t i = 0; i < shapes.size(); ++i) {
      values.push_back({made->AddInstruction(Instruction::CreateGetTupleElement(parameter, i)),
                        elements[i] == Dependence::kNumber});
    }
    Batcher inner(parameter, trips_, original->parameter_instruction(0), values);
    const std::vector<Batched> results = inner.AllOf(original->root_instruction());
    std::vector<Instruction*> built;
    const bool is_body = original == loop->while_body();
    for (size_t i = 0; i < results.size(); ++i) {
      const bool stacked = is_body && values[i].stacked;
      built.push_back(stacked ? inner.Stacked(results[i]) : results[i].array);
    }
    made->set_root_instruction(
        is_body ? made->AddInstruction(Instruction::CreateTuple(built)) : built.front(),
        /*accept_different_shape=*/true);
    Tidy(made);
    return made;
  };
  xla::HloComputation* const body = batched(loop->while_body());
  // The condition's result does not depend on what is stacked.
  xla::HloComputation* const condition = batched(loop->while_condition());
  Instruction* const start = builder_.place()->AddInstruction(Instruction::CreateTuple(arrays));
  Instruction* const made =
      builder_.place()->AddInstruction(Instruction::CreateWhile(shape, condition, body, start));
  std::vector<Batched> results;
  for (size_t i = 0; i < arrays.size(); ++i) {
    results.push_back({builder_.Element(made, i), elements[i] == Dependence::kNumber});
  }
  return results;
}

}  // namespace hlograph
