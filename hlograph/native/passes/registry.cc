#include "hlograph/native/passes/registry.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/module/catching.h"
#include "hlograph/native/module/names.h"
#include "hlograph/native/passes/precautions.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace hlograph {
namespace {

std::vector<Pass> MakeRegistry() {
  std::vector<Pass> passes;
  AddAlgebraicPasses(passes);
  AddSimplifierPasses(passes);
  AddControlFlowPasses(passes);
  AddExpanderPasses(passes);
  return passes;
}

// Most instructions that a pass may make by copying computations: some GiB.
constexpr double kMostCopied = 1 << 22;

absl::Status CheckCopies(const Pass& pass, const xla::HloModule& module) {
  if (pass.copies_callees == nullptr) return absl::OkStatus();
  const double size = InstructionsWithCopies(module, pass.copies_callees);
  if (size <= kMostCopied) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s copies computations for each of their calls, which would make %.3g instructions of %d; "
      "at most %.0f are made",
      pass.name, size, module.instruction_count(), kMostCopied));
}

// The first instruction that makes a precaution necessary, or null.
const xla::HloInstruction* FindCause(const Precaution& precaution, const xla::HloModule& module) {
  for (const xla::HloComputation* computation : module.computations()) {
    for (const xla::HloInstruction* instruction : computation->instructions()) {
      if (precaution.is_needed(*instruction)) return instruction;
    }
  }
  return nullptr;
}

absl::StatusOr<bool> TakePrecaution(const Precaution& precaution, const Pass& pass,
                                    xla::HloModule* module) {
  const xla::HloInstruction* cause = FindCause(precaution, *module);
  if (cause == nullptr) return false;
  if (precaution.runs_first.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(pass.name, " ", precaution.refusal, ", such as ", cause->name()));
  }
  return FindPass(precaution.runs_first)->make()->Run(module);
}

}  // namespace

absl::string_view NameOf(PassNumerics numerics) {
  switch (numerics) {
    case PassNumerics::kExact:
      return "exact";
    case PassNumerics::kReassociating:
      return "reassociating";
    case PassNumerics::kApproximate:
      break;
  }
  return "approximate";
}

const std::vector<Pass>& Registry() {
  static const std::vector<Pass>* const registry = new std::vector<Pass>(MakeRegistry());
  return *registry;
}

absl::Status CheckPasses() {
  std::vector<NamedEntry> entries;
  for (const Pass& pass : Registry()) {
    NamedEntry& entry = entries.emplace_back(pass.name, std::vector<std::string>());
    if (!pass.requires_pass.empty()) entry.second.push_back(pass.requires_pass);
    for (const Precaution& precaution : pass.precautions) {
      if (!precaution.runs_first.empty()) entry.second.push_back(precaution.runs_first);
    }
  }
  return CheckNames("pass", entries);
}

const Pass* FindPass(const std::string& name) {
  static const auto* const by_name = [] {
    auto* map = new std::unordered_map<std::string, const Pass*>();
    for (const Pass& pass : Registry()) map->emplace(pass.name, &pass);
    return map;
  }();
  auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

absl::StatusOr<bool> RunPass(const Pass& pass, xla::HloModule* module) {
  absl::Status fits = CheckCopies(pass, *module);
  if (!fits.ok()) return fits;
  return Catching(absl::StrCat("XLA's pass of ", pass.name), [&]() -> absl::StatusOr<bool> {
    bool changed = false;
    if (!pass.requires_pass.empty()) {
      absl::StatusOr<bool> first = FindPass(pass.requires_pass)->make()->Run(module);
      if (!first.ok()) return first;
      changed = *first;
    }
    for (const Precaution& precaution : pass.precautions) {
      absl::StatusOr<bool> taken = TakePrecaution(precaution, pass, module);
      if (!taken.ok()) return taken;
      changed |= *taken;
    }
    absl::StatusOr<bool> result = pass.make()->Run(module);
    if (!result.ok()) return result;
    return changed || *result;
  });
}

}  // namespace hlograph
