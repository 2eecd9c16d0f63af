#include "hlograph/native/module/work.h"

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlograph/native/module/instruction_work.h"
#include "hlograph/native/module/operand_sizes.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

constexpr absl::string_view kNames[] = {
    "programs",
    "argument_bytes",
    "result_bytes",
    "kernels",
    "elementwise",
    "dots",
    "tiny_dots",
    "dot_flops",
    "dot_elements",
    "batched_dots",
    "batched_vectors",
    "batched_dot_flops",
    "thin_dot_flops",
    "matrix_vector_elements",
    "other_dot_flops",
    "convolutions",
    "convolution_flops",
    "thin_convolution_flops",
    "wide_convolution_flops",
    "convolution_elements",
    "dilated_convolution_flops",
    "window_dilated_convolution_flops",
    "batch_grouped_convolution_flops",
    "depthwise_convolution_flops",
    "grouped_convolution_flops",
    "convolution_groups",
    "other_convolution_flops",
    "sorts",
    "comparisons",
    "integer_comparisons",
    "sorted_elements",
    "strided_sorted_elements",
    "top_k_elements",
    "gathered_slices",
    "gathered_elements",
    "scattered_slices",
    "scattered_elements",
    "reduced_elements",
    "shallow_reduced_elements",
    "narrow_reduced_elements",
    "minor_reduced_elements",
    "short_reduced_elements",
    "variadic_reduced_elements",
    "window_elements",
    "selected_window_elements",
    "cheap_elements",
    "exponential_elements",
    "logarithm_elements",
    "tanh_elements",
    "erf_elements",
    "power_elements",
    "trigonometric_elements",
    "divide_elements",
    "integer_divide_elements",
    "square_root_elements",
    "other_costly_elements",
    "transposed_elements",
    "moved_elements",
    "transforms",
    "transform_operations",
    "random_elements",
    "matrices",
    "matrix_flops",
    "iterations",
    "small_iterations",
};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kFeatures);

// A loop whose results of one iteration together have fewer elements runs as one kernel.
constexpr double kSmallLoop = 256;

// How often an instruction runs the computations that it calls. Of the branches of a conditional
// one runs, and which one is not known.
double RunsOfCalled(const xla::HloInstruction* caller) {
  switch (caller->opcode()) {
    case xla::HloOpcode::kWhile:
      return TripCount(caller);
    case xla::HloOpcode::kCall:
    case xla::HloOpcode::kFusion:
    case xla::HloOpcode::kAsyncStart:
      return 1;
    case xla::HloOpcode::kConditional:
      return 0.5;
    default:
      return 0;
  }
}

}  // namespace

absl::Span<const absl::string_view> FeatureNames() { return kNames; }

void Work::Add(const Work& work, double times) {
  for (size_t feature = 0; feature < kFeatures; ++feature) {
    amounts_[feature] += times * work.amounts_[feature];
  }
}

std::vector<Amount> Work::NotZero(double times) const {
  std::vector<Amount> amounts;
  for (size_t feature = 0; feature < kFeatures; ++feature) {
    if (const double amount = times * amounts_[feature]; amount != 0) {
      amounts.emplace_back(static_cast<uint8_t>(feature), amount);
    }
  }
  return amounts;
}

Work WorkCounter::Of(const xla::HloInstruction* instruction) {
  Work work;
  AddOwnWork(instruction, work);
  AddCalled(instruction, work);
  return work;
}

void WorkCounter::AddCalled(const xla::HloInstruction* caller, Work& work) {
  const double runs = caller->called_computations().empty() ? 0 : RunsOfCalled(caller);
  if (runs == 0) return;
  double elements = 0;
  for (const xla::HloComputation* called : caller->called_computations()) {
    const Total& total = Of(called);
    work.Add(total.work, runs);
    elements += total.elements;
  }
  if (caller->opcode() == xla::HloOpcode::kWhile) {
    work.Add(elements < kSmallLoop ? Feature::kSmallIterations : Feature::kIterations, runs);
  }
}

const WorkCounter::Total& WorkCounter::Of(const xla::HloComputation* computation) {
  if (auto it = totals_.find(computation); it != totals_.end()) return it->second;
  Total total;
  for (const xla::HloInstruction* instruction : computation->instructions()) {
    AddOwnWork(instruction, total.work);
    AddCalled(instruction, total.work);
    total.elements += Elements(instruction->shape());
    if (RunsOfCalled(instruction) == 0) continue;
    for (const xla::HloComputation* called : instruction->called_computations()) {
      total.elements += Of(called).elements;
    }
  }
  return totals_.insert_or_assign(computation, total).first->second;
}

double WorkCounter::Runs(const xla::HloComputation* computation) {
  if (computation->IsEntryComputation()) return 1;
  if (auto it = runs_.find(computation); it != runs_.end()) return it->second;
  double runs = 0;
  for (const xla::HloInstruction* caller : computation->caller_instructions()) {
    if (const double times = RunsOfCalled(caller); times != 0) {
      runs += times * Runs(caller->parent());
    }
  }
  runs_.insert_or_assign(computation, runs);
  return runs;
}

Work WorkOf(const xla::HloModule& module) {
  WorkCounter counter;
  Work work;
  const xla::HloComputation* entry = module.entry_computation();
  for (const xla::HloInstruction* instruction : entry->instructions()) {
    work.Add(counter.Of(instruction), 1);
  }
  work.Add(Feature::kProgram, 1);
  for (const xla::HloInstruction* parameter : entry->parameter_instructions()) {
    work.Add(Feature::kArgumentBytes, Bytes(parameter->shape()));
  }
  work.Add(Feature::kResultBytes, Bytes(entry->root_instruction()->shape()));
  return work;
}

}  // namespace hlograph
