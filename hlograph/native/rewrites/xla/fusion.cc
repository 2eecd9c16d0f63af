// Fusion of two instructions into one kernel. For modules that LowerForFusion made: fusions chosen
// before XLA:CPU's own passes do not reach code generation as they are.
#include "hlograph/native/rewrites/fusion.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

using Positions = absl::flat_hash_map<const xla::HloInstruction*, int64_t>;

Positions PositionsOf(const std::vector<xla::HloInstruction*>& order) {
  Positions positions;
  for (size_t i = 0; i < order.size(); ++i) positions.emplace(order[i], i);
  return positions;
}

// Operands, each once, in the order of the computation.
std::vector<xla::HloInstruction*> ProducersOf(const xla::HloInstruction* instruction,
                                              const Positions& positions) {
  const auto operands = instruction->unique_operands();
  std::vector<xla::HloInstruction*> producers(operands.begin(), operands.end());
  std::sort(producers.begin(), producers.end(), [&](const auto* one, const auto* two) {
    return positions.at(one) < positions.at(two);
  });
  return producers;
}

// Fuses a pair by one of the functions of fusion.h.
class FusionApplier : public Applier {
 public:
  using Function = absl::Status (*)(xla::HloInstruction*, xla::HloInstruction*);

  explicit FusionApplier(Function fuse) : fuse_(fuse) {}

  absl::StatusOr<bool> At(Place place) override {
    absl::Status status = fuse_(place.other, place.instruction);
    if (!status.ok()) return status;
    return true;
  }

 private:
  Function fuse_;
};

class FusionRule : public Rule {
 public:
  FusionRule()
      : Rule("fusion", "cpu::CpuInstructionFusion",
             "Computes an operand inside the kernel that uses it.", /*equation=*/"",
             Purpose::kTarget) {}

  // From the last pair to the first, XLA's pass would come to them in this order.
  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    if (!HasSteps(*computation)) return;
    const std::vector<xla::HloInstruction*> order = computation->MakeInstructionPostOrder();
    const Positions positions = PositionsOf(order);
    for (xla::HloInstruction* consumer : order) {
      for (xla::HloInstruction* producer : ProducersOf(consumer, positions)) {
        if (CanFuse(producer, consumer)) places.push_back({consumer, producer});
      }
    }
  }

  std::unique_ptr<Applier> For(xla::HloComputation* /*computation*/) const override {
    return std::make_unique<FusionApplier>(&Fuse);
  }

  // A product that is an operand of the producer is asked for its users.
  Reach reach() const override { return {.operands = 2, .users = 1}; }

  // Whether the producer goes with the pair hangs on how many use it, and of constants, which many
  // share, that may have changed.
  bool IsClear(Place original, Place copy) const override {
    return original.other->user_count() == copy.other->user_count();
  }
};

class OutputFusionRule : public Rule {
 public:
  OutputFusionRule()
      : Rule("multi-output-fusion", "cpu::CpuMultiOutputFusion",
             "Computes two of one shape in one kernel: an operand and its user, or two that share "
             "an operand.",
             /*equation=*/"", Purpose::kTarget) {}

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    if (!HasSteps(*computation)) return;
    const std::vector<xla::HloInstruction*> order = computation->MakeInstructionPostOrder();
    const Positions positions = PositionsOf(order);
    absl::flat_hash_set<const xla::HloInstruction*> outputs;
    for (xla::HloInstruction* instruction : order) {
      if (CanBeOutput(instruction)) outputs.insert(instruction);
    }
    const std::unique_ptr<xla::HloReachabilityMap> paths =
        xla::HloReachabilityMap::Build(computation);
    for (xla::HloInstruction* second : order) {
      if (!outputs.contains(second)) continue;
      for (xla::HloInstruction* first : PartnersOf(second, positions)) {
        if (outputs.contains(first) && HaveSameShape(first, second) &&
            !AreOrdered(first, second, *paths)) {
          places.push_back({second, first});
        }
      }
    }
  }

  std::unique_ptr<Applier> For(xla::HloComputation* /*computation*/) const override {
    return std::make_unique<FusionApplier>(&FuseOutputs);
  }

  Reach reach() const override { return {.operands = 1, .users = 1}; }

  // What is fused elsewhere in a copy may lead from one of the two to the other.
  bool IsClear(Place /*original*/, Place copy) const override {
    return AreApart(copy.other, copy.instruction);
  }

 private:
  // How many of an operand's users before an instruction are its partners, at most, the nearest
  // first: as many as XLA's pass looks at, for all pairs are too many where hundreds use one.
  static constexpr size_t kMaxSiblings = 128;

  // What comes before an instruction and is an operand that others use, too, or shares one with
  // it, in the order of the computation.
  static std::vector<xla::HloInstruction*> PartnersOf(const xla::HloInstruction* instruction,
                                                      const Positions& positions) {
    const int64_t end = positions.at(instruction);
    std::vector<xla::HloInstruction*> partners;
    for (xla::HloInstruction* operand : instruction->unique_operands()) {
      if (operand->user_count() < 2 || xla::ShapeUtil::IsEffectiveScalar(operand->shape())) {
        continue;
      }
      partners.push_back(operand);
      std::vector<xla::HloInstruction*> siblings;
      for (xla::HloInstruction* user : operand->users()) {
        if (positions.at(user) < end) siblings.push_back(user);
      }
      const auto later = [&](const auto* one, const auto* two) {
        return positions.at(one) > positions.at(two);
      };
      std::sort(siblings.begin(), siblings.end(), later);
      siblings.resize(std::min(siblings.size(), kMaxSiblings));
      partners.insert(partners.end(), siblings.begin(), siblings.end());
    }
    std::sort(partners.begin(), partners.end(), [&](const auto* one, const auto* two) {
      return positions.at(one) < positions.at(two);
    });
    partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
    return partners;
  }

  // Whether anything has to run after the first and before the second.
  static bool AreOrdered(const xla::HloInstruction* first, const xla::HloInstruction* second,
                         const xla::HloReachabilityMap& paths) {
    return std::any_of(
        second->operands().begin(), second->operands().end(),
        [&](const auto* operand) { return operand != first && paths.IsReachable(first, operand); });
  }
};

}  // namespace

const RuleTopic kFusionRules(200, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<FusionRule>());
  rules.push_back(std::make_unique<OutputFusionRule>());
});

}  // namespace hlograph
