// Loops of recurrent networks as calls of a native kernel.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlograph/native/rewrites/forms/batching.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_body.h"
#include "hlograph/native/rewrites/forms/loop_forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kSmallestMatrix = 1 << 6;  // of a dot for each row
constexpr int64_t kLargestKnown = 1 << 25;   // elements, of what is computed for all iterations
constexpr int64_t kMostStatements = 512;

bool IsOf(const Instruction* array, xla::PrimitiveType type) {
  return array->shape().IsArray() && array->shape().element_type() == type;
}

// The loop as statements of the kernel's program, and what their arguments are.
struct Recurrence {
  int64_t rows = 0;
  bool reversed = false;
  std::vector<std::string> statements;
  std::vector<int64_t> carried;               // elements, which are the first arguments
  std::vector<int64_t> filled;                // elements
  std::vector<const Instruction*> arguments;  // values of the body after these
};

// Reads the body of a loop. Rows of what iterations carry are computed from the same rows alone, by
// products with matrices that are the same in all iterations, and elementwise operations. All else
// is known beforehand.
class RecurrenceReader {
 public:
  explicit RecurrenceReader(const LoopBody& body) : body_(body) {}

  std::optional<Recurrence> Read() {
    if (!ReadElements() || !ReadValues() || !has_dot_) return std::nullopt;
    for (size_t i = 0; i < made_.carried.size(); ++i) {
      const Instruction* const result = body_.loop.results[made_.carried[i]];
      AddStatement("carry", ColumnsOf(result), {numbers_.at(result), starts_.at(made_.carried[i])});
    }
    for (const Instruction* update : updates_) {
      AddStatement("write", ColumnsOf(update), {numbers_.at(update)});
    }
    if (made_.statements.size() > kMostStatements) return std::nullopt;
    return made_;
  }

 private:
  int64_t AddStatement(const char* name, int64_t columns, const std::vector<int64_t>& numbers) {
    made_.statements.push_back(absl::StrCat(name, " ", columns, numbers.empty() ? "" : " ",
                                            absl::StrJoin(numbers, " "), ";"));
    return static_cast<int64_t>(made_.statements.size()) - 1;
  }

  // Finds what iterations carry, and what they fill.
  bool ReadElements() {
    const CountedLoop& loop = body_.loop;
    const Instruction* const parameter = loop.body()->parameter_instruction(0);
    std::optional<bool> reversed;
    for (int64_t i = 0; i < loop.size(); ++i) {
      const xla::Shape& shape = loop.loop->shape().tuple_shapes(i);
      if (IsInvariant(loop, i) || FindInduction(loop, i).has_value()) continue;
      if (shape.element_type() != xla::F32) return false;
      if (const auto filled = FindFilled(body_, i); filled.has_value()) {
        if (reversed.value_or(filled->reversed) != filled->reversed) return false;
        reversed = filled->reversed;
        made_.filled.push_back(i);
        updates_.push_back(filled->update);
        continue;
      }
      const Instruction* const result = loop.results[i];
      if (made_.carried.empty()) made_.rows = RowsOf(result);
      if (result == parameter || !IsMatrix(result)) return false;
      starts_[i] =
          AddStatement("carried", ColumnsOf(result), {static_cast<int64_t>(made_.carried.size())});
      made_.carried.push_back(i);
    }
    made_.reversed = reversed.value_or(IsReversed(loop));
    return !made_.carried.empty() &&
           std::all_of(updates_.begin(), updates_.end(),
                       [&](const Instruction* update) { return IsMatrix(update); });
  }

  bool IsMatrix(const Instruction* array) const {
    return (IsOf(array, xla::F32) || IsOf(array, xla::PRED)) && array->shape().is_static() &&
           SizeOf(array) > 0 && RowsOf(array) == made_.rows;
  }

  // Adds statements for all that the results need.
  bool ReadValues() {
    absl::flat_hash_set<const Instruction*> needed(updates_.begin(), updates_.end());
    for (const int64_t element : made_.carried) needed.insert(body_.loop.results[element]);
    for (auto one = body_.order.rbegin(); one != body_.order.rend(); ++one) {
      if (!needed.contains(*one) || IsLeaf(*one)) continue;
      for (const Instruction* value : UsedBy(*one)) needed.insert(value);
    }
    for (const Instruction* one : body_.order) {
      if (!needed.contains(one) || (IsKnown(one) && !IsMatrix(one))) continue;
      const auto number = NumberOf(one);
      if (!number.has_value()) return false;
      numbers_[one] = *number;
    }
    return std::all_of(needed.begin(), needed.end(), [&](const Instruction* one) {
      return numbers_.contains(one) || IsKnown(one);
    });
  }

