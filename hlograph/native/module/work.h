// The work of a module on XLA:CPU, as amounts of features whose rates per unit are measured.
//
// The features are those that the time of a kernel grows with: operations of a dot, comparisons of
// a sort, updates of a scatter. XLA fuses elementwise operations, so these count their elements and
// no bytes. Every amount is a sum over instructions, each times the number of its runs; so the work
// of a changed module differs by the work of what was added minus that of what was removed.
#ifndef HLOGRAPH_NATIVE_MODULE_WORK_H_
#define HLOGRAPH_NATIVE_MODULE_WORK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {
class HloComputation;
class HloInstruction;
class HloModule;
}  // namespace xla

namespace hlograph {

// Elements are of four bytes: one of eight counts twice. Flops of a kind are those of its dots or
// convolutions alone.
enum class Feature : uint8_t {
  kProgram,  // 1
  kArgumentBytes,
  kResultBytes,
  kKernels,      // instructions that XLA:CPU runs as a kernel of their own, without those below
  kElementwise,  // elementwise instructions on arrays
  kDots,
  kTinyDots,  // with at most 64 elements each, as those of loops over small states
  kDotFlops,
  kDotElements,     // of operands and result
  kBatchedDots,     // the products of a batch
  kBatchedVectors,  // those of them that have one row or column
  kBatchedDotFlops,
  kThinDotFlops,  // one dimension is small
  kMatrixVectorElements,
  kOtherDotFlops,  // integers and complex numbers
  kConvolutions,
  kConvolutionFlops,
  kThinConvolutionFlops,  // of few channels to few
  kWideConvolutionFlops,  // a large window, as in gradients of weights
  kConvolutionElements,
  kDilatedConvolutionFlops,        // of an input with gaps, as in gradients of strided ones
  kWindowDilatedConvolutionFlops,  // of a kernel with gaps
  kBatchGroupedConvolutionFlops,   // gradients of grouped kernels
  kDepthwiseConvolutionFlops,
  kGroupedConvolutionFlops,
  kConvolutionGroups,
  kOtherConvolutionFlops,  // those for which XLA:CPU has no library call
  kSorts,
  kComparisons,         // of sorts: the elements times the logarithm of a line's length
  kIntegerComparisons,  // of one array of integers
  kSortedElements,
  kStridedSortedElements,  // along another dimension than the last one
  kTopKElements,
  kGatheredSlices,
  kGatheredElements,
  kScatteredSlices,
  kScatteredElements,
  kReducedElements,
  kShallowReducedElements,  // few elements for each of many results
  kNarrowReducedElements,   // the last dimension is short, and kept
  kMinorReducedElements,    // the last dimension is reduced
  kShortReducedElements,    // it alone, and it is short
  kVariadicReducedElements,
  kWindowElements,          // of reduce-window: results times the size of a window
  kSelectedWindowElements,  // of select-and-scatter
  kCheapElements,
  kExponentialElements,
  kLogarithmElements,
  kTanhElements,
  kErfElements,
  kPowerElements,
  kTrigonometricElements,
  kDivideElements,
  kIntegerDivideElements,
  kSquareRootElements,
  kOtherCostlyElements,
  kTransposedElements,
  kMovedElements,        // by concatenate, pad, reverse, copy, dynamic slices and their updates
  kTransforms,           // of Fourier, along all their dimensions
  kTransformOperations,  // elements times the logarithm of a transform's size
  kRandomElements,
  kMatrices,  // that are decomposed or solved with
  kMatrixFlops,
  kIterations,       // of loops
  kSmallIterations,  // of loops over a few numbers, which XLA:CPU compiles as one kernel
  kCount,
};

inline constexpr size_t kFeatures = static_cast<size_t>(Feature::kCount);

// Returns the names of all features, in their order.
absl::Span<const absl::string_view> FeatureNames();

// A feature and its amount.
using Amount = std::pair<uint8_t, double>;

// Amounts of all features.
class Work {
 public:
  void Add(Feature feature, double amount) { amounts_[static_cast<size_t>(feature)] += amount; }
  void Add(const Work& work, double times);
  // Returns the amounts that are not zero, times a factor.
  std::vector<Amount> NotZero(double times = 1) const;

 private:
  std::array<double, kFeatures> amounts_{};
};

// Counts the work of instructions, with that of the computations they call. What it is asked for
// must not change meanwhile: the work of a computation is remembered.
class WorkCounter {
 public:
  // Returns the work of one run of an instruction.
  Work Of(const xla::HloInstruction* instruction);
  // Returns how often a computation runs in one run of its module. Zero for the computations that a
  // reduction or the like applies to elements, whose work the reduction has.
  double Runs(const xla::HloComputation* computation);

 private:
  struct Total {
    Work work;
    double elements = 0;  // of all results
  };

  void AddCalled(const xla::HloInstruction* caller, Work& work);
  const Total& Of(const xla::HloComputation* computation);

  absl::flat_hash_map<const xla::HloComputation*, Total> totals_;
  absl::flat_hash_map<const xla::HloComputation*, double> runs_;
};

// Returns the work of one run of a module.
Work WorkOf(const xla::HloModule& module);

// Returns the trip count of a loop that XLA has found out, or that counts to a constant, as loops
// of JAX do; a guess for other loops.
double TripCount(const xla::HloInstruction* loop);

// The number of iterations of a loop that counts from a constant to a constant by a constant; of
// other loops nothing. What is written into the loop's configuration is not asked.
std::optional<double> ConstantTripCount(const xla::HloInstruction* loop);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_MODULE_WORK_H_
