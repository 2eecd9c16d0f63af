#include "hlograph/native/rewrites/forms/block_loop.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/axis_blocks.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

// Returns true for 0, 1, 2, ... along the dimension, in a type whose sums do not round.
bool IsIntegerIota(const Instruction* value, int64_t dimension) {
  return value->opcode() == Opcode::kIota && IsPlain(value) && value->dimensions(0) == dimension &&
         xla::primitive_util::IsIntegralType(value->shape().element_type());
}

}  // namespace

Instruction* BlockCopier::Copy(const Instruction* value, int64_t dimension) {
  value = Forwarded(value);
  const std::pair<const Instruction*, int64_t> key(value, dimension);
  if (auto entry = copies_.find(key); entry != copies_.end()) return entry->second;
  Instruction* copy = CopyOther(value, dimension);
  if (copy == nullptr) copy = CopyAlike(value, dimension);
  return copies_[key] = copy;
}

Instruction* BlockCopier::CopyAlike(const Instruction* value, int64_t dimension) {
  const auto dimensions = OperandDimensions(value, dimension);
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < dimensions->size(); ++i) {
    operands.push_back(Copy(value->operand(i), (*dimensions)[i]));
  }
  std::unique_ptr<Instruction> clone = CloneForBlock(value, dimension, size_, operands);
  clone->set_original_value(nullptr);  // it is another value
  return to_->AddInstruction(std::move(clone));
}

BlockLoop::BlockLoop(Instruction* place, int64_t count, int64_t size, const BlockedValues& blocked)
    : BlockCopier(AddLoopComputation(
                      place->GetModule(), "blocks",
                      xla::ShapeUtil::MakeTupleShape({xla::ShapeUtil::MakeShape(xla::S32, {})})),
                  size),
      place_(place),
      count_(count),
      blocked_(blocked) {
  initials_.push_back(Builder(place).Scalar(xla::S32, 0));
  results_.push_back(nullptr);
  number_ = Element(0);
  const Builder inside(number_);
  results_[0] = inside.Binary(Opcode::kAdd, number_, inside.Scalar(xla::S32, 1));
  // The last block begins earlier where the size does not divide.
  start_ = inside.Binary(
      Opcode::kMinimum,
      inside.Binary(Opcode::kMultiply, number_, inside.Scalar(xla::S32, static_cast<double>(size))),
      inside.Scalar(xla::S32, static_cast<double>(count - size)));
}

int64_t BlockLoop::AddResult(Instruction* block, int64_t dimension) {
  const xla::Shape shape = Resized(block->shape(), dimension, count_);
  const int64_t number = AddState(Builder(place_).Uniform(shape, 0));
  results_[number] = to()->AddInstruction(Instruction::CreateDynamicUpdateSlice(
      shape, Element(number), block, Indices(RankOf(block), dimension)));
  return number;
}

Instruction* BlockLoop::Finish() {
  to()->set_root_instruction(to()->AddInstruction(Instruction::CreateTuple(results_)),
                             /*accept_different_shape=*/true);
  Instruction* const initial = place_->AddInstruction(Instruction::CreateTuple(initials_));
  xla::HloComputation* const condition =
      AddLoopComputation(place_->GetModule(), "more_blocks", initial->shape());
  Instruction* const state = condition->parameter_instruction(0);
  Instruction* const number = state->AddInstruction(Instruction::CreateGetTupleElement(state, 0));
  const Builder inside(number);
  const int64_t blocks = (count_ + size() - 1) / size();
  condition->set_root_instruction(
      inside.Compare(number, inside.Scalar(xla::S32, static_cast<double>(blocks)),
                     xla::ComparisonDirection::kLt),
      /*accept_different_shape=*/true);
  return place_->AddInstruction(
      Instruction::CreateWhile(initial->shape(), condition, to(), initial));
}

Instruction* BlockLoop::CopyOther(const Instruction* value, int64_t dimension) {
  if (dimension == kWholeArray) {
    const bool copied = value->opcode() == Opcode::kConstant && IsPlain(value);
    return copied ? nullptr : Outside(value);
  }
  const auto entry = blocked_.find(value);
  if (entry != blocked_.end() && entry->second.count(dimension) > 0) return nullptr;
  const xla::Shape shape = Resized(value->shape(), dimension, size());
  if (IsIntegerIota(value, dimension)) {
    const Builder inside(number_);
    Instruction* const start = inside.Convert(start_, shape.element_type());
    return inside.Binary(Opcode::kAdd, inside.Iota(shape, dimension),
                         inside.Broadcast(start, shape.dimensions(), {}));
  }
  return to()->AddInstruction(Instruction::CreateDynamicSlice(
      shape, Outside(value), Indices(RankOf(value), dimension), shape.dimensions()));
}

Instruction* BlockLoop::Element(int64_t number) {
  return to()->AddInstruction(
      Instruction::CreateGetTupleElement(to()->parameter_instruction(0), number));
}

int64_t BlockLoop::AddState(Instruction* initial) {
  *to()->parameter_instruction(0)->mutable_shape()->add_tuple_shapes() = initial->shape();
  initials_.push_back(initial);
  results_.push_back(nullptr);
  return static_cast<int64_t>(results_.size()) - 1;
}

Instruction* BlockLoop::Outside(const Instruction* value) {
  if (auto entry = outside_.find(value); entry != outside_.end()) return entry->second;
  const int64_t number = AddState(const_cast<Instruction*>(value));
  return outside_[value] = results_[number] = Element(number);
}

std::vector<Instruction*> BlockLoop::Indices(int64_t rank, int64_t dimension) {
  std::vector<Instruction*> indices(rank, Builder(number_).Scalar(xla::S32, 0));
  indices[dimension] = start_;
  return indices;
}

}  // namespace hlograph
