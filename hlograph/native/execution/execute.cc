#include "hlograph/native/execution/execute.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/execution/lowering.h"
#include "hlograph/native/execution/signature.h"
#include "hlograph/native/module/clone.h"
#include "xla/backends/cpu/runtime/thunk.pb.h"
#include "xla/client/client_library.h"
#include "xla/client/executable_build_options.h"
#include "xla/client/local_client.h"
#include "xla/executable_run_options.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/service/backend.h"
#include "xla/service/compiled_module.h"
#include "xla/service/compiler.h"
#include "xla/service/cpu/executable.pb.h"
#include "xla/service/executable.h"
#include "xla/service/platform_util.h"
#include "xla/service/shaped_buffer.h"
#include "xla/stream_executor/platform.h"
#include "xla/xla.pb.h"

namespace hlograph {
namespace {

absl::StatusOr<xla::LocalClient*> HostClient() {
  absl::StatusOr<stream_executor::Platform*> platform = xla::PlatformUtil::GetPlatform("Host");
  if (!platform.ok()) return platform.status();
  return xla::ClientLibrary::GetOrCreateLocalClient(*platform);
}

void Apply(const CompileSettings& settings, xla::DebugOptions& options) {
  for (const std::string& pass : settings.disabled_passes) {
    options.add_xla_disable_hlo_passes(pass);
  }
  options.set_xla_allow_excess_precision(false);
  options.set_xla_cpu_enable_fast_math(false);
  options.set_xla_cpu_enable_fast_min_max(false);
  options.set_xla_backend_optimization_level(settings.optimization_level);
  options.set_xla_llvm_disable_expensive_passes(true);
  if (!settings.strict) return;
  options.set_xla_cpu_max_isa("AVX");  // the last without fused multiply-add
  options.set_xla_cpu_use_onednn(false);
  options.set_xla_cpu_use_xnnpack(false);
  options.set_xla_cpu_multi_thread_eigen(false);
  options.set_xla_cpu_strict_dot_conv_math(true);
}

// Whether the instruction takes no time of its own: it names data that are there
// already, or has others do the work.
bool IsFree(const xla::HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case xla::HloOpcode::kAddDependency:
    case xla::HloOpcode::kAfterAll:
    case xla::HloOpcode::kBitcast:
    case xla::HloOpcode::kCall:
    case xla::HloOpcode::kConditional:
    case xla::HloOpcode::kConstant:
    case xla::HloOpcode::kGetTupleElement:
    case xla::HloOpcode::kOptimizationBarrier:
    case xla::HloOpcode::kParameter:
    case xla::HloOpcode::kTuple:
    case xla::HloOpcode::kWhile:
      return true;
    default:
      return false;
  }
}

int64_t CountKernelsOf(const xla::HloComputation& computation) {
  int64_t count = 0;
  for (const xla::HloInstruction* instruction : computation.instructions()) {
    if (!IsFree(*instruction)) {
      ++count;  // computations that it applies are a part of it
      continue;
    }
    for (const xla::HloComputation* called : instruction->called_computations()) {
      count += CountKernelsOf(*called);
    }
  }
  return count;
}

void AddSteps(const xla::cpu::ThunkSequenceProto& sequence, std::vector<CodeStep>& steps) {
  for (const xla::cpu::ThunkProto& thunk : sequence.thunks()) {
    steps.push_back({thunk.kind(), thunk.info().op_name()});
    if (thunk.has_call_thunk()) AddSteps(thunk.call_thunk().called_sequence(), steps);
    if (thunk.has_while_thunk()) {
      AddSteps(thunk.while_thunk().cond_sequence(), steps);
      AddSteps(thunk.while_thunk().body_sequence(), steps);
    }
    for (const auto& branch : thunk.conditional_thunk().branch_sequences()) AddSteps(branch, steps);
  }
}

}  // namespace

Program::Program() = default;
Program::~Program() = default;

