// Found by tests/hlograph/transforms/test_degenerate_modules.py, and by reports upstream
// (docs/pass-claims.md); each has a test of its own in test_pass_regressions.py.
#include "hlograph/native/passes/precautions.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hlograph/native/module/work.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {

using Opcode = xla::HloOpcode;

namespace {

std::optional<int64_t> IntegerOf(const xla::HloInstruction* constant) {
  if (constant->opcode() != Opcode::kConstant || !xla::ShapeUtil::IsScalar(constant->shape()) ||
      !constant->shape().AreAllLeavesIntegers()) {
    return std::nullopt;
  }
  return constant->literal().GetFirstInteger();
}

// True if no index of a dynamic slice or update is out of range, so that none is clamped.
bool AllInRange(const xla::HloInstruction& instruction) {
  const bool updates = instruction.opcode() == Opcode::kDynamicUpdateSlice;
  const xla::Shape& whole = instruction.operand(0)->shape();
  const xla::Shape& part = updates ? instruction.operand(1)->shape() : instruction.shape();
  const int64_t first = updates ? 2 : 1;
  const int64_t rank = static_cast<int64_t>(whole.dimensions().size());
  if (instruction.operand_count() != first + rank) return false;  // the older form
  for (int64_t at = 0; at < rank; ++at) {
    if (!IsInRange(instruction.operand(first + at), whole.dimensions(at) - part.dimensions(at))) {
      return false;
    }
  }
  return true;
}

// True if a window pads a side that a pad crops.
bool Cancels(const xla::PaddingConfig::PaddingConfigDimension& pad,
             const xla::WindowDimension& window) {
  return (pad.edge_padding_low() < 0 && window.padding_low() > 0) ||
         (pad.edge_padding_high() < 0 && window.padding_high() > 0);
}

}  // namespace

bool IsInRange(const xla::HloInstruction* index, int64_t largest) {
  if (index->opcode() == Opcode::kClamp) {
    const std::optional<int64_t> low = IntegerOf(index->operand(0));
    const std::optional<int64_t> high = IntegerOf(index->operand(2));
    return low.has_value() && high.has_value() && *low >= 0 && *high <= largest;
  }
  // Programs that were partitioned over devices look indices up in constant tables.
  while (index->opcode() == Opcode::kReshape || index->opcode() == Opcode::kDynamicSlice) {
    index = index->operand(0);
  }
  if (index->opcode() != Opcode::kConstant) return false;
  const absl::StatusOr<xla::Literal> values = index->literal().Convert(xla::S64);
  return values.ok() && absl::c_all_of(values->data<int64_t>(), [largest](int64_t value) {
           return value >= 0 && value <= largest;
         });
}

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

bool IsCroppingWindow(const xla::HloInstruction& instruction) {
  if (instruction.opcode() != Opcode::kReduceWindow) return false;
  bool crops = false;
  for (const xla::WindowDimension& dimension : instruction.window().dimensions()) {
    const int64_t low = dimension.padding_low();
    const int64_t high = dimension.padding_high();
    if (dimension.size() != 1 || low > 0 || high > 0) return false;
    crops = crops || low < 0 || high < 0;
  }
  return crops;
}

bool PadsWhatIsCropped(const xla::HloInstruction& instruction) {
  const bool convolves = instruction.opcode() == Opcode::kConvolution;
  if (!convolves && instruction.opcode() != Opcode::kReduceWindow) return false;
  const xla::HloInstruction* pad = instruction.operand(0);
  while (pad->opcode() == Opcode::kConvert) pad = pad->operand(0);
  if (pad->opcode() != Opcode::kPad) return false;
  const xla::Window& window = instruction.window();
  for (int at = 0; at < window.dimensions_size(); ++at) {
    const int64_t dimension =
        convolves ? instruction.convolution_dimension_numbers().input_spatial_dimensions(at) : at;
    const auto& padding = pad->padding_config().dimensions(static_cast<int>(dimension));
    if (Cancels(padding, window.dimensions(at))) return true;
  }
  return false;
}

bool SlicesSliceUnclamped(const xla::HloInstruction& instruction) {
  if (instruction.opcode() != Opcode::kDynamicSlice &&
      instruction.opcode() != Opcode::kDynamicUpdateSlice) {
    return false;
  }
  const xla::HloInstruction* slice = instruction.operand(0);
  return slice->opcode() == Opcode::kDynamicSlice &&
         !(AllInRange(instruction) && AllInRange(*slice));
}

bool IsMiscountedLoop(const xla::HloInstruction& instruction) {
  if (instruction.opcode() != Opcode::kWhile) return false;
  const std::optional<double> iterations = ConstantTripCount(&instruction);
  if (!iterations.has_value() || *iterations > 2) return false;
  const std::optional<int64_t> counted = xla::ComputeWhileLoopTripCount(&instruction, 1);
  return counted.has_value() && *counted != static_cast<int64_t>(*iterations);
}

double InstructionsWithCopies(const xla::HloModule& module,
                              bool (*copies_callees)(const xla::HloInstruction& instruction)) {
  absl::flat_hash_map<const xla::HloComputation*, double> sizes;
  double largest = 0;
  for (const xla::HloComputation* computation : module.MakeComputationPostOrder()) {
    double size = 0;
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      ++size;
      if (!copies_callees(*instruction)) continue;
      for (const xla::HloComputation* callee : instruction->called_computations()) {
        size += sizes.at(callee);
      }
    }
    sizes[computation] = size;
    largest = std::max(largest, size);
  }
  return largest;
}

}  // namespace hlograph