  // Returns true for what does not depend on earlier iterations.
  bool IsKnown(const Instruction* one) const {
    return one->shape().IsArray() && body_.dependences.OfArray(one) != Dependence::kCarried;
  }

  // Columns of a value are cut in the kernel, and not copied.
  bool CutsColumns(const Instruction* one) const {
    if (!IsSlice(one) || RankOf(one) == 0 || one->slice_strides().back() != 1) return false;
    const Instruction* const operand = Forwarded(one->operand(0));
    return IsMatrix(operand) && SameElsewhere(one->shape(), operand->shape(), RankOf(one) - 1);
  }

  bool IsLeaf(const Instruction* one) const {
    return (IsKnown(one) && !CutsColumns(one)) || one->opcode() == Opcode::kGetTupleElement;
  }

  // The values that a statement for this one uses.
  std::vector<const Instruction*> UsedBy(const Instruction* one) const {
    if (const Instruction* const argument = LogisticArgument(one); argument != nullptr) {
      return {argument};
    }
    std::vector<const Instruction*> used;
    for (const Instruction* operand : one->operands()) {
      const Instruction* const value = Forwarded(operand);
      if (one->opcode() != Opcode::kDot || !IsKnown(value)) used.push_back(value);
    }
    return used;
  }

  // Returns x of 1 / (1 + exp(-x)), or null.
  static const Instruction* LogisticArgument(const Instruction* one) {
    if (one->opcode() != Opcode::kDivide || !IsPointwise(one) || !IsOf(one, xla::F32) ||
        !IsConstantOf(one->operand(0), 1)) {
      return nullptr;
    }
    const Instruction* const sum = Forwarded(one->operand(1));
    if (sum->opcode() != Opcode::kAdd || !IsPointwise(sum)) return nullptr;
    const int side = IsConstantOf(sum->operand(0), 1) ? 1 : 0;
    const Instruction* const power = Forwarded(sum->operand(side));
    if (!IsConstantOf(sum->operand(1 - side), 1) || power->opcode() != Opcode::kExp ||
        !IsPointwise(power)) {
      return nullptr;
    }
    const Instruction* const negated = Forwarded(power->operand(0));
    return negated->opcode() == Opcode::kNegate && IsPointwise(negated)
               ? Forwarded(negated->operand(0))
               : nullptr;
  }

  std::optional<int64_t> NumberOf(const Instruction* one) {
    if (!IsMatrix(one)) return std::nullopt;
    if (IsKnown(one) && !CutsColumns(one)) return AddKnown(one);
    if (one->opcode() == Opcode::kGetTupleElement) {
      const auto start = starts_.find(ElementOf(one, body_.loop.body()->parameter_instruction(0)));
      if (start == starts_.end()) return std::nullopt;
      return start->second;
    }
    if (!IsPlain(one)) return std::nullopt;
    switch (one->opcode()) {
      case Opcode::kDot:
        return AddDot(one);
      case Opcode::kReshape:
      case Opcode::kConvert:
        return AddAlias(one);
      case Opcode::kSlice:
        return AddSlice(one);
      case Opcode::kConcatenate:
        return AddConcatenate(one);
      default:
        return AddFunction(one);
    }
  }

  // A constant, or an argument that is computed before the loop.
  std::optional<int64_t> AddKnown(const Instruction* one) {
    if (IsUniform(one) && IsOf(one, xla::F32) && one->operand(0)->IsConstant()) {
      const float value = one->operand(0)->literal().GetFirstElement<float>();
      return AddStatement("constant", ColumnsOf(one), {absl::bit_cast<uint32_t>(value)});
    }
    const Instruction* value = one;
    if (IsBroadcast(one) && one->dimensions().size() == 1 &&
        one->dimensions(0) == RankOf(one) - 1) {
      value = Forwarded(one->operand(0));  // one row for all
    }
    const bool stacked = body_.dependences.OfArray(value) == Dependence::kNumber;
    if (SizeOf(value) > kLargestKnown / (stacked ? body_.loop.trips : 1)) return std::nullopt;
    return AddStatement("read", ColumnsOf(one), {AddArgument(value), stacked ? 1 : 0});
  }

