// How long two compiled modules run, in turn.
#ifndef HLOGRAPH_NATIVE_EXECUTION_TIMING_H_
#define HLOGRAPH_NATIVE_EXECUTION_TIMING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/execution/execute.h"

namespace hlograph {

// What timing may cost.
struct TimingSettings {
  // Pairs of samples.
  int64_t pairs = 30;
  // A sample has as many runs of each as take about so long, at least one.
  double sample_seconds = 0.0;
  // After so long no further sample is begun; one there always is.
  double max_seconds = 1e9;
};

// Runs two programs in turn on the same inputs, which stay in memory, and
// returns the wall seconds of one run of each, pair by pair. Each is the median
// over the runs of a sample, so that a run that the system interrupts does not
// count. Which one begins changes from turn to turn: what runs second is faster
// by some thousandths. Both run before, until the first times are over. Making
// room for the result is a part of a run, freeing it is not.
absl::StatusOr<std::vector<std::pair<double, double>>> TimeInTurn(
    const Program& first, const Program& second, absl::Span<const absl::string_view> inputs,
    const TimingSettings& settings);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_TIMING_H_
