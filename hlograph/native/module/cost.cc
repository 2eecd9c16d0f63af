#include "hlograph/native/module/cost.h"

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

constexpr int kPointerBytes = 8;

int64_t ShapeSize(const xla::Shape& shape) {
  return shape.IsOpaque() ? kPointerBytes : xla::ShapeUtil::ByteSizeOf(shape, kPointerBytes);
}

// XLA's analysis, which expects dynamic slices to have indices; those of scalars have none. For
// these it counts the bytes of each operand and the result once, as it does by default.
class CostAnalysis : public xla::HloCostAnalysis {
 public:
  CostAnalysis() : HloCostAnalysis(ShapeSize) {}

  absl::Status HandleDynamicSlice(const xla::HloInstruction* slice) override {
    if (slice->operand_count() < 2) return absl::OkStatus();
    return HloCostAnalysis::HandleDynamicSlice(slice);
  }

  absl::Status HandleDynamicUpdateSlice(const xla::HloInstruction* update) override {
    if (update->operand_count() < 3) return absl::OkStatus();
    return HloCostAnalysis::HandleDynamicUpdateSlice(update);
  }

 protected:
  std::unique_ptr<HloCostAnalysis> CreateNestedCostAnalysis() override {
    return std::make_unique<CostAnalysis>();
  }
};

}  // namespace

absl::StatusOr<Cost> AnalyzeCost(const xla::HloModule& module) {
  CostAnalysis analysis;
  absl::Status status = module.entry_computation()->Accept(&analysis);
  if (!status.ok()) return status;
  Cost cost;
  cost.flops = analysis.flop_count();
  cost.transcendentals = analysis.transcendental_count();
  cost.bytes_accessed = analysis.bytes_accessed();
  return cost;
}

InstructionCosts::InstructionCosts() : analysis_(std::make_unique<CostAnalysis>()) {}

InstructionCosts::~InstructionCosts() = default;

Cost InstructionCosts::Of(const xla::HloInstruction* instruction) {
  Cost cost;
  if (instruction->parent()->IsFusionComputation()) return cost;
  if (!analysis_->RevisitInstruction(instruction).ok()) return cost;
  cost.flops = analysis_->flop_count(*instruction);
  cost.transcendentals = analysis_->transcendental_count(*instruction);
  cost.bytes_accessed = analysis_->bytes_accessed(*instruction);
  return cost;
}

const Cost& InstructionCosts::OfLasting(const xla::HloInstruction* instruction) {
  auto [it, is_new] = known_.try_emplace(instruction);
  if (is_new) it->second = Of(instruction);
  return it->second;
}

}  // namespace hlograph
