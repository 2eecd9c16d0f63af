// Times two compiled modules in turn.
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

// Number and duration of samples.
struct TimingSettings {
  // Pairs of samples.
  int64_t pairs = 30;
  // A sample has as many runs of each as take about this long, at least one.
  double sample_seconds = 0.0;
  // After this long no further sample begins; there is always one.
  double max_seconds = 1e9;
};

// Runs two programs in turn on the same inputs, which stay in memory, and
// returns the wall seconds of one run of each, pair by pair. Each is the median
// over the runs of a sample, so that a run that the system interrupts does not
// count. The program that runs first changes from pair to pair, because the
// second is faster by some thousandths. Both are warmed up before. A run includes
// allocating the result, but not freeing it.
absl::StatusOr<std::vector<std::pair<double, double>>> TimeInTurn(
    const Program& first, const Program& second, absl::Span<const absl::string_view> inputs,
    const TimingSettings& settings);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_TIMING_H_
