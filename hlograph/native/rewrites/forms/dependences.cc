// Which values of a loop's body depend on earlier iterations.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

bool AreStatic(const Instruction* instruction) {
  return IsPlain(instruction) &&
         std::all_of(instruction->operands().begin(), instruction->operands().end(),
                     [](const Instruction* one) {
                       return one->shape().IsArray() && one->shape().is_static() &&
                              IsCountable(one->shape().dimensions());
                     });
}

bool HaveOneShape(const Instruction* instruction) {
  return std::all_of(instruction->operands().begin(), instruction->operands().end(),
                     [&](const Instruction* one) {
                       return xla::ShapeUtil::SameDimensions(one->shape(), instruction->shape());
                     });
}

// Operations on elements that IsPointwise leaves out.
bool IsElementwise(const Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kAtan2:
    case Opcode::kClamp:
    case Opcode::kCompare:
    case Opcode::kIsFinite:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kPopulationCount:
    case Opcode::kClz:
    case Opcode::kBitcastConvert:
    case Opcode::kReducePrecision:
      return HaveOneShape(instruction);
    default:
      return IsPointwise(instruction);
  }
}

bool IsValidReduce(const Instruction* reduce, absl::Span<const bool> batched) {
  return reduce->operand_count() == 2 && !batched[1] && RankOf(reduce->operand(1)) == 0 &&
         HasReducedShape(reduce) && !reduce->to_apply()->HasSideEffect();
}

// Of a dynamic slice or update: the indices are scalars of one type, one for each dimension.
bool HasScalarIndices(const Instruction* instruction, int64_t first) {
  const int64_t rank = RankOf(instruction->operand(0));
  if (instruction->operand_count() != first + rank || rank == 0) return false;
  for (int64_t i = first; i < instruction->operand_count(); ++i) {
    if (!xla::ShapeUtil::IsScalar(instruction->operand(i)->shape()) ||
        !SameType(instruction->operand(i), instruction->operand(first))) {
      return false;
    }
  }
  return true;
}

bool AreIndicesOnce(absl::Span<const bool> batched, int64_t first) {
  return std::none_of(batched.begin() + first, batched.end(), [](bool one) { return one; });
}

Dependence Join(const std::vector<Dependence>& all) {
  Dependence joined = Dependence::kOnce;
  for (Dependence one : all) joined = std::max(joined, one);
  return joined;
}

// Dependence of a nested loop's elements, if its iterations are counted by what depends on none.
std::vector<Dependence> OfLoop(const Instruction* loop, std::vector<Dependence> elements) {
  const std::vector<Dependence> unknown(elements.size(), Dependence::kCarried);
  if (!IsPlainLoop(loop) || Join(elements) != Dependence::kNumber) return unknown;
  for (;;) {
    const Dependences body(loop->while_body(), elements);
    std::vector<Dependence> next = body.Of(loop->while_body()->root_instruction());
    for (size_t i = 0; i < next.size(); ++i) next[i] = std::max(next[i], elements[i]);
    if (Join(next) == Dependence::kCarried) return unknown;
    if (next == elements) break;
    elements = std::move(next);
  }
  const Dependences condition(loop->while_condition(), elements);
  const Instruction* const root = loop->while_condition()->root_instruction();
  return condition.OfArray(root) == Dependence::kOnce ? elements : unknown;
}

}  // namespace

bool IsBatchable(const Instruction* instruction, absl::Span<const bool> batched) {
  if (!AreStatic(instruction)) return false;
  switch (instruction->opcode()) {
    case Opcode::kBroadcast:
      return IsBroadcast(instruction);
    case Opcode::kReshape:
    case Opcode::kTranspose:
      return IsRearrangement(instruction);
    case Opcode::kConcatenate:
      return IsConcatenate(instruction);
    case Opcode::kSlice:
      return IsSlice(instruction);
    case Opcode::kReverse:
      return HaveOneShape(instruction);
    case Opcode::kPad:
      return !batched[1] && RankOf(instruction->operand(1)) == 0 &&
             RankOf(instruction->operand(0)) == RankOf(instruction) &&
             instruction->padding_config().dimensions_size() == RankOf(instruction);
    case Opcode::kReduce:
      return IsValidReduce(instruction, batched);
    case Opcode::kDynamicSlice:
      return HasScalarIndices(instruction, 1) && AreIndicesOnce(batched, 1) &&
             RankOf(instruction->operand(0)) == RankOf(instruction);
    case Opcode::kDynamicUpdateSlice:
      return HasScalarIndices(instruction, 2) && AreIndicesOnce(batched, 2) &&
             RankOf(instruction->operand(1)) == RankOf(instruction);
    case Opcode::kDot:
      return IsProduct(instruction, Opcode::kDot);
    case Opcode::kConvolution:
      return IsProduct(instruction, Opcode::kConvolution) && !batched[1] &&
             instruction->batch_group_count() == 1;
    default:
      return IsElementwise(instruction);
  }
}

