// Transposed convolutions as plain ones: elements of the result that are the same distance from
// the grid of the input meet the same taps, and none of the zeros in between.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/convolution_parts.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

// Plain convolutions at most.
constexpr int64_t kMaxPhases = 16;

int64_t FloorDivide(int64_t value, int64_t by) {
  return value / by - (value % by != 0 && (value < 0) != (by < 0) ? 1 : 0);
}

// The taps of one phase along an axis: every `step`-th from `first`.
struct Phase {
  int64_t first = 0, count = 0, step = 1;
  int64_t start = 0;     // element of the input that the first tap meets at the first position
  int64_t dilation = 1;  // distance of taps, in elements of the input
};

// Tap t is at place position + t × dilation - low of the spread input, where every gaps-th place
// is an element. None if the phase meets zeros only.
std::optional<Phase> FindPhase(const Axis& axis, int64_t phase) {
  const int64_t common = std::gcd(axis.dilation, axis.gaps);
  Phase found;
  found.step = axis.gaps / common;
  found.dilation = axis.dilation / common;
  for (int64_t tap = 0; tap < std::min(found.step, axis.taps); ++tap) {
    const int64_t place = phase + tap * axis.dilation - axis.low;
    if (place - FloorDivide(place, axis.gaps) * axis.gaps != 0) continue;
    found.first = tap;
    found.count = (axis.taps - tap + found.step - 1) / found.step;
    found.start = FloorDivide(place, axis.gaps);
    return found;
  }
  return std::nullopt;
}

// Elements of the result in each phase: as many in all, with some to cut off at the end.
int64_t PositionsOf(const Axis& axis) { return (axis.positions + axis.gaps - 1) / axis.gaps; }

// Padding of the input for one phase; a negative edge is cut off.
struct Edges {
  int64_t low = 0, high = 0;
};

Edges EdgesOf(const Axis& axis, const Phase& phase) {
  const int64_t span = PositionsOf(axis) + (phase.count - 1) * phase.dilation;
  return {-phase.start, span - axis.size + phase.start};
}

// Returns true if each phase leaves some of the input.
bool HasPhases(const Axis& axis) {
  for (int64_t i = 0; axis.gaps > 1 && i < axis.gaps; ++i) {
    const std::optional<Phase> phase = FindPhase(axis, i);
    if (!phase.has_value()) continue;
    const Edges edges = EdgesOf(axis, *phase);
    if (axis.size + std::min<int64_t>(edges.low, 0) + std::min<int64_t>(edges.high, 0) < 1) {
      return false;
    }
  }
  return true;
}

class Phases : public FormRule {
 public:
  using FormRule::FormRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (!IsConvolution(instruction)) return false;
    const Convolution parts(instruction);
    double phases = 1;
    for (const Axis& axis : parts.axes()) {
      phases *= axis.gaps;
      if (phases > kMaxPhases || (axis.gaps > 1 && axis.stride > 1) || !HasPhases(axis)) {
        return false;
      }
    }
    return phases > 1 && parts.batch_groups == 1;
  }

  Instruction* Build(Instruction* convolution) const override;
};

class PhaseBuilder {
 public:
  explicit PhaseBuilder(Instruction* convolution)
      : convolution_(convolution), builder_(convolution), parts_(convolution) {}

  // The phases from this axis on, interleaved.
  Instruction* Interleaved(std::vector<int64_t> phases) const {
    const size_t at = phases.size();
    if (at == parts_.axes().size()) return Plain(phases);
    const Axis& axis = parts_.axes()[at];
    std::vector<Instruction*> columns;
    phases.push_back(0);
    for (int64_t phase = 0; phase < axis.gaps; ++phase) {
      phases[at] = phase;
      columns.push_back(Interleaved(phases));
    }
    return Woven(columns, axis);
  }

 private:
  Instruction* Woven(absl::Span<Instruction* const> columns, const Axis& axis) const {
    if (columns.size() == 1) return columns.front();
    const absl::Span<const int64_t> sizes = columns.front()->shape().dimensions();
    std::vector<int64_t> apart(sizes.begin(), sizes.end());
    apart.insert(apart.begin() + axis.output + 1, 1);
    std::vector<Instruction*> reshaped;
    for (Instruction* column : columns) reshaped.push_back(builder_.Reshape(column, apart));
    std::vector<int64_t> joined(sizes.begin(), sizes.end());
    joined[axis.output] *= columns.size();
    Instruction* const woven =
        builder_.Reshape(builder_.Concatenate(reshaped, axis.output + 1), joined);
    return builder_.SliceOf(woven, axis.output, 0, axis.positions);
  }

  // The plain convolution of one phase.
  Instruction* Plain(absl::Span<const int64_t> phases) const {
    Instruction* input = convolution_->mutable_operand(0);
    Instruction* kernel = convolution_->mutable_operand(1);
    xla::Window window = convolution_->window();
    xla::Shape shape = convolution_->shape();
    std::vector<Axis> edges;
    for (size_t i = 0; i < phases.size(); ++i) {
      const Axis& axis = parts_.axes()[i];
      if (axis.gaps > 1) shape.set_dimensions(axis.output, PositionsOf(axis));
      edges.push_back({});
    }
    for (size_t i = 0; i < phases.size(); ++i) {
      const Axis& axis = parts_.axes()[i];
      if (axis.gaps == 1) continue;
      const std::optional<Phase> phase = FindPhase(axis, phases[i]);
      if (!phase.has_value()) return builder_.Uniform(shape, 0);
      const int64_t last = phase->first + (phase->count - 1) * phase->step;
      const int64_t start = axis.reversed ? axis.taps - 1 - last : phase->first;
      kernel = builder_.SliceOf(kernel, axis.kernel, start,
                                start + (phase->count - 1) * phase->step + 1, phase->step);
      const Edges padding = EdgesOf(axis, *phase);
      // XLA:CPU computes convolutions with negative padding element by element.
      edges[i].low = std::min<int64_t>(padding.low, 0);
      edges[i].high = std::min<int64_t>(padding.high, 0);
      xla::WindowDimension* const dimension = window.mutable_dimensions(i);
      dimension->set_size(phase->count);
      dimension->set_padding_low(std::max<int64_t>(padding.low, 0));
      dimension->set_padding_high(std::max<int64_t>(padding.high, 0));
      dimension->set_base_dilation(1);
      dimension->set_window_dilation(phase->count == 1 ? 1 : phase->dilation);
    }
    input = Padded(builder_, input, parts_.input(), edges);
    Instruction* const plain = AddLike(convolution_, shape, {input, kernel});
    plain->set_window(window);
    return plain;
  }

  Instruction* convolution_;
  Builder builder_;
  Convolution parts_;
};

Instruction* Phases::Build(Instruction* convolution) const {
  return PhaseBuilder(convolution).Interleaved({});
}

}  // namespace

const RuleTopic kPolyphaseForms(302, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<Phases>(
      Identity{"transposed-convolution-as-phases", "spread(x)*k = interleaved x*k(phase)",
               "Computes a convolution of an input with gaps by one without for each phase.",
               Numerics::kClose}));
});

}  // namespace hlograph
