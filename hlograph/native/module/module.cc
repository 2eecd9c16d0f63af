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
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/log/internal/globals.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "hlograph/native/module/catching.h"
#include "hlograph/native/module/clone.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/fingerprint.h"
#include "hlograph/native/module/newer_fields.h"
#include "hlograph/native/module/own_hashes.h"
#include "hlograph/native/module/vocabulary.h"
#include "hlograph/native/parsing/proto_check.h"
#include "hlograph/native/parsing/text_check.h"
#include "hlograph/native/parsing/verdict.h"
#include "hlograph/native/passes/registry.h"
#include "hlograph/native/rewrites/instruction_order.h"
#include "hlograph/native/rewrites/outcomes.h"
#include "hlograph/native/rewrites/rewrites.h"
#include "hlograph/native/rewrites/sweep.h"
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
#include "xla/shape_util.h"

namespace hlograph {
namespace {

// Past so many changes a new base is cheaper than a long replay.
constexpr size_t kMaxReplay = 64;

constexpr size_t kArenaBlock = size_t{1} << 20;

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

// A failed check then says where it is, but not what called what: finding the names takes 0.3 s.
void OmitStackTraces() { absl::log_internal::SetMaxFramesInLogStackTrace(0); }

using Parser = absl::FunctionRef<absl::StatusOr<std::unique_ptr<xla::HloModule>>()>;

absl::StatusOr<std::unique_ptr<Module>> Parsed(Parser parse) {
  absl::StatusOr<std::unique_ptr<xla::HloModule>> module = Catching("XLA's parser", parse);
  if (!module.ok()) return Shortened(module.status());
  return std::make_unique<Module>(*std::move(module));
}

// Options are hundreds of fields, which XLA reads from the environment once.
const xla::HloModuleConfig& ParserConfig() {
  static const auto* const config = [] {
    auto* made = new xla::HloModuleConfig();
    made->set_debug_options(xla::GetDebugOptionsFromFlags());
    return made;
  }();
  return *config;
}

bool HasNoElements(const xla::HloInstruction* instruction) {
  return xla::ShapeUtil::IsZeroElementArray(instruction->shape());
}

// XLA's verifier divides by the size of a dimension, which ends the process where it is 0.
absl::Status CheckDivisors(const xla::HloModule& module) {
  for (const xla::HloComputation* computation : module.computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      const bool gathers = instruction->opcode() == xla::HloOpcode::kAllGather ||
                           instruction->opcode() == xla::HloOpcode::kAllGatherStart;
      const bool scatters = instruction->opcode() == xla::HloOpcode::kReduceScatter;
      if (!gathers && !scatters) continue;
      if (absl::c_none_of(instruction->operands(), HasNoElements) && !HasNoElements(instruction)) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("XLA's verifier cannot check ", instruction->name(), ": an ",
                       xla::HloOpcodeString(instruction->opcode()),
                       " without elements; zero_sized_hlo_elimination may remove it"));
    }
  }
  return absl::OkStatus();
}

// XLA's verifier reads the size of the dimension that is sorted, which ends the process where there
// is no such dimension.
absl::Status CheckSorts(const xla::HloModule& module) {
  for (const xla::HloComputation* computation : module.computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() != xla::HloOpcode::kSort || instruction->operand_count() == 0) {
        continue;
      }
      const xla::Shape& keys = instruction->operand(0)->shape();
      const int64_t rank = keys.IsArray() ? static_cast<int64_t>(keys.dimensions().size()) : 0;
      const auto is_one = [rank](int64_t dimension) { return dimension >= 0 && dimension < rank; };
      if (instruction->dimensions().size() == 1 && is_one(instruction->dimensions(0))) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("expected ", instruction->name(), " to sort along one of ", rank,
                       " dimensions, got {", absl::StrJoin(instruction->dimensions(), ", "), "}"));
    }
  }
  return absl::OkStatus();
}

absl::Status TooLarge(absl::string_view what, size_t size) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, " of at most ", kMaxBytes, " bytes, got ", size));
}

}  // namespace

Module::Module(std::unique_ptr<xla::HloModule> module)
    : base_(std::move(module)), outcomes_(std::make_shared<SharedOutcomes>()) {}

Module::~Module() = default;

const xla::HloModule& Module::Hlo() const {
  Replay();
  return current_ ? *current_ : *base_;
}

Module::Module(std::shared_ptr<const xla::HloModule> base, std::vector<const Pass*> applied,
               std::unique_ptr<xla::HloModule> current, std::optional<Fingerprint> fingerprint,
               std::shared_ptr<SharedOutcomes> outcomes)
    : base_(std::move(base)),
      applied_(std::move(applied)),
      current_(std::move(current)),
      fingerprint_(fingerprint),
      outcomes_(std::move(outcomes)) {}

