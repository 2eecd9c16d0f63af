// Found by tests/hlograph/transforms/test_degenerate_modules.py; each has a test of its own in
// test_pass_regressions.py.
#include "hlograph/native/passes/precautions.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
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

bool FoldsToDynamicConstant(const xla::HloInstruction& instruction) {
  if (instruction.shape().IsTuple() || instruction.shape().is_static() ||
      instruction.opcode() == Opcode::kConstant) {
    return false;
  }
  // What folds is made of constants alone, by any number of steps.
  absl::flat_hash_set<const xla::HloInstruction*> seen;
  std::vector<const xla::HloInstruction*> open = {&instruction};
  while (!open.empty()) {
    const xla::HloInstruction* next = open.back();
    open.pop_back();
    if (next->opcode() == Opcode::kParameter) return false;
    for (const xla::HloInstruction* operand : next->operands()) {
      if (seen.insert(operand).second) open.push_back(operand);
    }
  }
  return true;
}

bool HasUnboundedDimension(const xla::HloInstruction& instruction) {
  bool found = false;
  xla::ShapeUtil::ForEachSubshape(
      instruction.shape(), [&](const xla::Shape& part, const xla::ShapeIndex&) {
        found = found || (part.IsArray() && part.is_unbounded_dynamic());
      });
  return found;
}

}  // namespace hlograph
