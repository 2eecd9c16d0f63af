// Copies of the part of a computation around a few places, which are cheaper than those of a
// module.
#ifndef HLOGRAPH_NATIVE_REWRITES_PARTS_H_
#define HLOGRAPH_NATIVE_REWRITES_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlograph/native/rewrites/rules.h"

namespace xla {
class HloCloneContext;
class HloComputation;
class HloInstruction;
class HloModule;
}  // namespace xla

namespace hlograph {

// The instructions of a copied part.
struct Part {
  const xla::HloComputation* computation = nullptr;
  // Instructions copied with all their operands, and with all their users unless whole computations
  // share them.
  absl::flat_hash_set<const xla::HloInstruction*> core;
  // The core, and the users of the core that are not in it, operands first.
  std::vector<const xla::HloInstruction*> copied;
};

// Finds parts of a module. The module must not change meanwhile.
class PartFinder {
 public:
  // Returns the part in reach of places of one computation. Returns nothing if the part, with the
  // computations that it calls, has more instructions than the limit, or cannot be copied alone.
  std::optional<Part> Find(const std::vector<std::pair<Place, Reach>>& places, int64_t limit);

 private:
  using Positions = absl::flat_hash_map<const xla::HloInstruction*, int64_t>;

  // Returns the position of each instruction in post order: operands come first.
  const Positions& PositionsIn(const xla::HloComputation& computation);

  absl::flat_hash_map<const xla::HloComputation*, Positions> positions_;
};

// Returns a module of a part, with parameters for the operands that are not in it, and the map from
// the instructions of the part to their copies. A computation with callers outside of the part has
// another caller in the copy too.
std::pair<std::unique_ptr<xla::HloModule>, std::unique_ptr<xla::HloCloneContext>> ClonePart(
    const Part& part);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_PARTS_H_
