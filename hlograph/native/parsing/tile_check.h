// Checks tile assignments of HLO, which say which of N devices has which tile.
#ifndef HLOGRAPH_NATIVE_PARSING_TILE_CHECK_H_
#define HLOGRAPH_NATIVE_PARSING_TILE_CHECK_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace hlograph {

// XLA stores a device assignment as an array. 16,777,216 devices take 128 MiB, and are hundreds of
// times as many as the largest machines have.
inline constexpr int64_t kMaxDevices = int64_t{1} << 24;

// Returns the product of dimensions; nothing if one is less than 1, or the product is more than
// `limit`.
std::optional<int64_t> BoundedProduct(absl::Span<const int64_t> dims, int64_t limit);

// Checks `devices=[tiles]d0,d1,...`: XLA copies the devices into an array of the tiles without
// checking that they fit.
absl::Status CheckTiles(absl::Span<const int64_t> tiles, int64_t devices);

// Checks `[tiles]<=[dims]T(permutation)`: XLA uses the permutation as indices without checking it.
// An empty permutation is the identity.
absl::Status CheckIotaTiles(absl::Span<const int64_t> tiles, absl::Span<const int64_t> dims,
                            absl::Span<const int64_t> permutation);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_TILE_CHECK_H_
