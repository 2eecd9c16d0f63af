#include "hlograph/native/passes/registry.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
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
  ClassifyNumerics(passes);
  NameOpcodes(passes);
  return passes;
}

}  // namespace

const std::vector<Pass>& Registry() {
  static const std::vector<Pass>* const registry = new std::vector<Pass>(MakeRegistry());
  return *registry;
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
  bool changed = false;
  if (!pass.requires_pass.empty()) {
    absl::StatusOr<bool> first = FindPass(pass.requires_pass)->make()->Run(module);
    if (!first.ok()) return first.status();
    changed = *first;
  }
  absl::StatusOr<bool> result = pass.make()->Run(module);
  if (!result.ok()) return result.status();
  return changed || *result;
}

}  // namespace hlograph
