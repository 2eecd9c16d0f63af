// Cache of the hash of each instruction of a module, operands and users aside.
#ifndef HLOGRAPH_NATIVE_MODULE_OWN_HASHES_H_
#define HLOGRAPH_NATIVE_MODULE_OWN_HASHES_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlograph/native/module/hasher.h"

namespace xla {
class HloComputation;
}  // namespace xla

namespace hlograph {

// Valid until a pass runs on the module, whether it reports a change or not.
class OwnHashes {
 public:
  void Clear();
  // Adds a computation, and returns the hashes of its instructions by local id, all zeros. They are
  // to be filled in before the next one is added.
  absl::Span<Hash> Add(const xla::HloComputation& computation);
  // The hashes by local id, zeros where there is none; empty for an unknown computation.
  absl::Span<const Hash> Of(const xla::HloComputation& computation) const;

 private:
  struct Range {
    size_t begin = 0;
    size_t size = 0;
  };

  std::vector<Hash> hashes_;
  absl::flat_hash_map<const xla::HloComputation*, Range> ranges_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_OWN_HASHES_H_
