// Times runs of a compiled module.
#ifndef HLOGRAPH_NATIVE_EXECUTION_TIMING_H_
#define HLOGRAPH_NATIVE_EXECUTION_TIMING_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/execution/execute.h"
#include "xla/service/shaped_buffer.h"

namespace hlograph {

// A program with inputs that stay in the memory of XLA's device. The program
// must outlive it.
class TimedProgram {
 public:
  TimedProgram(const TimedProgram&) = delete;
  TimedProgram& operator=(const TimedProgram&) = delete;

  static absl::StatusOr<std::unique_ptr<TimedProgram>> Create(
      const Program& program, absl::Span<const absl::string_view> inputs);

  // Returns the wall seconds of one run, the median over at least one, so that a
  // run that the system interrupts does not count. A run includes allocating the
  // result, but not freeing it.
  absl::StatusOr<double> Seconds(int64_t runs) const;

 private:
  TimedProgram(const Program& program, std::vector<xla::ScopedShapedBuffer> arguments)
      : program_(program), arguments_(std::move(arguments)) {}

  const Program& program_;
  std::vector<xla::ScopedShapedBuffer> arguments_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_TIMING_H_
