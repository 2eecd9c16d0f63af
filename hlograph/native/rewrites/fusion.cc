#include "hlograph/native/rewrites/fusion.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/cpu/cpu_instruction_fusion.h"
#include "xla/service/cpu/cpu_multi_output_fusion.h"
#include "xla/service/instruction_fusion.h"
#include "xla/service/multi_output_fusion.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

const xla::AliasInfo& Aliases() {
  static const auto* const aliases = new xla::AliasInfo();
  return *aliases;
}

// XLA:CPU's fusion pass at one pair, with what it says of profit taken out as far as it can be:
// nothing is expensive, and of the part that all backends share only the check for legality runs.
// What is compiled in stays, and is the code generator's for the most part: how much code the
// fusion would emit, that a producer is no fusion itself, which products of matrices and vectors.
// A new object for each pair, for the pass remembers fusions by address.
class PairFusion : public xla::cpu::CpuInstructionFusion {
 public:
  PairFusion() : CpuInstructionFusion(&Aliases()) {
    set_is_expensive([](const HloInstruction&) { return false; });
  }

  bool IsLegal(HloInstruction* producer, HloInstruction* consumer) {
    for (int64_t index : consumer->OperandIndices(producer)) {
      if (!CpuInstructionFusion::ShouldFuse(consumer, index).CanFuse()) return false;
    }
    return true;
  }

  HloInstruction* Apply(HloInstruction* producer, HloInstruction* consumer) {
    return Fuse(producer, consumer, consumer->parent());
  }

 protected:
  using CpuInstructionFusion::ShouldFuse;
  xla::FusionDecision ShouldFuse(
      HloInstruction* consumer, int64_t operand_index,
      std::function<xla::FusionDecision(const HloInstruction*, const HloInstruction*,
                                        const xla::AliasInfo*,
                                        std::optional<const xla::InPlaceFusionOptions>)>
          in_place,
      bool /*legality_check_only*/) override {
    return InstructionFusion::ShouldFuse(consumer, operand_index, in_place,
                                         /*legality_check_only=*/true);
  }
};

// The virtual functions of XLA:CPU's pass for multi-output fusion, which is final. They are named
// here as those of its base, and called on it.
class OutputChecks : public xla::MultiOutputFusion {
 public:
  static bool AskFusible(xla::MultiOutputFusion& pass, HloInstruction* instruction) {
    return (pass.*&OutputChecks::IsFusible)(instruction);
  }

  static bool AskShapes(xla::MultiOutputFusion& pass, HloInstruction* first,
                        HloInstruction* second) {
    return (pass.*&OutputChecks::ShapesCompatibleForFusion)(first, second);
  }
};

// What XLA:CPU generates loops for; its passes' own list is not exported.
bool IsLoop(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kConstant:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
    case HloOpcode::kIota:
    case HloOpcode::kPad:
    case HloOpcode::kParameter:
    case HloOpcode::kReduce:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
    case HloOpcode::kTuple:
      return true;
    default:
      return instruction->IsElementwise();
  }
}

// XLA's passes ask any array that they look at for its layout.
bool HasLayout(const xla::Shape& shape) {
  if (shape.IsTuple()) return absl::c_all_of(shape.tuple_shapes(), HasLayout);
  return shape.IsArray() && shape.has_layout();
}

bool MayBeFused(const HloInstruction* instruction) {
  const auto laid_out = [](const HloInstruction* one) { return HasLayout(one->shape()); };
  return !instruction->HasControlDependencies() && laid_out(instruction) &&
         absl::c_all_of(instruction->operands(), laid_out) &&
         (instruction->IsFusible() || instruction->opcode() == HloOpcode::kFusion);
}

// Whether an instruction can be one of several results of a loop. One that works in place cannot,
// for the others may read what it has written over.
bool MayBeOutput(HloInstruction* instruction) {
  // XLA:CPU's own bound; the code of kernels with more takes long to compile.
  constexpr int64_t kMaxOperands = 20;
  static auto* const pass = new xla::cpu::CpuMultiOutputFusion(&Aliases());
  if (!MayBeFused(instruction) || instruction->operand_count() >= kMaxOperands ||
      !OutputChecks::AskFusible(*pass, instruction) ||
      !Aliases().GetInPlaceInputOutputPairs(instruction).empty()) {
    return false;
  }
  if (instruction->opcode() != HloOpcode::kFusion) {
    return instruction->shape().IsArray() && !instruction->operands().empty() &&
           IsLoop(instruction);
  }
  return instruction->IsLoopFusion() && absl::c_all_of(instruction->fused_instructions(), IsLoop);
}

