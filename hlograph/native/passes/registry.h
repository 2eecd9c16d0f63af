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
class HloInstruction;
class HloModule;
class HloPassInterface;
}  // namespace xla

namespace hlograph {

using PassPtr = std::unique_ptr<xla::HloPassInterface>;

// Keeps a pass from instructions that it does not survive: another entry runs first, which replaces
// them, or the pass returns an error.
struct Precaution {
  bool (*is_needed)(const xla::HloInstruction& instruction) = nullptr;
  std::string runs_first = {};  // name of an entry, or empty
  std::string refusal = {};  // the error's message, behind the pass's name; where none runs first
};

// One action: the XLA passes that it runs, in order. More than one only where
// a pass needs a predecessor to be safe: `requires_pass` names one that always
// runs, `precautions` those that run only where they are needed.
struct Pass {
  std::string name;       // XLA's name, plus ":variant" where options differ
  std::string xla_class;  // the C++ class under xla::
  std::string description;
  std::vector<std::pair<std::string, std::string>> options;
  std::function<PassPtr()> make;
  std::string requires_pass;  // name of the entry that runs first, or empty
  // Effect on the bits of results: "exact", "reassociating" or
  // "approximate" (numerics.cc); the last unless the entry is known.
  std::string numerics = "approximate";
  // It changes nothing in a module without any of these opcodes; empty if it may act on any
  // (opcodes.cc).
  std::vector<std::string> acts_on = {};
  // In the order in which they are taken (precautions.cc).
  std::vector<Precaution> precautions = {};
};

// All passes, in the order of their action numbers. Never changes at run time.
const std::vector<Pass>& Registry();

// The entry of that name, or null.
const Pass* FindPass(const std::string& name);

// Runs a pass, after those that it needs before it, and returns true if any changed the module.
// After an error, which an exception of XLA's becomes as well, the module may be half-changed.
absl::StatusOr<bool> RunPass(const Pass& pass, xla::HloModule* module);

// The parts of the registry, by topic, one file each.
void AddAlgebraicPasses(std::vector<Pass>& passes);
void AddSimplifierPasses(std::vector<Pass>& passes);
void AddControlFlowPasses(std::vector<Pass>& passes);
void AddExpanderPasses(std::vector<Pass>& passes);

// Sets the numerics of all entries that are known to be exact or reassociating.
void ClassifyNumerics(std::vector<Pass>& passes);

// Sets the opcodes of all entries that need some.
void NameOpcodes(std::vector<Pass>& passes);

// Sets the precautions of all entries that end the process on some valid modules.
void AddPrecautions(std::vector<Pass>& passes);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PASSES_REGISTRY_H_
