// The part of a computation around a few places: a copy of it is cheaper than one of the module.
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

// What a copy of a part holds.
struct Part {
  const xla::HloComputation* computation = nullptr;
  // Complete: with all their operands, and with all their users unless whole computations share
  // them.
  absl::flat_hash_set<const xla::HloInstruction*> core;
  // The core, and those of its users that are not of it, operands first.
  std::vector<const xla::HloInstruction*> copied;
};

// Finds parts of a module that does not change meanwhile.
class PartFinder {
 public:
  // What is in reach of places in one computation; nothing if that, with what it calls, is more
  // instructions than the limit, or cannot be copied alone.
  std::optional<Part> Find(const std::vector<std::pair<Place, Reach>>& places, int64_t limit);

 private:
  using Positions = absl::flat_hash_map<const xla::HloInstruction*, int64_t>;

  // An order in which operands come first.
  const Positions& PositionsIn(const xla::HloComputation& computation);

  absl::flat_hash_map<const xla::HloComputation*, Positions> positions_;
};

// A module of that part alone, parameters being in the place of operands that it lacks, and which
// instruction became which. Computations that others call, too, have another caller here as well.
std::pair<std::unique_ptr<xla::HloModule>, std::unique_ptr<xla::HloCloneContext>> ClonePart(
    const Part& part);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_PARTS_H_
