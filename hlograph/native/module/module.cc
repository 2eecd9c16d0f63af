#include "hlograph/native/module/module.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "hlograph/native/module/abort_guard.h"
#include "hlograph/native/module/clone.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/fingerprint.h"
#include "hlograph/native/module/vocabulary.h"
#include "hlograph/native/parsing/proto_check.h"
#include "hlograph/native/parsing/text_check.h"
#include "hlograph/native/passes/registry.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/rewrites.h"
#include "hlograph/native/rewrites/succession.h"
#include "xla/debug_options_flags.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/service/hlo.pb.h"
#include "xla/service/hlo_module_config.h"
#include "xla/service/hlo_verifier.h"

namespace hlograph {
namespace {

// Past so many changes a new base is cheaper than a long replay.
constexpr size_t kMaxReplay = 64;

// XLA prints a negative zero as "-0", and reads that as the integer 0.
std::string WithNegativeZeros(const std::string& text) {
  constexpr absl::string_view kConstant = " constant(";
  std::string result;
  size_t copied = 0;
  for (size_t at = text.find(kConstant); at != std::string::npos; at = text.find(kConstant, at)) {
    at += kConstant.size();
    // Literals hold no quotes and no line breaks; what follows them on the line may hold "-0".
    const absl::string_view line(text.data(),
                                 std::min(text.find_first_of("\n\"", at), text.size()));
    while ((at = line.find("-0", at)) != absl::string_view::npos) {
      const bool begins = absl::string_view(" {(").find(line[at - 1]) != absl::string_view::npos;
      at += 2;
      if (!begins || line.find_first_of(" ,})", at) != at) continue;
      result.append(text, copied, at - copied).append(".0");
      copied = at;
    }
    at = line.size();
  }
  return result.append(text, copied, std::string::npos);
}

void CountInto(const xla::HloModule& module, int64_t* counts) {
  for (const xla::HloComputation* computation : module.computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      ++counts[static_cast<int>(instruction->opcode())];
    }
  }
}

// XLA quotes whole lines, of which some have megabytes.
absl::Status Shortened(const absl::Status& status) {
  constexpr size_t kLongest = 10000;
  const absl::string_view message = status.message();
  if (message.size() <= kLongest) return status;
  return absl::Status(status.code(), absl::StrCat(message.substr(0, kLongest), " ..."));
}

using Parser = absl::FunctionRef<absl::StatusOr<std::unique_ptr<xla::HloModule>>()>;

// What a parser of XLA returns; what it throws is an error as well.
absl::StatusOr<std::unique_ptr<xla::HloModule>> Caught(Parser parse) {
  try {
    return parse();
  } catch (const std::bad_alloc&) {
    return absl::InvalidArgumentError("XLA's parser asked for more memory than there is");
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("XLA's parser gave up: ", error.what()));
  }
}

// The module that a parser of XLA returns, or an error; null if it aborts, unless `alone`.
absl::StatusOr<std::unique_ptr<Module>> Parsed(bool alone, Parser parse) {
  absl::StatusOr<std::unique_ptr<xla::HloModule>> module = absl::UnknownError("");
  if (alone) {
    OmitStackTraces();
    module = Caught(parse);
  } else if (!SurvivesAbort([&] { module = Caught(parse); })) {
    return nullptr;
  }
  if (!module.ok()) return Shortened(module.status());
  return std::make_unique<Module>(*std::move(module));
}

absl::Status TooLarge(absl::string_view what, size_t size) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, " of at most ", kMaxBytes, " bytes, got ", size));
}

}  // namespace

Module::Module(std::unique_ptr<xla::HloModule> module)
    : base_(std::move(module)), outcomes_(std::make_shared<SharedOutcomes>()) {}

Module::~Module() = default;

const xla::HloModule& Module::Hlo() const { return current_ ? *current_ : *base_; }

Module::Module(std::shared_ptr<const xla::HloModule> base, std::vector<const Pass*> applied,
               std::unique_ptr<xla::HloModule> current, std::optional<Fingerprint> fingerprint,
               std::shared_ptr<SharedOutcomes> outcomes)
    : base_(std::move(base)),
      applied_(std::move(applied)),
      current_(std::move(current)),
      fingerprint_(fingerprint),
      outcomes_(std::move(outcomes)) {}

