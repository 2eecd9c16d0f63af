#include "hlograph/native/rewrites/forms/loop_body.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {

using Opcode = xla::HloOpcode;

std::optional<CountedLoop> FindSimpleLoop(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kWhile) return std::nullopt;
  auto loop = FindCountedLoop(instruction);
  if (!loop.has_value() || loop->start != 0 || loop->step != 1 || loop->trips < 2) {
    return std::nullopt;
  }
  return loop;
}

LoopBody::LoopBody(const CountedLoop& loop)
    : loop(loop),
      dependences(loop),
      users(FindUsers(loop.body())),
      order(loop.body()->MakeInstructionPostOrder()) {}

const std::vector<const Instruction*>& LoopBody::UsersOf(const Instruction* one) const {
  static const auto* const none = new std::vector<const Instruction*>();
  const auto found = users.find(one);
  return found == users.end() ? *none : found->second;
}

int64_t LoopBody::CountResults(const Instruction* one) const {
  return std::count(loop.results.begin(), loop.results.end(), one);
}

bool LoopBody::IsOnlyUser(const Instruction* user, const Instruction* value) const {
  const auto& all = UsersOf(value);
  return all.size() == 1 && all.front() == user && CountResults(value) == 0;
}

bool LoopBody::IsOwn(int64_t element, const Instruction* result) const {
  if (CountResults(result) != 1 || !UsersOf(result).empty()) return false;
  const Instruction* const parameter = loop.body()->parameter_instruction(0);
  return std::all_of(order.begin(), order.end(), [&](const Instruction* one) {
    return one->opcode() != Opcode::kGetTupleElement || one->operand(0) != parameter ||
           one->tuple_index() != element || UsersOf(one).empty() || IsOnlyUser(result, one);
  });
}

std::optional<Filled> FindFilled(const LoopBody& body, int64_t element) {
  const CountedLoop& loop = body.loop;
  const Instruction* const result = loop.results[element];
  const Instruction* const parameter = loop.body()->parameter_instruction(0);
  if (result->opcode() != Opcode::kDynamicUpdateSlice || !IsPlain(result) ||
      !SameArray(result, result->operand(0)) ||
      ElementOf(Forwarded(result->operand(0)), parameter) != element ||
      !body.IsOwn(element, result)) {
    return std::nullopt;
  }
  const Instruction* const update = Forwarded(result->operand(1));
  const int64_t rank = result->shape().dimensions().size();
  if (rank == 0 || result->operand_count() != 2 + rank || !update->shape().IsArray() ||
      !SameElsewhere(update->shape(), result->shape(), 0) || update->shape().dimensions(0) != 1 ||
      result->shape().dimensions(0) != loop.trips || !SameType(update, result)) {
    return std::nullopt;
  }
  const auto row = FindAffine(loop, result->operand(2));
  if (!row.has_value()) return std::nullopt;
  for (int64_t i = 1; i < rank; ++i) {
    const auto index = FindAffine(loop, result->operand(2 + i));
    if (!index.has_value() || index->base != 0 || index->slope != 0) return std::nullopt;
  }
  if (row->slope == 1 && row->base == 0) return Filled{update, false};
  if (row->slope == -1 && row->base == loop.trips - 1) return Filled{update, true};
  return std::nullopt;
}

}  // namespace hlograph
