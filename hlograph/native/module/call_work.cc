#include "hlograph/native/module/call_work.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/module/instruction_work.h"
#include "hlograph/native/module/operand_sizes.h"
#include "hlograph/native/module/work.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

using Instruction = xla::HloInstruction;

// Decompositions of matrices, and solutions of systems: LAPACK's names of them, and about how many
// operations they take for each element and each row of the smaller side.
double OperationsOf(absl::string_view target) {
  constexpr std::pair<absl::string_view, double> kOperations[] = {
      {"potrf", 0.5}, {"getrf", 0.75}, {"geqrf", 1.5}, {"orgqr", 1.5}, {"ungqr", 1.5},
      {"syevd", 9},   {"heevd", 9},    {"gesdd", 20},  {"gesvd", 20},  {"geev", 25},
      {"trsm", 1},    {"gees", 25},    {"gehrd", 3},   {"sytrd", 1.5},
  };
  for (const auto& [name, operations] : kOperations) {
    if (absl::StrContains(target, name)) return operations;
  }
  return 0;
}

// Adds the work of a routine that takes so many operations.
void AddMatrices(const Instruction* instruction, double operations, Work& work) {
  const xla::Shape& shape = OperandShape(instruction, 0);
  const int64_t rank = shape.IsArray() ? shape.dimensions().size() : 0;
  const double rows = Dimension(shape, rank - 2), columns = Dimension(shape, rank - 1);
  double elements = Weighed(shape);
  if (instruction->operand_count() > 1) {
    elements = std::max(elements, Weighed(OperandShape(instruction, 1)));
  }
  work.Add(Feature::kMatrices, std::ceil(Elements(shape) / std::max(1.0, rows * columns)));
  work.Add(Feature::kMatrixFlops, operations * elements * std::min(rows, columns));
}

// The value of an attribute of a native kernel's call, in MLIR's text, and all that follows it.
absl::string_view TextFrom(const Instruction* call, absl::string_view attribute) {
  const absl::string_view text = call->raw_backend_config_string();
  const size_t begin = text.find(attribute);
  return begin == absl::string_view::npos ? absl::string_view()
                                          : text.substr(begin + attribute.size());
}

std::vector<int64_t> DimensionsOf(const Instruction* call) {
  const absl::string_view text = TextFrom(call, "dimensions = array<i64: ");
  std::vector<int64_t> dimensions;
  for (const absl::string_view number : absl::StrSplit(text.substr(0, text.find('>')), ',')) {
    int64_t dimension;
    if (absl::SimpleAtoi(number, &dimension)) dimensions.push_back(dimension);
  }
  return dimensions;
}

int64_t NumberOf(const Instruction* call, absl::string_view attribute) {
  const absl::string_view text = TextFrom(call, attribute);
  int64_t number;
  return absl::SimpleAtoi(text.substr(0, text.find(' ')), &number) ? number : 0;
}

// What an element of a function of rows costs; kCount for what moves rows alone.
Feature FeatureOf(absl::string_view function) {
  constexpr absl::string_view kMoved[] = {"carried", "read",        "constant", "dot",
                                          "slice",   "concatenate", "carry",    "write"};
  if (std::find(std::begin(kMoved), std::end(kMoved), function) != std::end(kMoved)) {
    return Feature::kCount;
  }
  if (function == "tanh") return Feature::kTanhElements;
  if (function == "exponential" || function == "logistic") return Feature::kExponentialElements;
  if (function == "divide") return Feature::kDivideElements;
  return absl::EndsWith(function, "sqrt") ? Feature::kSquareRootElements : Feature::kCheapElements;
}

