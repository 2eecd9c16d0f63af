#include "hlograph/native/rewrites/forms/choices.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

// Adds a computation of one tuple of values.
xla::HloComputation* AddBranch(Instruction* place, const std::string& name,
                               const xla::Shape& arguments, const Body& body) {
  xla::HloComputation::Builder start(name);
  start.AddInstruction(Instruction::CreateParameter(0, arguments, "arguments"));
  xla::HloComputation* const branch = place->GetModule()->AddEmbeddedComputation(start.Build());
  Instruction* const parameter = branch->parameter_instruction(0);
  std::vector<Instruction*> values;
  for (int64_t i = 0; i < static_cast<int64_t>(arguments.tuple_shapes().size()); ++i) {
    values.push_back(Builder(parameter).Element(parameter, i));
  }
  branch->set_root_instruction(body(values), /*accept_different_shape=*/true);
  return branch;
}

}  // namespace

Instruction* AddChoice(Instruction* place, Instruction* holds,
                       absl::Span<Instruction* const> values, const Body& fast, const Body& slow) {
  Instruction* const arguments = place->AddInstruction(Instruction::CreateTuple(values));
  xla::HloComputation* const yes = AddBranch(place, "fast", arguments->shape(), fast);
  // XLA makes a select of a conditional whose branches are all elementwise, and may then compute
  // both of them for each element. The barriers keep it from that.
  xla::HloComputation* const no = AddBranch(place, "slow", arguments->shape(),
                                            [&slow](absl::Span<Instruction* const> arguments) {
                                              std::vector<Instruction*> kept;
                                              for (Instruction* value : arguments)
                                                kept.push_back(Builder(value).Barrier(value));
                                              return slow(kept);
                                            });
  return place->AddInstruction(Instruction::CreateConditional(
      yes->root_instruction()->shape(), holds, arguments, yes, arguments, no));
}

bool IsSlowWay(const Instruction* instruction) {
  return absl::c_any_of(instruction->operands(), [](const Instruction* operand) {
    return operand->opcode() == xla::HloOpcode::kOptimizationBarrier &&
           operand->operand(0)->opcode() == xla::HloOpcode::kGetTupleElement;
  });
}

}  // namespace hlograph