absl::StatusOr<std::unique_ptr<Module>> Module::FromText(absl::string_view text, bool alone) {
  if (text.size() > kMaxBytes) return TooLarge("HLO text", text.size());
  absl::StatusOr<TextVerdict> verdict = CheckText(text);
  if (!verdict.ok()) return verdict.status();
  if (!alone && (*verdict == TextVerdict::kUnsure || WasAborted())) return nullptr;
  xla::HloModuleConfig config;
  config.set_debug_options(xla::GetDebugOptionsFromFlags());
  return Parsed(alone, [&] { return xla::ParseAndReturnUnverifiedModule(text, config); });
}

absl::StatusOr<std::unique_ptr<Module>> Module::FromProto(absl::string_view serialized,
                                                          bool alone) {
  if (serialized.size() > kMaxBytes) return TooLarge("a proto", serialized.size());
  xla::HloModuleProto proto;
  if (serialized.empty() || !proto.ParseFromArray(serialized.data(), serialized.size())) {
    return absl::InvalidArgumentError(absl::StrCat("expected a serialized HloModuleProto, got ",
                                                   serialized.size(), " bytes that are not one"));
  }
  if (proto.computations().empty() || !proto.has_host_program_shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a serialized HloModuleProto, got ", serialized.size(),
                     " bytes without computations and program shape"));
  }
  if (absl::Status status = CheckProto(proto); !status.ok()) return status;
  if (!alone && WasAborted()) return nullptr;
  return Parsed(alone, [&]() -> absl::StatusOr<std::unique_ptr<xla::HloModule>> {
    absl::StatusOr<xla::HloModuleConfig> config =
        xla::HloModule::CreateModuleConfigFromProto(proto, xla::GetDebugOptionsFromFlags());
    if (!config.ok()) return config.status();
    return xla::HloModule::CreateFromProto(proto, *config, /*prohibit_empty_literal=*/true,
                                           /*comp_envs=*/nullptr,
                                           /*preserve_instruction_ids=*/false);
  });
}

std::string Module::Name() const {
  return Read([](const xla::HloModule& hlo) { return hlo.name(); });
}

std::string Module::ToText(bool metadata) const {
  xla::HloPrintOptions options =
      xla::HloPrintOptions::ShortParsable().set_print_control_dependencies(true).set_print_metadata(
          metadata);
  return WithNegativeZeros(Read([&](const xla::HloModule& hlo) { return hlo.ToString(options); }));
}

std::string Module::ToProto() const {
  xla::HloModuleProto proto = Read([](const xla::HloModule& hlo) { return hlo.ToProto(); });
  std::string serialized;
  // Map fields have no fixed order otherwise.
  google::protobuf::io::StringOutputStream stream(&serialized);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  proto.SerializeToCodedStream(&coded);
  coded.Trim();
  return serialized;
}

std::unique_ptr<Module> Module::Clone() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::unique_ptr<Module>(new Module(
      base_, applied_, current_ ? CloneWhole(*current_) : nullptr, fingerprint_, outcomes_));
}

Fingerprint Module::LockedFingerprint() const {
  if (!fingerprint_) fingerprint_ = FingerprintOf(Hlo());
  return *fingerprint_;
}

Fingerprint Module::GetFingerprint() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return LockedFingerprint();
}

State Module::LockedState() const {
  std::vector<int64_t> counts(OpcodeNames().size());
  CountInto(Hlo(), counts.data());
  State state = {LockedFingerprint(), Hlo().instruction_count(), {}};
  state.op_counts.reserve(counts.size());
  // From there on a float no longer counts by ones.
  constexpr int64_t kMaxCount = int64_t{1} << 24;
  for (int64_t count : counts) state.op_counts.push_back(std::min(count, kMaxCount));
  return state;
}

State Module::GetState() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return LockedState();
}

Fingerprint Module::GetSurroundings() const {
  return Read([](const xla::HloModule& hlo) { return SurroundingsOf(hlo); });
}

Fingerprint Module::GetStructure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return StructureOf(Hlo());
}

int64_t Module::OpCount() const {
  return Read([](const xla::HloModule& hlo) { return hlo.instruction_count(); });
}

void Module::CountOpcodes(int64_t* counts) const {
  Read([&](const xla::HloModule& hlo) { CountInto(hlo, counts); });
}

