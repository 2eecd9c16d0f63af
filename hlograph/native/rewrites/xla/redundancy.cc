// Merging of two instructions that compute the same, and removal of one without users.
#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo_cse.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

// Whether HloCSE takes one operand for the other: it merges users of equal iotas, not these.
bool AreOneValue(const xla::HloInstruction* one, const xla::HloInstruction* two) {
  if (one == two) return true;
  return one->opcode() == xla::HloOpcode::kIota && two->opcode() == xla::HloOpcode::kIota &&
         one->dimensions() == two->dimensions() &&
         xla::ShapeUtil::Compatible(one->shape(), two->shape());
}

// Whether it puts one of two equal iotas in the place of the other in an instruction.
bool TakesEqualIotas(const xla::HloInstruction* instruction) {
  const auto& operands = instruction->operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (operands[i] != operands[j] && AreOneValue(operands[i], operands[j])) return true;
    }
  }
  return false;
}

// Equal for instructions that HloCSE may merge; operands in any order, for some commute.
size_t KeyOf(const xla::HloInstruction* instruction) {
  std::vector<size_t> operands;
  for (const xla::HloInstruction* operand : instruction->operands()) {
    operands.push_back(operand->opcode() == xla::HloOpcode::kIota
                           ? absl::HashOf(operand->shape().dimensions())
                           : absl::HashOf(operand));
  }
  std::sort(operands.begin(), operands.end());
  return absl::HashOf(instruction->opcode(), instruction->shape().element_type(),
                      instruction->shape().IsArray() ? instruction->shape().dimensions().size() : 0,
                      operands);
}

// Of what is no constant.
bool MayMerge(const xla::HloInstruction* instruction) {
  if (IsShared(instruction)) return false;
  return xla::HloCSE::ShouldEliminateInstruction(instruction);
}

bool Alike(const xla::HloInstruction* one, const xla::HloInstruction* two) {
  return one->IdenticalIgnoringCommutativeOperandOrder(
      *two, AreOneValue,
      [](const xla::HloComputation* a, const xla::HloComputation* b) { return *a == *b; },
      /*layout_sensitive=*/false, /*sharding_sensitive=*/true);
}

class MergeApplier : public Applier {
 public:
  explicit MergeApplier(xla::HloComputation* computation) : computation_(computation) {}

  absl::StatusOr<bool> At(Place place) override {
    const auto chosen = [place](const xla::HloInstruction* instruction) {
      return instruction == place.instruction || instruction == place.other;
    };
    xla::HloCSE cse(/*is_layout_sensitive=*/false, /*ignore_control_dependencies=*/false,
                    /*should_eliminate_computation=*/nullptr, chosen, chosen);
    return cse.RunOnComputation(computation_);
  }

 private:
  xla::HloComputation* computation_;
};

class MergeRule : public Rule {
 public:
  MergeRule()
      : Rule("merge", "HloCSE",
             "Takes the result of an equal instruction with the same operands instead.") {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    std::unordered_map<size_t, std::vector<xla::HloInstruction*>> firsts;
    for (xla::HloInstruction* instruction : OrderOf(computation)) {
      std::vector<xla::HloInstruction*>& same_key = firsts[KeyOf(instruction)];
      const auto first =
          std::find_if(same_key.begin(), same_key.end(),
                       [&](const xla::HloInstruction* other) { return Alike(other, instruction); });
      if (first == same_key.end()) {
        same_key.push_back(instruction);
        if (TakesEqualIotas(instruction)) places.push_back({instruction});
      } else {
        places.push_back({instruction, *first});
      }
    }
  }

  std::unique_ptr<Applier> For(xla::HloComputation* computation) const override {
    return std::make_unique<MergeApplier>(computation);
  }

  Reach reach() const override { return {.operands = 1, .users = 0}; }

 private:
  // What may be merged, in HloCSE's order, by which it keeps the first of two: constants as the
  // computation lists them, then the others.
  static std::vector<xla::HloInstruction*> OrderOf(xla::HloComputation* computation) {
    std::vector<xla::HloInstruction*> order;
    for (xla::HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() == xla::HloOpcode::kConstant) order.push_back(instruction);
    }
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (MayMerge(instruction)) order.push_back(instruction);
    }
    return order;
  }
};

class RemoveApplier : public Applier {
 public:
  absl::StatusOr<bool> At(Place place) override {
    xla::HloComputation* const computation = place.instruction->parent();
    if (!place.instruction->IsDead() || !computation->IsSafelyRemovable(place.instruction) ||
        place.instruction->HasSideEffect()) {
      return false;
    }
    absl::Status status = computation->RemoveInstructionAndUnusedOperands(place.instruction);
    if (!status.ok()) return status;
    return true;
  }
};

class RemoveRule : public Rule {
 public:
  RemoveRule()
      : Rule("remove", "HloComputation::RemoveInstructionAndUnusedOperands",
             "Removes an instruction without users, and what only it used.") {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    const auto may_apply = [](const xla::HloInstruction* instruction) {
      return instruction->IsDead() && instruction->opcode() != xla::HloOpcode::kParameter;
    };
    ProposeWhere(computation, may_apply, places);
  }

  std::unique_ptr<Applier> For(xla::HloComputation* /*computation*/) const override {
    return std::make_unique<RemoveApplier>();
  }
};

}  // namespace

const RuleTopic kRedundancyRules(1, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<MergeRule>());
  rules.push_back(std::make_unique<RemoveRule>());
});

}  // namespace hlograph
