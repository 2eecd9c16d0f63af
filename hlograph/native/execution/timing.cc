#include "hlograph/native/execution/timing.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/execution/execute.h"
#include "xla/service/shaped_buffer.h"

namespace hlograph {

absl::StatusOr<std::unique_ptr<TimedProgram>> TimedProgram::Create(
    const Program& program, absl::Span<const absl::string_view> inputs) {
  absl::StatusOr<std::vector<xla::ScopedShapedBuffer>> arguments = program.Upload(inputs);
  if (!arguments.ok()) return arguments.status();
  return absl::WrapUnique(new TimedProgram(program, *std::move(arguments)));
}

absl::StatusOr<double> TimedProgram::Seconds(int64_t runs) const {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds(std::max<int64_t>(runs, 1));
  for (double& run : seconds) {
    const Clock::time_point begun = Clock::now();
    const absl::StatusOr<xla::ScopedShapedBuffer> result = program_.Launch(arguments_);
    run = std::chrono::duration<double>(Clock::now() - begun).count();
    if (!result.ok()) return result.status();
  }
  const auto middle = seconds.begin() + seconds.size() / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace hlograph
