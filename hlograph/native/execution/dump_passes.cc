#include "hlograph/native/execution/dump_passes.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/compiler.h"
#include "xla/service/hlo.pb.h"
#include "xla/service/platform_util.h"
#include "xla/stream_executor/platform.h"
#include "xla/xla.pb.h"

namespace hlograph {

absl::StatusOr<std::vector<PassRecord>> DumpCpuPasses(const xla::HloModule& module,
                                                      const std::string& directory,
                                                      const std::vector<std::string>& disabled) {
  absl::StatusOr<stream_executor::Platform*> platform = xla::PlatformUtil::GetPlatform("Host");
  if (!platform.ok()) return platform.status();
  absl::StatusOr<std::unique_ptr<xla::Compiler>> compiler =
      xla::Compiler::GetForPlatform((*platform)->id());
  if (!compiler.ok()) return compiler.status();
  std::unique_ptr<xla::HloModule> copy = module.Clone(/*suffix=*/"");
  // Modules are taken as they are after partitioning: each holds one device's
  // program, and XLA's partitioner refuses what it has made itself.
  xla::DebugOptions& options = copy->mutable_config().mutable_debug_options();
  options.add_xla_disable_hlo_passes("spmd-partitioner");
  options.set_xla_dump_to(directory);
  options.set_xla_dump_hlo_pass_re(".*");
  options.set_xla_dump_hlo_as_text(true);
  options.set_xla_dump_large_constants(true);
  for (const std::string& pass : disabled) options.add_xla_disable_hlo_passes(pass);
  absl::StatusOr<std::unique_ptr<xla::HloModule>> optimized = (*compiler)->RunHloPasses(
      std::move(copy), /*executor=*/nullptr, xla::Compiler::CompileOptions{});
  if (!optimized.ok()) return optimized.status();
  std::vector<PassRecord> records;
  for (const xla::HloPassMetadata& pass : (*optimized)->metadata()->proto().pass_metadata()) {
    records.push_back({pass.pipeline_name(), pass.pass_name(), pass.module_changed()});
  }
  return records;
}

}  // namespace hlograph