  int64_t AddArgument(const Instruction* value) {
    const auto entry = arguments_.try_emplace(value, made_.arguments.size()).first;
    if (entry->second == static_cast<int64_t>(made_.arguments.size())) {
      made_.arguments.push_back(value);
    }
    return static_cast<int64_t>(made_.carried.size()) + entry->second;
  }

  // A product of rows with a matrix, or of a matrix with one row as a column.
  std::optional<int64_t> AddDot(const Instruction* dot) {
    if (!IsProduct(dot, Opcode::kDot) || !HasOneType(dot) || !IsOf(dot, xla::F32)) {
      return std::nullopt;
    }
    const int side = IsKnown(Forwarded(dot->operand(1))) ? 1 : 0;  // of the matrix
    const Instruction* const matrix = Forwarded(dot->operand(side));
    const Instruction* const rows = Forwarded(dot->operand(1 - side));
    const DotOperand left = DotOperandOf(dot, 1 - side), right = DotOperandOf(dot, side);
    if (!body_.IsOnce(matrix) || RankOf(matrix) != 2 || right.contracting.size() != 1 ||
        !right.batch.empty() || left.contracting.front() != RankOf(rows) - 1 ||
        (side == 0 && RankOf(rows) != 1) || !numbers_.contains(rows)) {
      return std::nullopt;
    }
    has_dot_ = has_dot_ || SizeOf(matrix) >= kSmallestMatrix;
    return AddStatement("dot", ColumnsOf(dot),
                        {numbers_.at(rows), AddArgument(matrix), right.contracting.front()});
  }

  // Another shape of the same rows, or truth values as numbers.
  std::optional<int64_t> AddAlias(const Instruction* one) const {
    const Instruction* const operand = Forwarded(one->operand(0));
    const auto number = numbers_.find(operand);
    if (number == numbers_.end() || ColumnsOf(operand) != ColumnsOf(one) ||
        (one->opcode() == Opcode::kConvert && !IsOf(one, xla::F32))) {
      return std::nullopt;
    }
    return number->second;
  }

  std::optional<int64_t> AddSlice(const Instruction* slice) {
    const auto operand = numbers_.find(Forwarded(slice->operand(0)));
    if (!CutsColumns(slice) || operand == numbers_.end()) return std::nullopt;
    return AddStatement("slice", ColumnsOf(slice), {operand->second, slice->slice_starts().back()});
  }

  std::optional<int64_t> AddConcatenate(const Instruction* one) {
    if (!IsConcatenate(one) || one->concatenate_dimension() != RankOf(one) - 1) {
      return std::nullopt;
    }
    return AddWithOperands("concatenate", one);
  }

  std::optional<int64_t> AddFunction(const Instruction* one) {
    if (const Instruction* const argument = LogisticArgument(one);
        argument != nullptr && numbers_.contains(argument)) {
      return AddStatement("logistic", ColumnsOf(one), {numbers_.at(argument)});
    }
    switch (one->opcode()) {
      case Opcode::kCompare: {
        if (!HasOneShape(one) || !IsOf(one->operand(0), xla::F32)) return std::nullopt;
        const auto direction = xla::ComparisonDirectionToString(one->comparison_direction());
        const bool total =
            xla::Cast<xla::HloCompareInstruction>(one)->order() == xla::Comparison::Order::kTotal;
        if (total) return std::nullopt;
        return AddWithOperands(absl::StrCat("compare-", direction).c_str(), one);
      }
      case Opcode::kAnd:
      case Opcode::kOr:
        if (!IsPointwise(one) || !IsOf(one, xla::PRED)) return std::nullopt;
        return AddWithOperands(one->opcode() == Opcode::kAnd ? "minimum" : "maximum", one);
      case Opcode::kAbs:
      case Opcode::kExp:
      case Opcode::kLogistic:
      case Opcode::kNegate:
      case Opcode::kRsqrt:
      case Opcode::kSqrt:
      case Opcode::kTanh:
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMultiply:
      case Opcode::kDivide:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
      case Opcode::kSelect:
        if (!IsPointwise(one) || !IsOf(one, xla::F32)) return std::nullopt;
        return AddWithOperands(std::string(xla::HloOpcodeString(one->opcode())).c_str(), one);
      default:
        return std::nullopt;
    }
  }

