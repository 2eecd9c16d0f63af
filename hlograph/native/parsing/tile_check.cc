#include "hlograph/native/parsing/tile_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

namespace hlograph {
namespace {

absl::Status BadDimensions(absl::Span<const int64_t> dims) {
  constexpr size_t kShown = 8;
  return absl::InvalidArgumentError(absl::StrCat(
      "expected device dimensions from 1, of at most ", kMaxDevices, " devices together; got [",
      absl::StrJoin(dims.first(std::min(dims.size(), kShown)), ","),
      dims.size() > kShown ? ",...]" : "]"));
}

bool IsPermutation(absl::Span<const int64_t> values) {
  std::vector<bool> seen(values.size());
  for (int64_t value : values) {
    if (value < 0 || value >= static_cast<int64_t>(values.size()) || seen[value]) return false;
    seen[value] = true;
  }
  return true;
}

}  // namespace

std::optional<int64_t> BoundedProduct(absl::Span<const int64_t> dims, int64_t limit) {
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim < 1 || dim > limit / product) return std::nullopt;
    product *= dim;
  }
  return product;
}

absl::Status CheckTiles(absl::Span<const int64_t> tiles, int64_t devices) {
  const std::optional<int64_t> expected = BoundedProduct(tiles, kMaxDevices);
  if (!expected) return BadDimensions(tiles);
  if (*expected == devices) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", *expected, " devices for the tiles, got ", devices));
}

absl::Status CheckIotaTiles(absl::Span<const int64_t> tiles, absl::Span<const int64_t> dims,
                            absl::Span<const int64_t> permutation) {
  const std::optional<int64_t> expected = BoundedProduct(tiles, kMaxDevices);
  if (!expected) return BadDimensions(tiles);
  const std::optional<int64_t> devices = BoundedProduct(dims, kMaxDevices);
  if (!devices) return BadDimensions(dims);
  if (*expected != *devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", *expected, " devices for the tiles, got ", *devices));
  }
  if (permutation.empty() || (permutation.size() == dims.size() && IsPermutation(permutation))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected T(...) to have each of 0 to ", dims.size() - 1, " once"));
}

}  // namespace hlograph
