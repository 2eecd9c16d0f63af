// Modules compiled by XLA:CPU, to run.
#ifndef HLOGRAPH_NATIVE_EXECUTE_H_
#define HLOGRAPH_NATIVE_EXECUTE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/signature.h"
#include "xla/shape.h"

namespace xla {
class HloModule;
class LocalClient;
class LocalExecutable;
}  // namespace xla

namespace hlograph {

// How a module is compiled.
struct CompileSettings {
  // XLA's passes to skip, by name.
  std::vector<std::string> disabled_passes;
  // Whether to leave out what makes rounding hang on how instructions are fused
  // and scheduled: fused multiply-add, libraries that choose their own order of
  // summation, threads.
  bool strict = true;
  // LLVM's optimization level, 0 to 3.
  int optimization_level = 1;
};

// A compiled module. Frees its code with itself. Run may be called from any
// thread, and any number of times.
class Program {
 public:
  ~Program();

  // Compiles a copy of the module for this machine, as the program of one
  // device: partition and replica counts are dropped, so that collectives over
  // several devices are an error.
  static absl::StatusOr<std::unique_ptr<Program>> Compile(const xla::HloModule& module,
                                                          const CompileSettings& settings);

  const Signature& signature() const { return signature_; }

  // Runs on one byte string for each leaf of the parameters and returns one for
  // each leaf of the result.
  absl::StatusOr<std::vector<std::string>> Run(absl::Span<const absl::string_view> inputs) const;

 private:
  Program();

  Signature signature_;
  std::vector<xla::Shape> parameters_;  // with the layout of the byte strings
  xla::LocalClient* client_ = nullptr;  // XLA's singleton
  std::unique_ptr<xla::LocalExecutable> executable_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTE_H_