std::optional<Rows> FindRows(const CountedLoop& loop, const Instruction* slice) {
  if (slice->opcode() != Opcode::kDynamicSlice || !AreStatic(slice) ||
      !HasScalarIndices(slice, 1) || RankOf(slice) != RankOf(slice->operand(0))) {
    return std::nullopt;
  }
  const xla::Shape& shape = slice->operand(0)->shape();
  Rows rows;
  rows.dimension = -1;
  for (int64_t i = 0; i < RankOf(slice); ++i) {
    const auto index = FindAffine(loop, slice->operand(i + 1));
    const int64_t room = shape.dimensions(i) - slice->shape().dimensions(i);
    if (!index.has_value() || room < 0) return std::nullopt;
    const int64_t last = index->base + index->slope * (loop.trips - 1);
    if (index->slope != 0) {
      if (rows.dimension >= 0 || slice->shape().dimensions(i) != 1 ||
          std::min(index->base, last) < 0 || std::max(index->base, last) > room) {
        return std::nullopt;
      }
      rows.dimension = i;
      rows.index = *index;
    }
    rows.starts.push_back(std::clamp<int64_t>(index->base, 0, room));
  }
  if (rows.dimension < 0) return std::nullopt;
  return rows;
}

Dependences::Dependences(const CountedLoop& loop)
    : loop_(&loop), parameter_(loop.body()->parameter_instruction(0)) {
  for (int64_t i = 0; i < loop.size(); ++i) {
    const auto* const result = loop.results[i];
    if (IsInvariant(loop, i)) {
      elements_.push_back(Dependence::kOnce);
    } else if (xla::ShapeUtil::IsScalar(result->shape()) && FindInduction(loop, i).has_value()) {
      elements_.push_back(Dependence::kNumber);
    } else {
      elements_.push_back(Dependence::kCarried);
    }
  }
  FindAll(loop.body());
}

Dependences::Dependences(const xla::HloComputation* computation, std::vector<Dependence> elements)
    : parameter_(computation->parameter_instruction(0)), elements_(std::move(elements)) {
  FindAll(computation);
}

void Dependences::FindAll(const xla::HloComputation* computation) {
  for (const Instruction* instruction : computation->MakeInstructionPostOrder()) {
    found_[instruction] = Find(instruction);
  }
}

std::vector<Dependence> Dependences::Find(const Instruction* instruction) const {
  const int64_t count =
      instruction->shape().IsTuple() ? xla::ShapeUtil::TupleElementCount(instruction->shape()) : 1;
  const std::vector<Dependence> unknown(std::max<int64_t>(count, 1), Dependence::kCarried);
  if (instruction == parameter_) return elements_;
  if (instruction->HasControlDependencies()) return unknown;
  std::vector<Dependence> operands;
  for (const Instruction* operand : instruction->operands()) {
    operands.push_back(operand->shape().IsTuple() ? Dependence::kCarried : OfArray(operand));
  }
  switch (instruction->opcode()) {
    case Opcode::kTuple:
      return operands.empty() ? unknown : operands;
    case Opcode::kGetTupleElement: {
      const int64_t index = instruction->tuple_index();
      const auto& all = Of(instruction->operand(0));
      const bool fits = index >= 0 && index < static_cast<int64_t>(all.size());
      return fits && instruction->shape().IsArray() ? std::vector<Dependence>{all[index]} : unknown;
    }
    case Opcode::kWhile:
      return instruction->shape().IsTuple() ? OfLoop(instruction, Of(instruction->operand(0)))
                                            : unknown;
    case Opcode::kConstant:
    case Opcode::kIota:
      return IsPlain(instruction) ? std::vector{Dependence::kOnce} : unknown;
    case Opcode::kDynamicSlice:
      if (loop_ != nullptr && operands[0] == Dependence::kOnce &&
          FindRows(*loop_, instruction).has_value()) {
        return {Dependence::kNumber};
      }
      break;
    default:
      break;
  }
  const Dependence joined = Join(operands);
  if (instruction->shape().IsTuple() || operands.empty() || joined == Dependence::kCarried) {
    return unknown;
  }
  bool batched[8] = {};
  if (operands.size() > 8) return unknown;
  for (size_t i = 0; i < operands.size(); ++i) batched[i] = operands[i] == Dependence::kNumber;
  if (!IsBatchable(instruction, absl::MakeConstSpan(batched, operands.size()))) return unknown;
  return {joined};
}

}  // namespace hlograph
