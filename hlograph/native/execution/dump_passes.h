// Runs XLA:CPU's own passes, for comparison with the pipeline xla-cpu.
#ifndef HLOGRAPH_NATIVE_EXECUTION_DUMP_PASSES_H_
#define HLOGRAPH_NATIVE_EXECUTION_DUMP_PASSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

// One pass that XLA ran, with XLA's names.
struct PassRecord {
  std::string pipeline;
  std::string pass;
  bool changed = false;
};

// Runs all HLO passes of XLA:CPU on a copy of the module and has XLA write the
// module after every pass that changed it, as text, into `directory`, as with
// --xla_dump_to and --xla_dump_hlo_pass_re=.*. No code is generated. `disabled`
// names passes to skip, for finding out the effect of one of them. Returns the
// passes that ran.
absl::StatusOr<std::vector<PassRecord>> DumpCpuPasses(const xla::HloModule& module,
                                                      const std::string& directory,
                                                      const std::vector<std::string>& disabled);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_EXECUTION_DUMP_PASSES_H_
