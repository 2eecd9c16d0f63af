// Compiles modules with XLA:CPU, and runs them.
#ifndef HLOGRAPH_NATIVE_EXECUTION_EXECUTE_H_
#define HLOGRAPH_NATIVE_EXECUTION_EXECUTE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/execution/signature.h"
#include "xla/shape.h"

namespace xla {
class HloModule;
class LocalClient;
class LocalExecutable;
class ScopedShapedBuffer;
}  // namespace xla

namespace hlograph {

// Settings for compiling a module to compare its results, not for speed.
struct CompileSettings {
  // XLA's passes to skip, by name.
  std::vector<std::string> disabled_passes;
  // If true, rounding does not depend on fusion and scheduling: no fused
  // multiply-add, no libraries that choose their own order of summation, no
  // threads.
  bool strict = true;
  // LLVM's optimization level, 0 to 3.
  int optimization_level = 1;
};

// Returns the number of steps of a module's code: generated loops, copies and
// library calls. These are the instructions outside of fusions that take time.
// Instructions that only name data (parameters, constants, tuples and their
// elements, bitcasts) and control flow do not count. The computations that
// control flow runs count once for each place that runs them.
int64_t CountKernels(const xla::HloModule& module);

// One step of the code.
struct CodeStep {
  std::string kind;         // in XLA's words: "kernel", "dot", "copy" ...
  std::string instruction;  // of the optimized module
};

// A compiled module. Frees its code with itself. Run may be called from any
// thread, and any number of times.
class Program {
 public:
  ~Program();

  // Compiles a copy of the module for this machine, as the program of one
  // device: partition and replica counts are dropped, so that collectives over
  // several devices are an error. Without settings it compiles with XLA:CPU's
  // defaults, for speed. `lowered` says that the module comes from
  // LowerForFusion, and the code then has its fusions; for other modules XLA:CPU
  // chooses the fusions.
  static absl::StatusOr<std::unique_ptr<Program>> Compile(
      const xla::HloModule& module, const std::optional<CompileSettings>& settings, bool lowered);

  const Signature& signature() const { return signature_; }

  // CountKernels of the module that the code was generated from.
  int64_t CountKernels() const;

  // Returns the steps of the code, in the order of XLA:CPU's runtime; those of
  // loops and branches follow the loop and the branch.
  absl::StatusOr<std::vector<CodeStep>> Steps() const;

  // The module that the code was generated from.
  std::unique_ptr<xla::HloModule> Optimized() const;

  // Runs on one byte string for each leaf of the parameters and returns one for
  // each leaf of the result.
  absl::StatusOr<std::vector<std::string>> Run(absl::Span<const absl::string_view> inputs) const;

  // The parts of Run, so that the second can be timed: Upload copies the inputs
  // into the memory of XLA's device, and Launch runs on them and waits for the
  // result.
  absl::StatusOr<std::vector<xla::ScopedShapedBuffer>> Upload(
      absl::Span<const absl::string_view> inputs) const;
  absl::StatusOr<xla::ScopedShapedBuffer> Launch(
      absl::Span<const xla::ScopedShapedBuffer> arguments) const;

 private:
  Program();

  Signature signature_;
  std::vector<xla::Shape> parameters_;  // with the layout of the byte strings
  xla::LocalClient* client_ = nullptr;  // XLA's singleton
  std::unique_ptr<xla::LocalExecutable> executable_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_EXECUTE_H_
