#include "hlograph/native/module/instruction_work.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hlograph/native/module/call_work.h"
#include "hlograph/native/module/operand_sizes.h"
#include "hlograph/native/module/work.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Modules need not be valid HLO, so these functions check operands and dimension numbers.
namespace hlograph {
namespace {

using Instruction = xla::HloInstruction;
using Opcode = xla::HloOpcode;

// XLA:CPU computes with fewer numbers where it needs them.
constexpr double kTiny = 64;

// Adds the elements of a result of the size of an instruction's, made by a kernel of its own.
void AddResult(const Instruction* instruction, Feature feature, Work& work) {
  AddKernel(instruction, Feature::kKernels, work);
  work.Add(feature, Weighed(instruction->shape()));
}

void AddElementwise(const Instruction* instruction, Feature feature, Work& work) {
  const double elements = Weighed(instruction->shape());
  if (elements > kTiny) work.Add(Feature::kElementwise, 1);
  work.Add(feature, elements);
}

void AddDot(const Instruction* dot, Work& work) {
  constexpr double kThin = 8;
  const xla::Shape& lhs = OperandShape(dot, 0);
  const xla::Shape& rhs = OperandShape(dot, 1);
  const auto& numbers = dot->dot_dimension_numbers();
  const double batch = std::max(1.0, Product(lhs, numbers.lhs_batch_dimensions()));
  const double depth = std::max(1.0, Product(lhs, numbers.lhs_contracting_dimensions()));
  const double rows = Elements(lhs) / (batch * depth);
  const double columns = Elements(rhs) / (batch * depth);
  const double flops = 2 * batch * rows * columns * depth * Weight(dot->shape());
  const double elements = Weighed(lhs) + Weighed(rhs) + Weighed(dot->shape());
  AddKernel(dot, Feature::kDots, work);
  if (elements <= 3 * kTiny) work.Add(Feature::kTinyDots, 1);
  if (!IsFloat(dot->shape())) {
    work.Add(Feature::kOtherDotFlops, flops);
  } else if (rows == 1 || columns == 1) {
    work.Add(Feature::kMatrixVectorElements, elements);
  } else if (std::min({rows, columns, depth}) < kThin) {
    work.Add(Feature::kThinDotFlops, flops);
  } else {
    work.Add(Feature::kDotElements, elements);
    work.Add(batch > 1 ? Feature::kBatchedDotFlops : Feature::kDotFlops, flops);
  }
  if (batch > 1) {
    const bool vectors = rows == 1 || columns == 1;
    work.Add(vectors ? Feature::kBatchedVectors : Feature::kBatchedDots, batch);
  }
}

Feature KindOfConvolution(const Instruction* convolution, double inputs, double taps,
                          double outputs) {
  constexpr double kThin = 8, kWide = 64;
  const auto& window = convolution->window().dimensions();
  const auto any = [&](auto holds) { return std::any_of(window.begin(), window.end(), holds); };
  const bool single =
      convolution->shape().element_type() != xla::F64 && IsFloat(convolution->shape());
  if (!single || any([](const auto& one) { return one.window_reversal(); })) {
    return Feature::kOtherConvolutionFlops;
  }
  if (convolution->batch_group_count() > 1) return Feature::kBatchGroupedConvolutionFlops;
  if (convolution->feature_group_count() > 1) {
    return inputs == 1 ? Feature::kDepthwiseConvolutionFlops : Feature::kGroupedConvolutionFlops;
  }
  if (any([](const auto& one) { return one.base_dilation() > 1; })) {
    return taps >= kWide ? Feature::kOtherConvolutionFlops : Feature::kDilatedConvolutionFlops;
  }
  if (any([](const auto& one) { return one.window_dilation() > 1; })) {
    return Feature::kWindowDilatedConvolutionFlops;
  }
  if (taps >= kWide) return Feature::kWideConvolutionFlops;
  return std::max(inputs, outputs) < kThin ? Feature::kThinConvolutionFlops
                                           : Feature::kConvolutionFlops;
}

void AddConvolution(const Instruction* convolution, Work& work) {
  const xla::Shape& kernel = OperandShape(convolution, 1);
  const auto& numbers = convolution->convolution_dimension_numbers();
  const double inputs = Dimension(kernel, numbers.kernel_input_feature_dimension());
  const double taps = Product(kernel, numbers.kernel_spatial_dimensions());
  // Of the products of a batch group only one in as many is computed for a result.
  const double groups = std::max<int64_t>(convolution->batch_group_count(), 1);
  const double outputs = Weighed(convolution->shape());
  AddKernel(convolution, Feature::kConvolutions, work);
  work.Add(KindOfConvolution(convolution, inputs, taps,
                             Dimension(kernel, numbers.kernel_output_feature_dimension())),
           2 * outputs * taps * inputs);
  work.Add(Feature::kConvolutionElements,
           outputs + Weighed(OperandShape(convolution, 0)) + Weighed(kernel));
  const double all = groups * std::max<int64_t>(convolution->feature_group_count(), 1);
  if (all > 1) work.Add(Feature::kConvolutionGroups, all);
}

// XLA:CPU calls a library for arrays of numbers that are compared as they are.
bool ComparesIntegers(const Instruction* sort) {
  const xla::HloComputation* comparator = sort->to_apply();
  const Instruction* root = comparator->root_instruction();
  return sort->operand_count() == 1 && root->opcode() == Opcode::kCompare &&
         comparator->instruction_count() == 3 && root->operand_count() == 2 &&
         !IsFloat(OperandShape(root, 0));
}

void AddSort(const Instruction* sort, Work& work) {
  const xla::Shape& keys = OperandShape(sort, 0);
  const int64_t dimension = sort->dimensions().empty() ? 0 : sort->dimensions(0);
  const double elements = Elements(keys) * sort->operand_count();
  AddKernel(sort, Feature::kSorts, work);
  work.Add(ComparesIntegers(sort) ? Feature::kIntegerComparisons : Feature::kComparisons,
           Elements(keys) * Logarithm(Dimension(keys, dimension)));
  work.Add(Feature::kSortedElements, elements);
  const int64_t rank = keys.IsArray() ? keys.dimensions().size() : 0;
  if (dimension + 1 < rank) work.Add(Feature::kStridedSortedElements, elements);
}

void AddGather(const Instruction* gather, Work& work) {
  double slice = 1;
  for (int64_t size : gather->gather_slice_sizes()) slice *= std::max<int64_t>(size, 1);
  AddKernel(Elements(gather->shape()), work);
  work.Add(Feature::kGatheredSlices, std::ceil(Elements(gather->shape()) / slice));
  work.Add(Feature::kGatheredElements, Weighed(gather->shape()));
}

void AddScatter(const Instruction* scatter, Work& work) {
  const int64_t arrays = (scatter->operand_count() - 1) / 2;
  const auto& numbers = scatter->scatter_dimension_numbers();
  const xla::Shape& updates = OperandShape(scatter, scatter->operand_count() - 1);
  const double slice = std::max(1.0, Product(updates, numbers.update_window_dims()));
  AddKernel(Elements(updates), work);
  work.Add(Feature::kScatteredSlices, std::ceil(Elements(updates) / slice));
  work.Add(Feature::kScatteredElements, arrays * Weighed(updates));
}

Feature KindOfReduction(const Instruction* reduction) {
  constexpr double kShallow = 128, kMany = 1 << 15, kShort = 16, kNarrow = 8;
  const xla::Shape& operand = OperandShape(reduction, 0);
  const int64_t last = operand.IsArray() ? operand.dimensions().size() - 1 : 0;
  const auto& dimensions = reduction->dimensions();
  const bool minor = std::find(dimensions.begin(), dimensions.end(), last) != dimensions.end();
  const double depth = Product(operand, dimensions);
  if (reduction->operand_count() > 2) return Feature::kVariadicReducedElements;
  if (minor) {
    return depth <= kShort ? Feature::kShortReducedElements : Feature::kMinorReducedElements;
  }
  if (Dimension(operand, last) < kNarrow) return Feature::kNarrowReducedElements;
  return depth < kShallow && Elements(reduction->shape()) >= kMany
             ? Feature::kShallowReducedElements
             : Feature::kReducedElements;
}

void AddReduction(const Instruction* reduction, Work& work) {
  AddKernel(reduction, Feature::kKernels, work);
  work.Add(KindOfReduction(reduction), Weighed(OperandShape(reduction, 0)));
}

// The numbers that are combined for a result of reduce-window. XLA sums large windows, such as
// those of a cumulative sum, in steps that windows share.
double WindowWork(const Instruction* instruction) {
  constexpr double kLarge = 32;
  double work = 1;
  for (const auto& one : instruction->window().dimensions()) {
    const double size = std::max<int64_t>(one.size(), 1);
    work *= size < kLarge ? size : 2 * Logarithm(size);
  }
  return work;
}

void AddWindows(const Instruction* instruction, Feature feature, const xla::Shape& windows,
                Work& work) {
  AddKernel(instruction, Feature::kKernels, work);
  work.Add(feature, WindowWork(instruction) * Weighed(windows));
}

void AddTransform(const Instruction* fft, Work& work) {
  double size = 1;
  for (int64_t length : fft->fft_length()) size *= std::max<int64_t>(length, 1);
  const double elements = std::max(Weighed(OperandShape(fft, 0)), Weighed(fft->shape()));
  AddKernel(fft, Feature::kKernels, work);
  work.Add(Feature::kTransforms, std::ceil(elements / (2 * size)));
  work.Add(Feature::kTransformOperations, elements * Logarithm(size));
}

// What an elementwise operation costs for each element; kCount for other instructions.
Feature ElementwiseFeature(const Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kAbs:
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kBitcastConvert:
    case Opcode::kCeil:
    case Opcode::kClamp:
    case Opcode::kClz:
    case Opcode::kCompare:
    case Opcode::kComplex:
    case Opcode::kConvert:
    case Opcode::kFloor:
    case Opcode::kImag:
    case Opcode::kIsFinite:
    case Opcode::kMap:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMultiply:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kOr:
    case Opcode::kPopulationCount:
    case Opcode::kReal:
    case Opcode::kReducePrecision:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kSelect:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kSign:
    case Opcode::kStochasticConvert:
    case Opcode::kSubtract:
    case Opcode::kXor:
      return Feature::kCheapElements;
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kLogistic:
      return Feature::kExponentialElements;
    case Opcode::kLog:
    case Opcode::kLog1p:
      return Feature::kLogarithmElements;
    case Opcode::kTanh:
      return Feature::kTanhElements;
    case Opcode::kErf:
      return Feature::kErfElements;
    case Opcode::kPower:
      return Feature::kPowerElements;
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kTan:
      return Feature::kTrigonometricElements;
    case Opcode::kDivide:
      return IsFloat(instruction->shape()) ? Feature::kDivideElements
                                           : Feature::kIntegerDivideElements;
    case Opcode::kRemainder:
      return IsFloat(instruction->shape()) ? Feature::kOtherCostlyElements
                                           : Feature::kIntegerDivideElements;
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
      return Feature::kSquareRootElements;
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtan2:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCosh:
    case Opcode::kSinh:
      return Feature::kOtherCostlyElements;
    default:
      return Feature::kCount;
  }
}

// Adds the work of an instruction with operands that is not elementwise.
void AddOther(const Instruction* instruction, Work& work) {
  switch (instruction->opcode()) {
    case Opcode::kDot:
      return instruction->operand_count() >= 2 ? AddDot(instruction, work) : void();
    case Opcode::kConvolution:
      return instruction->operand_count() >= 2 ? AddConvolution(instruction, work) : void();
    case Opcode::kSort:
      return AddSort(instruction, work);
    case Opcode::kTopK:
      return AddTopK(instruction, work);
    case Opcode::kGather:
      return AddGather(instruction, work);
    case Opcode::kScatter:
      return AddScatter(instruction, work);
    case Opcode::kReduce:
      return AddReduction(instruction, work);
    case Opcode::kReduceWindow:
      return AddWindows(
          instruction, Feature::kWindowElements,
          instruction->shape().IsArray() ? instruction->shape() : OperandShape(instruction, 0),
          work);
    case Opcode::kSelectAndScatter:
      return AddWindows(instruction, Feature::kSelectedWindowElements,
                        OperandShape(instruction, instruction->operand_count() > 1 ? 1 : 0), work);
    case Opcode::kTranspose:
      return AddResult(instruction, Feature::kTransposedElements, work);
    case Opcode::kConcatenate:
    case Opcode::kCopy:
    case Opcode::kPad:
    case Opcode::kReverse:
      return AddResult(instruction, Feature::kMovedElements, work);
    case Opcode::kDynamicSlice:
      AddKernel(Elements(instruction->shape()), work);
      return work.Add(Feature::kMovedElements, Weighed(instruction->shape()));
    case Opcode::kDynamicUpdateSlice:  // of an operand that it overwrites, as in loops
      if (instruction->operand_count() < 2) return;
      AddKernel(Elements(OperandShape(instruction, 1)), work);
      return work.Add(Feature::kMovedElements, Weighed(OperandShape(instruction, 1)));
    case Opcode::kFft:
      return AddTransform(instruction, work);
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
      AddKernel(instruction, Feature::kKernels, work);
      return work.Add(Feature::kRandomElements, Elements(instruction->shape()));
    case Opcode::kCholesky:
      return AddMatrices(instruction, "potrf", work);
    case Opcode::kTriangularSolve:
      return AddMatrices(instruction, "trsm", work);
    case Opcode::kFusion:
      return AddKernel(instruction, Feature::kKernels, work);
    default:
      return;
  }
}

}  // namespace

void AddKernel(double elements, Work& work) {
  if (elements > kTiny) work.Add(Feature::kKernels, 1);
}

void AddKernel(const Instruction* instruction, Feature feature, Work& work) {
  double elements = Elements(instruction->shape());
  for (const Instruction* operand : instruction->operands()) {
    elements = std::max(elements, Elements(operand->shape()));
  }
  if (elements > kTiny) work.Add(feature, 1);
}

void AddOwnWork(const Instruction* instruction, Work& work) {
  if (instruction->opcode() == Opcode::kCustomCall) return AddCustomCall(instruction, work);
  if (instruction->operand_count() == 0 && instruction->opcode() != Opcode::kRng) return;
  const Feature feature = ElementwiseFeature(instruction);
  if (feature != Feature::kCount) return AddElementwise(instruction, feature, work);
  AddOther(instruction, work);
}

}  // namespace hlograph
