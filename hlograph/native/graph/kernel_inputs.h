// What a learned cost model sees of a kernel: its graph with layouts, and numbers about it.
#ifndef HLOGRAPH_NATIVE_GRAPH_KERNEL_INPUTS_H_
#define HLOGRAPH_NATIVE_GRAPH_KERNEL_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/features.h"

namespace xla {
class HloModule;
}  // namespace xla

namespace hlograph {

class FactsTable;
class OwnHashes;

// Columns of nodes beyond kNodeFeatures: whether the layout is row-major, and the logarithm of the
// size of the minor dimension.
inline constexpr size_t kLayoutFeatures = 2;

struct KernelInputs {
  GraphFeatures graph;         // with kLayoutFeatures further columns
  std::vector<float> numbers;  // NUMBERS of hlograph/profiling/kernel_inputs.py, then all of work
};

// The kernel as a module, the text that it was parsed from, and the seconds of one unit of each
// feature of work. The other arguments are those of BuildGraph.
absl::StatusOr<KernelInputs> KernelInputsOf(const xla::HloModule& module, absl::string_view text,
                                            absl::Span<const double> rates,
                                            const OwnHashes& own_hashes, FactsTable& table);

// Those of a loop or branch whose computations have kernels of their own: one node of zeros.
KernelInputs ControlInputs();

// Kernels one behind the other: as one graph without edges from one to another, and their numbers.
struct KernelBatch {
  explicit KernelBatch(const std::vector<KernelInputs>& kernels);

  KernelInputs joined;
  std::vector<int64_t> first_node;  // by kernel, and then the number of all nodes
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_GRAPH_KERNEL_INPUTS_H_