  static bool HasOneShape(const Instruction* one) {
    return std::all_of(one->operands().begin(), one->operands().end(),
                       [&](const Instruction* operand) {
                         return xla::ShapeUtil::SameDimensions(operand->shape(), one->shape());
                       });
  }

  std::optional<int64_t> AddWithOperands(const char* name, const Instruction* one) {
    std::vector<int64_t> operands;
    for (const Instruction* operand : one->operands()) {
      const auto number = numbers_.find(Forwarded(operand));
      if (number == numbers_.end()) return std::nullopt;
      operands.push_back(number->second);
    }
    return AddStatement(name, ColumnsOf(one), operands);
  }

  const LoopBody& body_;
  Recurrence made_;
  bool has_dot_ = false;
  std::vector<const Instruction*> updates_;
  std::map<int64_t, int64_t> starts_;                         // statements, by element
  absl::flat_hash_map<const Instruction*, int64_t> numbers_;  // of statements
  absl::flat_hash_map<const Instruction*, int64_t> arguments_;
};

class KernelRecurrence : public KernelRule {
 public:
  using KernelRule::KernelRule;

 protected:
  bool Matches(const Instruction* instruction) const override {
    const auto loop = FindSimpleLoop(instruction);
    return loop.has_value() && RecurrenceReader(LoopBody(*loop)).Read().has_value();
  }

  Instruction* Build(Instruction* instruction) const override {
    const CountedLoop loop = *FindSimpleLoop(instruction);
    const LoopBody body(loop);
    const Recurrence recurrence = *RecurrenceReader(body).Read();
    const Builder builder(instruction);
    Instruction* const initial = instruction->mutable_operand(0);
    std::vector<Instruction*> arguments;
    for (const int64_t i : recurrence.carried) arguments.push_back(TakeElement(initial, i));
    Batcher batcher(loop, instruction, recurrence.reversed);
    for (const Instruction* value : recurrence.arguments) {
      Instruction* const array = batcher.Of(value).array;
      arguments.push_back(IsOf(array, xla::PRED) ? builder.Convert(array, xla::F32) : array);
    }
    std::vector<int64_t> results = recurrence.carried;
    results.insert(results.end(), recurrence.filled.begin(), recurrence.filled.end());
    std::vector<xla::Shape> shapes;
    for (const int64_t i : results) shapes.push_back(instruction->shape().tuple_shapes(i));
    Instruction* const call = AddCall(instruction, arguments, shapes,
                                      CallAttributes()
                                          .Add("program", absl::StrJoin(recurrence.statements, ""))
                                          .Add("steps", loop.trips)
                                          .Add("rows", recurrence.rows)
                                          .Add("reversed", recurrence.reversed)
                                          .text());
    std::vector<Instruction*> elements;
    for (int64_t i = 0; i < loop.size(); ++i) {
      const auto number = std::find(results.begin(), results.end(), i) - results.begin();
      if (number < static_cast<int64_t>(results.size())) {
        elements.push_back(results.size() == 1 ? call : builder.Element(call, number));
      } else {
        elements.push_back(LastOf(builder, loop, initial, i));
      }
    }
    return instruction->AddInstruction(Instruction::CreateTuple(elements));
  }

 private:
  // What the last iteration leaves of an element that counts, or that stays as it is.
  static Instruction* LastOf(const Builder& builder, const CountedLoop& loop, Instruction* initial,
                             int64_t element) {
    if (IsInvariant(loop, element)) return TakeElement(initial, element);
    const Affine value = *FindInduction(loop, element);
    return builder.Scalar(loop.results[element]->shape().element_type(),
                          static_cast<double>(value.base + value.slope * loop.trips));
  }
};

}  // namespace

const RuleTopic kRecurrenceKernels(409, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelRecurrence>(
      Identity{"kernel-recurrence", "for i: h = f(h·w, x[i]) = kernel(h, w, x)",
               "Runs a loop of a recurrent network with packed matrices, a few rows at a time, and "
               "functions in vectors.",
               Numerics::kClose},
      "recurrence"));
});

}  // namespace hlograph
