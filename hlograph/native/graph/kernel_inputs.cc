#include "hlograph/native/graph/kernel_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/graph/features.h"
#include "hlograph/native/graph/graph.h"
#include "hlograph/native/module/cost.h"
#include "hlograph/native/module/work.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

// In the order of NUMBERS in hlograph/profiling/kernel_inputs.py.
enum class Number : size_t {
  kLogFlops,
  kLogBytes,
  kLogTranscendentals,
  kLogPredicted,
  kLogPartitions,
  kLogTrips,
  kLogInstructions,
  kIsControl,
  kLoopFusion,
  kOutputFusion,
  kInputFusion,
  kCustomFusion,
  kYnn,
  kOneDnn,
  kSmallCall,
  kLogAlone,
  kWork,
};

constexpr size_t At(Number number) { return static_cast<size_t>(number); }
constexpr size_t kNumbers = At(Number::kWork) + kFeatures;

// LEAST_SECONDS of hlograph/profiling/kernel_seconds.py.
constexpr double kLeastSeconds = 1e-7;
constexpr double kLayoutScale = 1.0 / 16;
constexpr double kWorkScale = 1.0 / 8;

void WriteLayout(const xla::Shape& shape, float* row) {
  row[0] = 1;
  row[1] = 0;
  if (!shape.IsArray() || shape.dimensions().empty()) return;
  const absl::Span<const int64_t> dims = shape.dimensions();
  const size_t rank = dims.size();
  size_t minor = 0;
  if (shape.has_layout() && shape.layout().minor_to_major().size() == rank) {
    const absl::Span<const int64_t> order = shape.layout().minor_to_major();
    minor = order[0];
    for (size_t i = 0; i < rank; ++i) {
      if (order[i] != static_cast<int64_t>(rank - 1 - i)) row[0] = 0;
    }
  } else {
    row[0] = 0;
  }
  const double size = static_cast<double>(std::max<int64_t>(dims[minor], 0));
  row[1] = static_cast<float>(std::log2(1 + size) * kLayoutScale);
}

void WriteLayouts(const Graph& graph, GraphFeatures& features) {
  float* row = features.nodes.get() + kNodeFeatures;
  for (const xla::HloInstruction* instruction : graph.instructions) {
    WriteLayout(instruction->shape(), row);
    row += features.columns;
  }
  for (const xla::HloComputation* computation : graph.computations) {
    WriteLayout(computation->root_instruction()->shape(), row);
    row += features.columns;
  }
}

// Returns what stands behind a key in a text; nothing if the key is not in it.
absl::string_view Behind(absl::string_view text, absl::string_view key) {
  const size_t at = text.find(key);
  return at == absl::string_view::npos ? absl::string_view() : text.substr(at + key.size());
}

// The number that a text begins with.
double LeadingNumber(absl::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(text[digits])) ++digits;
  double number = 0;
  return absl::SimpleAtod(text.substr(0, digits), &number) ? number : 0;
}

// The parts that threads compute, as in "outer_dimension_partitions":["4","2"].
double Partitions(absl::string_view text) {
  absl::string_view list = Behind(text, "\"outer_dimension_partitions\":[");
  list = list.substr(0, list.find(']'));
  double parts = 1;
  for (size_t i = 0; i < list.size(); ++i) {
    const bool begins =
        absl::ascii_isdigit(list[i]) && (i == 0 || !absl::ascii_isdigit(list[i - 1]));
    if (begins) parts *= LeadingNumber(list.substr(i));
  }
  return parts;
}

// The most iterations of a loop that XLA has found out.
double Trips(absl::string_view text) {
  double most = 1;
  while (!(text = Behind(text, "\"known_trip_count\":{\"n\":\"")).empty()) {
    most = std::max(most, LeadingNumber(text));
  }
  return most;
}

Number NumberOf(xla::HloInstruction::FusionKind kind) {
  switch (kind) {
    case xla::HloInstruction::FusionKind::kLoop:
      return Number::kLoopFusion;
    case xla::HloInstruction::FusionKind::kOutput:
      return Number::kOutputFusion;
    case xla::HloInstruction::FusionKind::kInput:
      return Number::kInputFusion;
    case xla::HloInstruction::FusionKind::kCustom:
      break;
  }
  return Number::kCustomFusion;
}

// Writes the kind of the first fusion that is the root of a computation.
void WriteFusionKind(const xla::HloModule& module, float* numbers) {
  for (const xla::HloComputation* computation : module.computations()) {
    const xla::HloInstruction* root = computation->root_instruction();
    if (root->opcode() != xla::HloOpcode::kFusion) continue;
    numbers[At(NumberOf(root->fusion_kind()))] = 1;
    return;
  }
}

