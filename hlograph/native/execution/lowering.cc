#include "hlograph/native/execution/lowering.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/compiler.h"
#include "xla/service/computation_layout.h"
#include "xla/service/hlo_module_config.h"
#include "xla/service/platform_util.h"
#include "xla/stream_executor/platform.h"
#include "xla/xla.pb.h"

namespace xla::emitters {
// Of xla/codegen/emitters/elemental_hlo_to_mlir.h, which needs LLVM's headers.
bool IsSupportedElementalOp(HloOpcode opcode);
}  // namespace xla::emitters

namespace hlograph {
namespace {

// Of modules that are lowered, in their text, too.
constexpr const char* kMark = "hlograph_lowered";

// Fusion, and what XLA:CPU's compiler runs after it to prepare code generation, by name. The
// wrapper makes kernels of single instructions; the assigner splits large kernels for threads.
constexpr const char* kFusion[] = {"fusion", "cpu_multi_output_fusion"};
constexpr const char* kAfterFusion[] = {"fusion-wrapper", "cpu-parallel-task-assigner",
                                        "copy-insertion", "small-while-loop-hoisting"};

// Whether XLA:CPU can generate code for an instruction of a loop fusion.
bool HasCode(const xla::HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case xla::HloOpcode::kParameter:
      return true;
    case xla::HloOpcode::kScatter:
    case xla::HloOpcode::kTuple:
      return instruction.IsRoot();
    default:
      return xla::emitters::IsSupportedElementalOp(instruction.opcode());
  }
}

}  // namespace

std::unique_ptr<xla::HloModule> ForOneDevice(const xla::HloModule& module) {
  std::unique_ptr<xla::HloModule> copy = module.Clone(/*suffix=*/"");
  xla::HloModuleConfig& config = copy->mutable_config();
  config.set_num_partitions(1);
  config.set_replica_count(1);
  config.set_use_spmd_partitioning(false);
  config.set_use_shardy_partitioner(false);
  config.reset_static_device_assignment();
  // Modules are taken as they are after partitioning, as in compile.cc.
  config.mutable_debug_options().add_xla_disable_hlo_passes("spmd-partitioner");
  copy->set_input_output_alias_config(xla::HloInputOutputAliasConfig(copy->result_shape()));
  copy->set_buffer_donor_config(xla::HloBufferDonorConfig());
  *copy->mutable_entry_computation_layout() =
      xla::ComputationLayout(copy->entry_computation()->ComputeProgramShape(/*include_ids=*/false),
                             /*ignore_layouts=*/false);
  copy->mutable_entry_computation_layout()->SetToDefaultLayout();
  return copy;
}

absl::StatusOr<std::unique_ptr<xla::HloModule>> LowerForFusion(const xla::HloModule& module) {
  absl::StatusOr<stream_executor::Platform*> platform = xla::PlatformUtil::GetPlatform("Host");
  if (!platform.ok()) return platform.status();
  absl::StatusOr<std::unique_ptr<xla::Compiler>> compiler =
      xla::Compiler::GetForPlatform((*platform)->id());
  if (!compiler.ok()) return compiler.status();
  std::unique_ptr<xla::HloModule> copy = ForOneDevice(module);
  xla::DebugOptions& options = copy->mutable_config().mutable_debug_options();
  const xla::DebugOptions before = options;
  for (const char* pass : kFusion) options.add_xla_disable_hlo_passes(pass);
  for (const char* pass : kAfterFusion) options.add_xla_disable_hlo_passes(pass);
  absl::StatusOr<std::unique_ptr<xla::HloModule>> lowered = (*compiler)->RunHloPasses(
      std::move(copy), /*executor=*/nullptr, xla::Compiler::CompileOptions{});
  if (!lowered.ok()) return lowered;
  (*lowered)->mutable_config().set_debug_options(before);
  xla::FrontendAttributes attributes = (*lowered)->frontend_attributes();
  (*attributes.mutable_map())[kMark] = "true";
  (*lowered)->set_frontend_attributes(attributes);
  return lowered;
}

absl::Status Unfuse(xla::HloModule* module) {
  for (xla::HloComputation* computation : module->MakeNonfusionComputations()) {
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() != xla::HloOpcode::kFusion || instruction->IsCustomFusion()) {
        continue;
      }
      absl::Status status = instruction->Defuse();
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLowered(const xla::HloModule& module) {
  if (!module.frontend_attributes().map().contains(kMark)) {
    return absl::InvalidArgumentError(
        "expected a module that XLA:CPU has lowered, by xla_cpu.before_fusion; it ends the process "
        "where it has no code for one that is not");
  }
  for (const xla::HloComputation* computation : module.computations()) {
    if (!computation->IsFusionComputation() || !computation->FusionInstruction()->IsLoopFusion()) {
      continue;
    }
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (HasCode(*instruction)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("XLA:CPU has no code for ", instruction->name(), ", ",
                       xla::HloOpcodeString(instruction->opcode()), ", inside of a fusion"));
    }
  }
  return absl::OkStatus();
}

void KeepFusions(xla::DebugOptions& options) {
  const std::vector<std::string> disabled(options.xla_disable_hlo_passes().begin(),
                                          options.xla_disable_hlo_passes().end());
  // XLA ends the process where both lists hold names.
  options.clear_xla_disable_hlo_passes();
  options.add_xla_enable_hlo_passes_only("dce");
  for (const char* pass : kAfterFusion) {
    if (!absl::c_linear_search(disabled, pass)) options.add_xla_enable_hlo_passes_only(pass);
  }
}

}  // namespace hlograph
