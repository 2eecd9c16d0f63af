#include "hlograph/native/kernels/trees.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hlograph {

Trees::Trees(std::vector<Branch> branches, std::vector<double> leaves, std::vector<int32_t> roots,
             int64_t features)
    : branches_(std::move(branches)),
      leaves_(std::move(leaves)),
      roots_(std::move(roots)),
      features_(features) {
  const auto size = static_cast<int64_t>(branches_.size());
  const auto count = static_cast<int64_t>(leaves_.size());
  const auto is_node = [&](int64_t node, int64_t after) {
    return node >= 0 ? node > after && node < size : ~node < count;
  };
  for (int64_t n = 0; n < size; ++n) {
    const Branch& branch = branches_[n];
    if (!is_node(branch.left, n) || !is_node(branch.right, n) || branch.feature < 0 ||
        branch.feature >= features) {
      throw std::invalid_argument("a branch of a tree leads nowhere");
    }
  }
  if (!std::all_of(roots_.begin(), roots_.end(), [&](int32_t root) { return is_node(root, -1); })) {
    throw std::invalid_argument("a tree has no root");
  }
}

void Trees::Sum(const double* rows, int64_t count, double* out) const {
  std::fill(out, out + count, 0.0);
  // All rows of a tree one after the other: its branches stay in the cache.
  for (const int32_t root : roots_) {
    for (int64_t n = 0; n < count; ++n) {
      const double* row = rows + n * features_;
      int32_t node = root;
      while (node >= 0) {
        const Branch& branch = branches_[node];
        node = row[branch.feature] <= branch.threshold ? branch.left : branch.right;
      }
      out[n] += leaves_[static_cast<size_t>(~node)];
    }
  }
}

}  // namespace hlograph