absl::StatusOr<std::unique_ptr<Module>> Module::FromText(absl::string_view text, bool isolated) {
  if (text.size() > kMaxBytes) return TooLarge("HLO text", text.size());
  absl::StatusOr<Verdict> verdict = CheckText(text);
  if (!verdict.ok()) return verdict.status();
  if (*verdict == Verdict::kUnsure && !isolated) return nullptr;
  if (isolated) OmitStackTraces();
  return Parsed([&] { return xla::ParseAndReturnUnverifiedModule(text, ParserConfig()); });
}

absl::StatusOr<std::unique_ptr<Module>> Module::FromProto(absl::string_view serialized,
                                                          bool isolated) {
  if (serialized.size() > kMaxBytes) return TooLarge("a proto", serialized.size());
  // In an arena a proto of thousands of parts is made and freed faster than one by one.
  google::protobuf::ArenaOptions options;
  options.max_block_size = kArenaBlock;
  google::protobuf::Arena arena(options);
  auto& proto = *google::protobuf::Arena::Create<xla::HloModuleProto>(&arena);
  if (serialized.empty() || !proto.ParseFromArray(serialized.data(), serialized.size())) {
    return absl::InvalidArgumentError(absl::StrCat("expected a serialized HloModuleProto, got ",
                                                   serialized.size(), " bytes that are not one"));
  }
  if (proto.computations().empty() || !proto.has_host_program_shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a serialized HloModuleProto, got ", serialized.size(),
                     " bytes without computations and program shape"));
  }
  ReadNewerFields(proto);
  absl::StatusOr<Verdict> verdict = CheckProto(proto);
  if (!verdict.ok()) return verdict.status();
  if (*verdict == Verdict::kUnsure && !isolated) return nullptr;
  if (isolated) OmitStackTraces();
  return Parsed([&]() -> absl::StatusOr<std::unique_ptr<xla::HloModule>> {
    absl::StatusOr<xla::HloModuleConfig> config =
        xla::HloModule::CreateModuleConfigFromProto(proto, ParserConfig().debug_options());
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
  Replay();
  return std::unique_ptr<Module>(new Module(
      base_, applied_, current_ ? CloneWhole(*current_) : nullptr, fingerprint_, outcomes_));
}

Fingerprint Module::LockedFingerprint() const {
  if (!fingerprint_) LockedHash(nullptr);
  return *fingerprint_;
}

void Module::LockedHash(int64_t* counts) const {
  own_hashes_.Clear();
  fingerprint_ = FingerprintOf(Hlo(), counts, &own_hashes_);
}

Fingerprint Module::GetFingerprint() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return LockedFingerprint();
}

