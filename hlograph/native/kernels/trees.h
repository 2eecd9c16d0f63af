// Decision trees whose leaves are added up, as gradient boosting grows them. Knows neither XLA nor
// Python.
#ifndef HLOGRAPH_NATIVE_KERNELS_TREES_H_
#define HLOGRAPH_NATIVE_KERNELS_TREES_H_

#include <cstdint>
#include <vector>

namespace hlograph {

// A branch goes left where a feature is at most its threshold. Children, and roots, are numbers of
// branches, or ~n for the leaf n; a child comes after its parent.
struct Branch {
  double threshold;
  int32_t feature;
  int32_t left;
  int32_t right;
};

class Trees {
 public:
  // Throws std::invalid_argument unless all numbers are those of branches, leaves and `features`
  // features.
  Trees(std::vector<Branch> branches, std::vector<double> leaves, std::vector<int32_t> roots,
        int64_t features);

  int64_t features() const { return features_; }
  // Writes out [count], the sums of the leaves for rows [count, features].
  void Sum(const double* rows, int64_t count, double* out) const;

 private:
  std::vector<Branch> branches_;
  std::vector<double> leaves_;
  std::vector<int32_t> roots_;
  int64_t features_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_KERNELS_TREES_H_
