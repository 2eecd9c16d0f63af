// The registry of passes: XLA's own pass objects with fixed options.
#ifndef HLOGRAPH_NATIVE_PASSES_REGISTRY_H_
#define HLOGRAPH_NATIVE_PASSES_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace xla {
class HloModule;
class HloPassInterface;
}  // namespace xla

namespace hlograph {

using PassPtr = std::unique_ptr<xla::HloPassInterface>;

// One action: the XLA passes that it runs, in order. More than one only where
// a pass needs a predecessor to be safe; `requires_pass` then names it.
struct Pass {
  std::string name;       // XLA's name, plus ":variant" where options differ
  std::string xla_class;  // the C++ class under xla::
  std::string description;
  std::vector<std::pair<std::string, std::string>> options;
  std::function<PassPtr()> make;
  std::string requires_pass;  // name of the entry that runs first, or empty
  // What it does to the bits of results: "exact", "reassociating" or
  // "approximate" (passes_numerics.cc); the last unless the entry is known.
  std::string numerics = "approximate";
  // Opcodes without any of which in a module it changes nothing; empty if it may act on any
  // (passes_opcodes.cc).
  std::vector<std::string> acts_on;
};

// All passes, in the order of their action numbers. Never changes at run time.
const std::vector<Pass>& Registry();

// The entry of that name, or null.
const Pass* FindPass(const std::string& name);

// Runs a pass, after the one that it requires; whether either changed the module.
absl::StatusOr<bool> RunPass(const Pass& pass, xla::HloModule* module);

// The parts of the registry, by topic (passes_*.cc).
void AddAlgebraicPasses(std::vector<Pass>& passes);
void AddSimplifierPasses(std::vector<Pass>& passes);
void AddControlFlowPasses(std::vector<Pass>& passes);
void AddExpanderPasses(std::vector<Pass>& passes);

// Sets the numerics of all entries that are known to be exact or reassociating.
void ClassifyNumerics(std::vector<Pass>& passes);

// Sets the opcodes of all entries that need some.
void NameOpcodes(std::vector<Pass>& passes);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PASSES_REGISTRY_H_
