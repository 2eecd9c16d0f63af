#include "hlograph/native/execution/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/execution/execute.h"
#include "xla/service/shaped_buffer.h"

namespace hlograph {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUps = 3;
constexpr int64_t kMostRuns = 10000;  // in a sample

double SecondsSince(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

// Wall seconds of one run.
absl::StatusOr<double> Time(const Program& program,
                            absl::Span<const xla::ScopedShapedBuffer> arguments) {
  const Clock::time_point begun = Clock::now();
  absl::StatusOr<xla::ScopedShapedBuffer> result = program.Launch(arguments);
  const double seconds = SecondsSince(begun);
  if (!result.ok()) return result.status();
  return seconds;
}

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

absl::StatusOr<std::vector<std::pair<double, double>>> TimeInTurn(
    const Program& first, const Program& second, absl::Span<const absl::string_view> inputs,
    const TimingSettings& settings) {
  absl::StatusOr<std::vector<xla::ScopedShapedBuffer>> arguments = first.Upload(inputs);
  if (!arguments.ok()) return arguments.status();
  const Clock::time_point begun = Clock::now();
  double fastest = INFINITY;
  for (int warm_up = 0; warm_up < kWarmUps; ++warm_up) {
    for (const Program* program : {&first, &second}) {
      const absl::StatusOr<double> seconds = Time(*program, *arguments);
      if (!seconds.ok()) return seconds.status();
      fastest = std::min(fastest, *seconds);
    }
  }
  const double wanted = std::ceil(settings.sample_seconds / std::max(fastest, 1e-9));
  const int64_t runs = static_cast<int64_t>(std::clamp<double>(wanted, 1.0, kMostRuns));
  std::vector<std::pair<double, double>> pairs;
  bool second_begins = false;
  do {
    std::vector<double> of_first, of_second;
    for (int64_t run = 0; run < runs; ++run) {
      for (const bool is_second : {second_begins, !second_begins}) {
        const absl::StatusOr<double> seconds = Time(is_second ? second : first, *arguments);
        if (!seconds.ok()) return seconds.status();
        (is_second ? of_second : of_first).push_back(*seconds);
      }
      second_begins = !second_begins;
    }
    pairs.emplace_back(Median(of_first), Median(of_second));
  } while (static_cast<int64_t>(pairs.size()) < settings.pairs &&
           SecondsSince(begun) < settings.max_seconds);
  return pairs;
}

}  // namespace hlograph
