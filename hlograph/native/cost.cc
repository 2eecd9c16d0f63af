#include "hlograph/native/cost.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

constexpr int kPointerBytes = 8;

}  // namespace

absl::StatusOr<Cost> AnalyzeCost(const xla::HloModule& module) {
  xla::HloCostAnalysis analysis([](const xla::Shape& shape) {
    return shape.IsOpaque() ? kPointerBytes : xla::ShapeUtil::ByteSizeOf(shape, kPointerBytes);
  });
  absl::Status status = module.entry_computation()->Accept(&analysis);
  if (!status.ok()) return status;
  Cost cost;
  cost.flops = analysis.flop_count();
  cost.transcendentals = analysis.transcendental_count();
  cost.bytes_accessed = analysis.bytes_accessed();
  return cost;
}

}  // namespace hlograph