absl::Status Module::Verify() const {
  xla::HloVerifier verifier(/*layout_sensitive=*/false, /*allow_mixed_precision=*/true);
  return Read([&](const xla::HloModule& hlo) {
    // The verifier takes a mutable module because every pass does; it only reads.
    return verifier.Run(const_cast<xla::HloModule*>(&hlo)).status();
  });
}

absl::StatusOr<Cost> Module::GetCost() const {
  return Read([](const xla::HloModule& hlo) { return AnalyzeCost(hlo); });
}

absl::StatusOr<bool> Module::Run(const Pass& pass) {
  std::lock_guard<std::mutex> lock(mutex_);
  return LockedRun(pass);
}

absl::StatusOr<Step> Module::RunAndLook(const Pass& pass) {
  using Clock = std::chrono::steady_clock;
  std::lock_guard<std::mutex> lock(mutex_);
  const Fingerprint before = LockedFingerprint();
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<bool> reported = LockedRun(pass);
  if (!reported.ok()) return reported.status();
  Step step;
  step.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  step.reported = *reported;
  // Some passes report a change that leaves the state what it was.
  if (step.reported && LockedFingerprint() != before) step.state = LockedState();
  return step;
}

absl::StatusOr<bool> Module::LockedRun(const Pass& pass) {
  if (!current_) current_ = CloneWhole(*base_);
  absl::StatusOr<bool> changed = RunPass(pass, current_.get());
  if (!changed.ok()) return RestoredAfter(changed.status());
  if (*changed) {
    fingerprint_.reset();
    applied_.push_back(&pass);
    if (applied_.size() > kMaxReplay) {
      base_ = CloneWhole(*current_);
      outcomes_ = std::make_shared<SharedOutcomes>();
      applied_.clear();
    }
  }
  return *changed;
}

void Module::SetBase(std::unique_ptr<xla::HloModule> base, Outcomes outcomes) {
  base_ = std::move(base);
  current_.reset();
  applied_.clear();
  outcomes_ = std::make_shared<SharedOutcomes>();
  outcomes_->outcomes = std::move(outcomes);
}

std::vector<Rewrite> Module::Rewrites(const std::vector<const Rule*>& rules) {
  std::lock_guard<std::mutex> lock(mutex_);
  // Outcomes are of a module that does not change any more.
  if (current_) SetBase(std::move(current_), {});
  std::lock_guard<std::mutex> outcomes_lock(outcomes_->mutex);
  return FindRewrites(*base_, rules, /*alone=*/false, outcomes_->outcomes);
}

std::vector<Rewrite> Module::RewritesAnew(const std::vector<const Rule*>& rules, bool alone) const {
  std::lock_guard<std::mutex> lock(mutex_);
  Outcomes outcomes;
  return FindRewrites(Hlo(), rules, alone, outcomes);
}

absl::StatusOr<bool> Module::Apply(const Rule& rule, const std::string& instruction,
                                   const std::string& other) {
  std::lock_guard<std::mutex> lock(mutex_);
  // On a clone, which gives out names by those that the module has now: names of new instructions,
  // and with them the places of later rewrites, depend on the state and not on how it was come to.
  auto [clone, context] = CloneWithMap(Hlo());
  absl::StatusOr<bool> applied = ApplyRewrite(clone.get(), rule, instruction, other);
  if (!applied.ok() || !*applied) return applied;
  Outcomes outcomes;
  if (!current_) {
    std::lock_guard<std::mutex> outcomes_lock(outcomes_->mutex);
    if (!outcomes_->outcomes.empty()) {
      outcomes = outcomes_->outcomes.After(Succession(*clone, *context));
    }
  }
  SetBase(std::move(clone), std::move(outcomes));
  fingerprint_.reset();
  return true;
}

absl::Status Module::RestoredAfter(const absl::Status& error) {
  absl::Status restored = Restore();
  if (restored.ok()) return error;
  return absl::InternalError(absl::StrCat(
      error.message(), "; and the module could not be restored: ", restored.message()));
}

absl::Status Module::Restore() {
  current_ = applied_.empty() ? nullptr : CloneWhole(*base_);
  for (const Pass* pass : applied_) {
    absl::StatusOr<bool> replayed = RunPass(*pass, current_.get());
    if (!replayed.ok()) return replayed.status();
  }
  return absl::OkStatus();
}

}  // namespace hlograph
