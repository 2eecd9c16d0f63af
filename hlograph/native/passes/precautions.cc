// Tells which passes need a precaution, because they end the process on some valid modules.
//
// Found by tests/hlograph/transforms/test_degenerate_modules.py; each has a test of its own in
// test_pass_regressions.py.
#include "hlograph/native/passes/precautions.h"

#include <vector>

#include "absl/strings/match.h"
#include "hlograph/native/passes/registry.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hlograph {

using Opcode = xla::HloOpcode;

bool IsEmptySlice(const xla::HloInstruction& instruction) {
  return (instruction.opcode() == Opcode::kSlice ||
          instruction.opcode() == Opcode::kDynamicSlice) &&
         xla::ShapeUtil::IsZeroElementArray(instruction.shape());
}

bool IsScalarSlice(const xla::HloInstruction& instruction) {
  return (instruction.opcode() == Opcode::kDynamicSlice ||
          instruction.opcode() == Opcode::kDynamicUpdateSlice) &&
         xla::ShapeUtil::IsScalar(instruction.shape());
}

bool IsDynamicConstant(const xla::HloInstruction& instruction) {
  return instruction.opcode() == Opcode::kConstant && !instruction.shape().is_static();
}

void AddPrecautions(std::vector<Pass>& passes) {
  for (Pass& pass : passes) {
    if (absl::StartsWith(pass.name, "algsimp")) {
      pass.precautions.push_back({IsEmptySlice, "zero_sized_hlo_elimination"});
      pass.precautions.push_back(
          {IsDynamicConstant, "", "does not take constants of dynamic size"});
    }
    if (pass.name == "constant_folding") {
      pass.precautions.push_back({IsScalarSlice, "dynamic-index-splitter"});
    }
  }
}

}  // namespace hlograph