absl::StatusOr<std::unique_ptr<Program>> Program::Compile(
    const xla::HloModule& module, const std::optional<CompileSettings>& settings, bool lowered) {
  absl::StatusOr<Signature> signature = SignatureOf(module);
  if (!signature.ok()) return signature.status();
  absl::StatusOr<xla::LocalClient*> client = HostClient();
  if (!client.ok()) return client.status();
  xla::Backend* backend = (*client)->mutable_backend();
  xla::Compiler::CompileOptions options;
  options.device_allocator = backend->memory_allocator();
  std::unique_ptr<xla::HloModule> copy = ForOneDevice(module);
  xla::DebugOptions& debug_options = copy->mutable_config().mutable_debug_options();
  if (settings.has_value()) Apply(*settings, debug_options);
  if (lowered) {
    absl::Status status = CheckLowered(*copy);
    if (!status.ok()) return status;
    KeepFusions(debug_options);
  } else {
    absl::Status status = Unfuse(copy.get());
    if (!status.ok()) return status;
  }
  absl::StatusOr<std::unique_ptr<xla::HloModule>> optimized = backend->compiler()->RunHloPasses(
      std::move(copy), backend->default_stream_executor(), options);
  if (!optimized.ok()) return optimized.status();
  absl::StatusOr<std::unique_ptr<xla::Executable>> executable = backend->compiler()->RunBackend(
      *std::move(optimized), backend->default_stream_executor(), options);
  if (!executable.ok()) return executable.status();

  xla::ExecutableBuildOptions build_options;
  build_options.set_device_ordinal((*client)->default_device_ordinal());
  std::unique_ptr<Program> program(new Program());
  program->signature_ = *std::move(signature);
  program->parameters_ = ParameterShapes(module);
  program->client_ = *client;
  program->executable_ = std::make_unique<xla::LocalExecutable>(*std::move(executable), backend,
                                                                std::move(build_options));
  return program;
}

absl::StatusOr<std::vector<CodeStep>> Program::Steps() const {
  // The runtime's own classes are not among the headers, what it writes to files is.
  absl::StatusOr<std::unique_ptr<xla::CompiledModule>> exported =
      client_->backend().compiler()->Export(executable_->executable());
  if (!exported.ok()) return exported.status();
  absl::StatusOr<std::string> serialized = (*exported)->SerializeAsString();
  if (!serialized.ok()) return serialized.status();
  xla::cpu::CompilationResultProto result;
  if (!result.ParseFromString(*serialized)) {
    return absl::InternalError("XLA exported code in another format");
  }
  std::vector<CodeStep> steps;
  AddSteps(result.thunk_sequence(), steps);
  return steps;
}

std::unique_ptr<xla::HloModule> Program::Optimized() const {
  return CloneWhole(executable_->executable()->module());
}

int64_t CountKernels(const xla::HloModule& module) {
  return CountKernelsOf(*module.entry_computation());
}

int64_t Program::CountKernels() const {
  return hlograph::CountKernels(executable_->executable()->module());
}

absl::StatusOr<std::vector<xla::ScopedShapedBuffer>> Program::Upload(
    absl::Span<const absl::string_view> inputs) const {
  absl::StatusOr<std::vector<xla::Literal>> literals =
      MakeLiterals(parameters_, signature_, inputs);
  if (!literals.ok()) return literals.status();
  std::vector<xla::ScopedShapedBuffer> buffers;
  buffers.reserve(literals->size());
  for (const xla::Literal& literal : *literals) {
    absl::StatusOr<xla::ScopedShapedBuffer> buffer =
        client_->LiteralToShapedBuffer(literal, client_->default_device_ordinal());
    if (!buffer.ok()) return buffer.status();
    buffers.push_back(*std::move(buffer));
  }
  return buffers;
}

absl::StatusOr<xla::ScopedShapedBuffer> Program::Launch(
    absl::Span<const xla::ScopedShapedBuffer> arguments) const {
  std::vector<const xla::ShapedBuffer*> pointers;
  pointers.reserve(arguments.size());
  for (const xla::ScopedShapedBuffer& buffer : arguments) pointers.push_back(&buffer);
  xla::ExecutableRunOptions options;
  options.set_allocator(client_->backend().memory_allocator());
  options.set_intra_op_thread_pool(client_->backend().eigen_intra_op_thread_pool_device());
  return executable_->Run(pointers, options);
}

absl::StatusOr<std::vector<std::string>> Program::Run(
    absl::Span<const absl::string_view> inputs) const {
  absl::StatusOr<std::vector<xla::ScopedShapedBuffer>> arguments = Upload(inputs);
  if (!arguments.ok()) return arguments.status();
  absl::StatusOr<xla::ScopedShapedBuffer> result = Launch(*arguments);
  if (!result.ok()) return result.status();
  absl::StatusOr<xla::Literal> literal = client_->ShapedBufferToLiteral(*result);
  if (!literal.ok()) return literal.status();
  return LeafBytes(*literal);
}

}  // namespace hlograph
