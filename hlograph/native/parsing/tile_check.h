// Whether a tile assignment of HLO (who of N devices has which tile) is one.
#ifndef HLOGRAPH_NATIVE_PARSING_TILE_CHECK_H_
#define HLOGRAPH_NATIVE_PARSING_TILE_CHECK_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace hlograph {

// XLA writes a device assignment out as an array: 16,777,216 devices are 128 MiB of it, and
// hundreds of times the largest machines.
inline constexpr int64_t kMaxDevices = int64_t{1} << 24;

// The product of dimensions that are 1 or more; none if one of them is not, or the product is
// beyond `limit`.
std::optional<int64_t> BoundedProduct(absl::Span<const int64_t> dims, int64_t limit);

// Checks `devices=[tiles]d0,d1,...`: XLA copies the devices into an array of the tiles without
// looking whether they fit.
absl::Status CheckTiles(absl::Span<const int64_t> tiles, int64_t devices);

// Checks `[tiles]<=[dims]T(permutation)`: XLA indexes with the permutation without looking. An
// empty permutation is the identity.
absl::Status CheckIotaTiles(absl::Span<const int64_t> tiles, absl::Span<const int64_t> dims,
                            absl::Span<const int64_t> permutation);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_TILE_CHECK_H_
