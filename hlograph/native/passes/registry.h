// The registry of passes: XLA's own pass objects with fixed options.
#ifndef HLOGRAPH_NATIVE_PASSES_REGISTRY_H_
#define HLOGRAPH_NATIVE_PASSES_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
class HloInstruction;
class HloModule;
class HloPassInterface;
}  // namespace xla

namespace hlograph {

using PassPtr = std::unique_ptr<xla::HloPassInterface>;

// Effect of a pass on the bits of results. From XLA's semantics, held against the sweep of
// tests/campaigns/sweep_equivalence.py, docs/numerics.md: no entry is better than it was seen
// there.
enum class PassNumerics {
  // The same operations on the same numbers: moved, merged, copied, removed or replaced by integer
  // operations.
  kExact,
  // The same expression over the reals, with its sums in another order or shape: results differ by
  // rounding. Some do so only on some modules: constant folding sums in float64 where the module
  // sums in float32.
  kReassociating,
  // Other functions (algsimp turns x^2 into x*x and 1/sqrt into rsqrt), other algorithms (the
  // decompositions), other precisions (bfloat16 in float32), other random numbers. Also what is
  // the same for numbers but not for NaN and infinities (convolutions without their groups).
  kApproximate,
};

absl::string_view NameOf(PassNumerics numerics);

// Entries that others require or run first. What requires the normalizer acts on its opcodes as
// well.
inline constexpr char kSplitter[] = "dynamic-index-splitter";
inline constexpr char kNormalizer[] = "batched_gather_scatter_normalizer";

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
  PassNumerics numerics = PassNumerics::kApproximate;
  // It changes nothing in a module without any of these opcodes; empty if it may act on any, or
  // goes by types and shapes. From what XLA's pass looks for, held against the corpus by the tests.
  std::vector<xla::HloOpcode> acts_on = {};
  std::string requires_pass = {};            // name of the entry that runs first, or empty
  std::vector<Precaution> precautions = {};  // in the order in which they are taken
  // True for an instruction whose called computations the pass copies, for each of their calls. So
  // it is refused where the copies of copies would not fit into memory. Null if it copies none.
  bool (*copies_callees)(const xla::HloInstruction& instruction) = nullptr;
};

// All passes, in the order of their action numbers. Never changes at run time.
const std::vector<Pass>& Registry();

// Returns an error if two entries have one name, or one requires or runs first a name that none
// has.
absl::Status CheckPasses();

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

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PASSES_REGISTRY_H_
