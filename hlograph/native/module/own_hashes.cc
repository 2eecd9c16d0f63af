#include "hlograph/native/module/own_hashes.h"

#include <cstddef>

#include "absl/types/span.h"
#include "hlograph/native/module/hasher.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace hlograph {

void OwnHashes::Clear() {
  hashes_.clear();
  ranges_.clear();
}

absl::Span<Hash> OwnHashes::Add(const xla::HloComputation& computation) {
  const size_t begin = hashes_.size();
  const size_t size = computation.next_unique_instruction_internal_id();
  hashes_.resize(begin + size);
  ranges_[&computation] = {begin, size};
  return absl::MakeSpan(hashes_).subspan(begin, size);
}

absl::Span<const Hash> OwnHashes::Of(const xla::HloComputation& computation) const {
  const auto range = ranges_.find(&computation);
  if (range == ranges_.end()) return {};
  return absl::MakeConstSpan(hashes_).subspan(range->second.begin, range->second.size);
}

}  // namespace hlograph