State Module::LockedState() const {
  const xla::HloModule& hlo = Hlo();
  std::vector<int64_t> counts(OpcodeNames().size());
  if (fingerprint_) {
    CountInto(hlo, counts.data());
  } else {
    LockedHash(counts.data());
  }
  State state = {*fingerprint_, hlo.instruction_count(), {}};
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

Fingerprint Module::GetContext() const {
  return Read([](const xla::HloModule& hlo) { return ContextOf(hlo); });
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
  return Read([&](const xla::HloModule& hlo) -> absl::Status {
    if (absl::Status status = CheckDivisors(hlo); !status.ok()) return status;
    if (absl::Status status = CheckSorts(hlo); !status.ok()) return status;
    // The verifier takes a mutable module because every pass does; it only reads.
    return Catching("XLA's verifier",
                    [&] { return verifier.Run(const_cast<xla::HloModule*>(&hlo)).status(); });
  });
}

absl::StatusOr<Cost> Module::GetCost() const {
  return Read([](const xla::HloModule& hlo) { return AnalyzeCost(hlo); });
}

absl::StatusOr<bool> Module::Run(const Pass& pass) {
  std::lock_guard<std::mutex> lock(mutex_);
  return LockedRun(pass);
}

absl::StatusOr<Step> Module::RunWithSnapshot(const Pass& pass) {
  using Clock = std::chrono::steady_clock;
  std::lock_guard<std::mutex> lock(mutex_);
  Replay();
  const Fingerprint before = LockedFingerprint();
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<bool> reported = LockedRun(pass);
  if (!reported.ok()) return reported.status();
  Step step;
  step.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  step.reported = *reported;
  if (!step.reported) return step;
  State state = LockedState();
  // Some passes report a change that leaves the state what it was.
  if (state.fingerprint != before) step.state = std::move(state);
  return step;
}

absl::StatusOr<bool> Module::LockedRun(const Pass& pass) {
  Replay();
  // Whatever the pass reports, it may give instructions other ids.
  own_hashes_.Clear();
  if (!current_) current_ = CloneWhole(*base_);
  // Nothing below may throw between a change and its record.
  applied_.reserve(applied_.size() + 1);
  absl::StatusOr<bool> changed = RunPass(pass, current_.get());
  if (!changed.ok()) {
    current_.reset();  // half-changed; Replay makes it again
    return changed;
  }
  if (*changed) {
    fingerprint_.reset();
    applied_.push_back(&pass);
    if (applied_.size() > kMaxReplay) Rebase();
  }
  return *changed;
}

void Module::Rebase() {
  try {
    std::shared_ptr<const xla::HloModule> base = CloneWhole(*current_);
    auto outcomes = std::make_shared<SharedOutcomes>();
    base_ = std::move(base);
    outcomes_ = std::move(outcomes);
    applied_.clear();
  } catch (const std::bad_alloc&) {
    // The replay gets longer, and the next change tries again.
  }
}

void Module::Replay() const {
  if (current_ || applied_.empty()) return;
  std::unique_ptr<xla::HloModule> replayed = CloneWhole(*base_);
  for (const Pass* pass : applied_) {
    absl::StatusOr<bool> changed = RunPass(*pass, replayed.get());
    if (!changed.ok()) {
      throw std::runtime_error(
          absl::StrCat("the module could not be restored: ", changed.status().message()));
    }
  }
  current_ = std::move(replayed);
}

void Module::SetBase(std::unique_ptr<xla::HloModule> base, Outcomes outcomes) {
  // What may throw comes first.
  auto shared = std::make_shared<SharedOutcomes>();
  shared->outcomes = std::move(outcomes);
  own_hashes_.Clear();
  base_ = std::move(base);
  outcomes_ = std::move(shared);
  current_.reset();
  applied_.clear();
}

std::vector<Rewrite> Module::Rewrites(const std::vector<const Rule*>& rules) {
  std::lock_guard<std::mutex> lock(mutex_);
  return LockedRewrites(rules);
}

std::vector<Rewrite> Module::LockedRewrites(const std::vector<const Rule*>& rules) {
  Replay();
  // Outcomes are of a module that does not change any more.
  if (current_) SetBase(std::move(current_), {});
  std::lock_guard<std::mutex> outcomes_lock(outcomes_->mutex);
  return FindRewrites(*base_, rules, /*shared_copies=*/true, outcomes_->outcomes);
}

std::vector<Rewrite> Module::RewritesAnew(const std::vector<const Rule*>& rules,
                                          bool shared_copies) const {
  std::lock_guard<std::mutex> lock(mutex_);
  Outcomes outcomes;
  return FindRewrites(Hlo(), rules, shared_copies, outcomes);
}

absl::StatusOr<bool> Module::Apply(const Rule& rule, const std::string& instruction,
                                   const std::string& other) {
  std::lock_guard<std::mutex> lock(mutex_);
  return LockedApply(rule, [&](xla::HloModule* clone) -> absl::StatusOr<int64_t> {
    return ApplyRewrite(clone, rule, instruction, other);
  });
}

absl::StatusOr<int64_t> Module::Sweep(const Rule& rule, bool fewer) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Rewrite> places = LockedRewrites({&rule});
  if (fewer) {
    const auto more = [](const Rewrite& place) { return place.added >= place.removed; };
    places.erase(std::remove_if(places.begin(), places.end(), more), places.end());
  }
  return LockedApply(rule,
                     [&](xla::HloModule* clone) { return hlograph::Sweep(clone, rule, places); });
}

absl::StatusOr<int64_t> Module::LockedApply(
    const Rule& rule, absl::FunctionRef<absl::StatusOr<int64_t>(xla::HloModule*)> apply) {
  // On a clone, which gives out names by those that the module has now: names of new instructions,
  // and with them the places of later rewrites, depend on the state and not on how it was come to.
  auto [clone, context] = CloneWithMap(Hlo());
  absl::StatusOr<int64_t> count = Catching(absl::StrCat("XLA's code for ", rule.name()),
                                           [&, &made = clone] { return apply(made.get()); });
  if (!count.ok() || *count == 0) return count;
  Outcomes outcomes;
  if (!current_) {
    std::lock_guard<std::mutex> outcomes_lock(outcomes_->mutex);
    if (!outcomes_->outcomes.empty()) {
      outcomes = outcomes_->outcomes.After(InstructionOrder(*clone, *context));
    }
  }
  fingerprint_.reset();
  SetBase(std::move(clone), std::move(outcomes));
  return count;
}

}  // namespace hlograph