// All iterations of a recurrence, whose program custom_calls/recurrence_program.h describes.
void AddRecurrence(const Instruction* call, Work& work) {
  const double rows = NumberOf(call, "rows = ") * static_cast<double>(NumberOf(call, "steps = "));
  const absl::string_view program = TextFrom(call, "program = \"");
  std::vector<double> columns;
  for (const absl::string_view statement :
       absl::StrSplit(program.substr(0, program.find('"')), ';', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(statement, ' ', absl::SkipEmpty());
    int64_t number, value;
    if (words.size() < 2 || !absl::SimpleAtoi(words[1], &number)) return;
    columns.push_back(static_cast<double>(number));
    const double elements = rows * columns.back();
    if (words[0] == "dot") {
      if (words.size() < 3 || !absl::SimpleAtoi(words[2], &value) || value < 0 ||
          value >= static_cast<int64_t>(columns.size())) {
        return;
      }
      work.Add(Feature::kDotFlops, 2 * elements * columns[value]);
    } else if (const Feature feature = FeatureOf(words[0]); feature != Feature::kCount) {
      work.Add(feature, elements);
    }
  }
}

// A native kernel: those that sort compare integers, many at once, convolutions and recurrences are
// products of matrices, and transforms take half as long as XLA's.
void AddNativeKernel(const Instruction* call, Work& work) {
  constexpr double kVectorized = 1.0 / 8;
  const std::string& target = call->custom_call_target();
  AddKernel(call, Feature::kKernels, work);
  if (absl::StrContains(target, "sort")) {
    const xla::Shape& keys = OperandShape(call, 0);
    const int64_t last = keys.IsArray() ? keys.dimensions().size() - 1 : 0;
    work.Add(Feature::kIntegerComparisons,
             kVectorized * Elements(keys) * Logarithm(Dimension(keys, last)));
  } else if (absl::StrContains(target, "convolution") && call->operand_count() == 2 &&
             call->shape().IsArray()) {
    const double features = Dimension(call->shape(), call->shape().dimensions().size() - 1);
    const double depth = Elements(OperandShape(call, 1)) / std::max(features, 1.0);
    work.Add(Feature::kDotFlops, 2 * Weighed(call->shape()) * depth);
  } else if (absl::StrContains(target, "fourier") && call->shape().IsArray()) {
    const double size = Product(call->shape(), DimensionsOf(call));
    const double elements = std::max(Weighed(OperandShape(call, 0)), Weighed(call->shape()));
    work.Add(Feature::kTransformOperations, 0.5 * elements * Logarithm(size));
  } else if (absl::StrContains(target, "recurrence")) {
    AddRecurrence(call, work);
  }
}

}  // namespace

void AddMatrices(const Instruction* instruction, absl::string_view routine, Work& work) {
  AddMatrices(instruction, OperationsOf(routine), work);
}

// Those that are found go through a heap. Only floats have a kernel of their own: other numbers are
// sorted.
void AddTopK(const Instruction* instruction, Work& work) {
  const xla::Shape& operand = OperandShape(instruction, 0);
  const xla::Shape& result = instruction->shape();
  const int64_t last = operand.IsArray() ? operand.dimensions().size() - 1 : 0;
  const double found = Elements(result) / (result.IsTuple() ? result.tuple_shapes().size() : 1);
  AddKernel(instruction, Feature::kKernels, work);
  work.Add(Feature::kTopKElements, Weighed(operand));
  work.Add(Feature::kComparisons,
           (IsFloat(operand) ? found : Elements(operand)) * Logarithm(Dimension(operand, last)));
}

void AddCustomCall(const Instruction* call, Work& work) {
  const std::string& target = call->custom_call_target();
  if (absl::StartsWith(target, "hlograph.kernel.") && call->operand_count() > 0) {
    AddNativeKernel(call, work);
  } else if (const double operations = OperationsOf(target);
             operations > 0 && call->operand_count() > 0) {
    AddMatrices(call, operations, work);
  } else if (absl::StrContains(target, "TopK") && call->operand_count() > 0) {
    AddTopK(call, work);
  } else {
    AddKernel(call, Feature::kKernels, work);
  }
}

}  // namespace hlograph