// Whether all that takes the results of an instruction with several takes one of them.
bool AreResultsTakenApart(const HloInstruction* instruction) {
  return !instruction->IsMultiOutputFusion() ||
         (!instruction->IsRoot() &&
          absl::c_all_of(instruction->users(), [](const HloInstruction* user) {
            return user->opcode() == HloOpcode::kGetTupleElement;
          }));
}

// Whether a way leads from one instruction to another, but for what uses it directly.
bool IsBehind(const HloInstruction* from, const HloInstruction* to) {
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> open;
  const auto reach = [&](const HloInstruction* next) {
    if (seen.insert(next).second) open.push_back(next);
  };
  for (const HloInstruction* user : from->users()) {
    if (user != to) reach(user);
  }
  while (!open.empty()) {
    const HloInstruction* const instruction = open.back();
    open.pop_back();
    if (instruction == to) return true;
    absl::c_for_each(instruction->users(), reach);
    absl::c_for_each(instruction->control_successors(), reach);
  }
  return false;
}

// A fusion is changed in place by what is fused into it. A copy in its place is new throughout,
// so that what a rewrite adds and removes can be told by which instructions there are.
absl::StatusOr<HloInstruction*> Renew(HloInstruction* fusion) {
  xla::HloComputation* const computation = fusion->parent();
  const std::string name(fusion->fused_instructions_computation()->name());
  HloInstruction* const copy = computation->AddInstruction(fusion->Clone());
  absl::Status status = computation->ReplaceInstruction(fusion, copy);
  if (!status.ok()) return status;
  computation->parent()->SetAndUniquifyComputationName(copy->fused_instructions_computation(),
                                                       name);
  return copy;
}

absl::Status RemoveIfUnused(HloInstruction* instruction) {
  xla::HloComputation* const computation = instruction->parent();
  if (!instruction->IsDead() || !computation->IsSafelyRemovable(instruction)) {
    return absl::OkStatus();
  }
  return computation->RemoveInstruction(instruction);
}

}  // namespace

bool HasSteps(const xla::HloComputation& computation) {
  absl::flat_hash_set<const xla::HloComputation*> seen = {&computation};
  std::vector<const xla::HloComputation*> open = {&computation};
  while (!open.empty()) {
    const xla::HloComputation* const one = open.back();
    open.pop_back();
    if (one->IsEntryComputation()) continue;
    for (const HloInstruction* caller : one->caller_instructions()) {
      if (xla::GetInstructionCallContext(caller->opcode()) != xla::CallContext::kControlFlow) {
        return false;
      }
      if (seen.insert(caller->parent()).second) open.push_back(caller->parent());
    }
  }
  return true;
}

bool CanFuse(HloInstruction* producer, HloInstruction* consumer) {
  return consumer->IsUserOf(producer) && MayBeFused(producer) && MayBeFused(consumer) &&
         PairFusion().IsLegal(producer, consumer);
}

bool CanBeOutput(HloInstruction* instruction) {
  return !instruction->IsDead() && MayBeOutput(instruction) && AreResultsTakenApart(instruction);
}

bool HaveSameShape(HloInstruction* first, HloInstruction* second) {
  static auto* const pass = new xla::cpu::CpuMultiOutputFusion(&Aliases());
  return OutputChecks::AskShapes(*pass, first, second);
}

bool AreApart(const HloInstruction* first, const HloInstruction* second) {
  return !first->IsUserOf(second) && !IsBehind(first, second) && !IsBehind(second, first);
}

absl::Status Fuse(HloInstruction* producer, HloInstruction* consumer) {
  const std::string name(consumer->name());
  if (consumer->opcode() == HloOpcode::kFusion) {
    absl::StatusOr<HloInstruction*> copy = Renew(consumer);
    if (!copy.ok()) return copy.status();
    consumer = *copy;
  }
  PairFusion().Apply(producer, consumer)->SetAndSanitizeName(name);
  return RemoveIfUnused(producer);
}

absl::Status FuseOutputs(HloInstruction* first, HloInstruction* second) {
  const std::string name(second->name());
  // A fusion with several results takes others in, and is not taken in.
  if (first->IsMultiOutputFusion()) std::swap(first, second);
  HloInstruction* fusion = nullptr;
  if (second->opcode() == HloOpcode::kFusion) {
    absl::StatusOr<HloInstruction*> copy = Renew(second);
    if (!copy.ok()) return copy.status();
    fusion = *copy;
  } else {
    fusion = second->parent()->CreateFusionInstruction({second}, HloInstruction::FusionKind::kLoop);
  }
  absl::Status status;
  if (first->opcode() == HloOpcode::kFusion) {
    fusion->MergeFusionInstructionIntoMultiOutput(first);  // and removes it
  } else {
    fusion->FuseInstructionIntoMultiOutput(first);
    status = RemoveIfUnused(first);
  }
  fusion->SetAndSanitizeName(name);
  return status;
}

}  // namespace hlograph