void WriteWork(const xla::HloModule& module, absl::Span<const double> rates, float* numbers) {
  double seconds = 0;
  for (const auto& [feature, amount] : WorkOf(module).NotZero()) {
    seconds += amount * rates[feature];
    numbers[At(Number::kWork) + feature] = kWorkScale * std::log1p(amount);
  }
  seconds = std::max(seconds, kLeastSeconds);
  const double call = rates[static_cast<size_t>(Feature::kProgram)];
  numbers[At(Number::kLogPredicted)] = std::log(seconds);
  numbers[At(Number::kLogAlone)] = std::log(std::max(seconds - call, kLeastSeconds));
}

absl::StatusOr<std::vector<float>> NumbersOf(const xla::HloModule& module, absl::string_view text,
                                             absl::Span<const double> rates) {
  const absl::StatusOr<Cost> cost = AnalyzeCost(module);
  if (!cost.ok()) return cost.status();
  const auto log_of = [](double amount) {
    return static_cast<float>(std::log1p(std::max(amount, 0.0)));
  };
  std::vector<float> numbers(kNumbers);
  numbers[At(Number::kLogFlops)] = log_of(cost->flops);
  numbers[At(Number::kLogBytes)] = log_of(cost->bytes_accessed);
  numbers[At(Number::kLogTranscendentals)] = log_of(cost->transcendentals);
  numbers[At(Number::kLogPartitions)] = std::log(Partitions(text));
  numbers[At(Number::kLogTrips)] = std::log(Trips(text));
  numbers[At(Number::kLogInstructions)] = log_of(module.instruction_count());
  numbers[At(Number::kYnn)] = absl::StrContains(text, "\"__ynn_fusion\"");
  numbers[At(Number::kOneDnn)] = absl::StrContains(text, "\"__onednn_fusion\"");
  numbers[At(Number::kSmallCall)] = absl::StrContains(text, "xla_cpu_small_call");
  WriteFusionKind(module, numbers.data());
  WriteWork(module, rates, numbers.data());
  return numbers;
}

}  // namespace

absl::StatusOr<KernelInputs> KernelInputsOf(const xla::HloModule& module, absl::string_view text,
                                            absl::Span<const double> rates,
                                            const OwnHashes& own_hashes, FactsTable& table) {
  absl::StatusOr<std::vector<float>> numbers = NumbersOf(module, text, rates);
  if (!numbers.ok()) return numbers.status();
  const Graph graph = BuildGraph(module, own_hashes, table);
  KernelInputs inputs = {FeaturesOf(graph, kLayoutFeatures), *std::move(numbers)};
  WriteLayouts(graph, inputs.graph);
  return inputs;
}

KernelInputs ControlInputs() {
  KernelInputs inputs;
  inputs.graph.num_nodes = 1;
  inputs.graph.columns = kNodeFeatures + kLayoutFeatures;
  inputs.graph.nodes = std::make_unique<float[]>(inputs.graph.columns);
  inputs.numbers.resize(kNumbers);
  inputs.numbers[At(Number::kIsControl)] = 1;
  for (const Number number : {Number::kLogPredicted, Number::kLogAlone}) {
    inputs.numbers[At(number)] = std::log(kLeastSeconds);
  }
  return inputs;
}

KernelBatch::KernelBatch(const std::vector<KernelInputs>& kernels) : first_node(1, 0) {
  GraphFeatures& all = joined.graph;
  all.columns = kNodeFeatures + kLayoutFeatures;
  for (const KernelInputs& kernel : kernels) {
    all.num_nodes += kernel.graph.num_nodes;
    all.num_edges += kernel.graph.num_edges;
    first_node.push_back(all.num_nodes);
  }
  all.nodes.reset(new float[all.num_nodes * all.columns]);
  all.edges.reset(new float[all.num_edges * kEdgeFeatures]);
  all.links.reset(new int64_t[2 * all.num_edges]);
  joined.numbers.reserve(kernels.size() * kNumbers);
  float* node = all.nodes.get();
  float* edge = all.edges.get();
  int64_t* link = all.links.get();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const GraphFeatures& graph = kernels[i].graph;
    node = std::copy_n(graph.nodes.get(), graph.num_nodes * graph.columns, node);
    edge = std::copy_n(graph.edges.get(), graph.num_edges * kEdgeFeatures, edge);
    for (size_t e = 0; e < graph.num_edges; ++e, ++link) {
      link[0] = first_node[i] + graph.links[e];
      link[all.num_edges] = first_node[i] + graph.links[graph.num_edges + e];
    }
    joined.numbers.insert(joined.numbers.end(), kernels[i].numbers.begin(),
                          kernels[i].numbers.end());
  }
}

}  // namespace hlograph
