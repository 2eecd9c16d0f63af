// Several iterations of a loop in one, or all of a short loop without it.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kMostInstructions = 640;  // of all copies of the body
constexpr int64_t kLargeEnough = 64;        // elements of an array that stencils read
constexpr int64_t kShort = 16;              // iterations of a loop that is unrolled as a whole

// Instructions of a body that do something.
int64_t WorkOf(const xla::HloComputation* body) {
  int64_t count = 0;
  for (const Instruction* one : body->instructions()) {
    count += one->opcode() != Opcode::kParameter && one->opcode() != Opcode::kConstant &&
             one->opcode() != Opcode::kTuple && one->opcode() != Opcode::kGetTupleElement;
  }
  return count;
}

// Adds what one iteration computes of `carried`, element by element, in the computation of
// `place`.
std::vector<Instruction*> AddIteration(Instruction* place, const CountedLoop& loop,
                                       const std::vector<Instruction*>& carried) {
  xla::HloComputation* const to = place->parent();
  const Instruction* const parameter = loop.body()->parameter_instruction(0);
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  copies[parameter] = to->AddInstruction(Instruction::CreateTuple(carried));
  std::vector<Instruction*> results;
  for (const Instruction* one : loop.body()->MakeInstructionPostOrder()) {
    if (one == parameter) continue;
    if (const int64_t element = ElementOf(one, parameter); element >= 0) {
      copies[one] = carried[element];
      continue;
    }
    if (Forwarded(one) != one) {
      copies[one] = copies.at(Forwarded(one));
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : one->operands()) operands.push_back(copies.at(operand));
    if (one->IsRoot()) return operands;
    copies[one] = to->AddInstruction(one->CloneWithNewOperands(one->shape(), operands));
    copies[one]->set_original_value(nullptr);
  }
  return results;
}

// Returns true for what XLA:CPU computes in kernels of their own, or at the end of one.
bool EndsFusion(const Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kConvolution:
    case Opcode::kCustomCall:
    case Opcode::kDot:
    case Opcode::kFft:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

// Returns true if an iteration computes an array from neighbors of each element, in one kernel, as
// stencils do. Several iterations in one kernel would compute each neighbor again and again.
bool IsStencil(const CountedLoop& loop) {
  const Instruction* const parameter = loop.body()->parameter_instruction(0);
  absl::flat_hash_map<const Instruction*, bool> shifted;  // what comes from the last iteration
  for (const Instruction* one : loop.body()->MakeInstructionPostOrder()) {
    const int64_t element = ElementOf(one, parameter);
    if (element >= 0 && !IsInvariant(loop, element) &&
        xla::ShapeUtil::ElementsIn(one->shape()) >= kLargeEnough) {
      shifted[one] = false;
    }
    if (element >= 0 || one == parameter || EndsFusion(one)) continue;
    for (const Instruction* operand : one->operands()) {
      const auto found = shifted.find(operand);
      if (found == shifted.end()) continue;
      const bool shifts = found->second || Shifts(one);  // before the map grows
      shifted[one] |= shifts;
    }
  }
  for (const Instruction* result : loop.results) {
    const auto found = shifted.find(result);
    if (result->opcode() != Opcode::kDynamicUpdateSlice && found != shifted.end() &&
        found->second) {
      return true;
    }
  }
  return false;
}

bool HasControlDependencies(const xla::HloComputation* body) {
  for (const Instruction* one : body->instructions()) {
    if (one->HasControlDependencies()) return true;
  }
  return false;
}

class UnrollLoop : public FormRule {
 public:
  // By a factor; 0 for all iterations.
  UnrollLoop(Identity identity, int64_t factor) : FormRule(std::move(identity)), factor_(factor) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    if (instruction->opcode() != Opcode::kWhile) return false;
    const auto loop = FindCountedLoop(instruction);
    if (!loop.has_value() || HasControlDependencies(loop->body()) || IsStencil(*loop)) return false;
    if (factor_ == 0 ? loop->trips > kShort : loop->trips < 2 * factor_) return false;
    const int64_t copies = factor_ == 0 ? loop->trips : factor_ + loop->trips % factor_;
    return copies * WorkOf(loop->body()) <= kMostInstructions;
  }

  Instruction* Build(Instruction* instruction) const override {
    const CountedLoop loop = *FindCountedLoop(instruction);
    std::vector<Instruction*> carried;
    for (int64_t i = 0; i < loop.size(); ++i) {
      carried.push_back(TakeElement(instruction->mutable_operand(0), i));
    }
    const int64_t factor = factor_ == 0 ? loop.trips : factor_;
    int64_t rest = loop.trips;
    if (factor_ != 0) {
      Instruction* const unrolled = AddUnrolled(instruction, loop, carried);
      for (int64_t i = 0; i < loop.size(); ++i) {
        carried[i] = Builder(instruction).Element(unrolled, i);
      }
      rest = loop.trips % factor;
    }
    for (int64_t i = 0; i < rest; ++i) carried = AddIteration(instruction, loop, carried);
    return instruction->AddInstruction(Instruction::CreateTuple(carried));
  }

 private:
  // Adds a loop of as many whole groups of iterations as there are.
  Instruction* AddUnrolled(Instruction* place, const CountedLoop& loop,
                           const std::vector<Instruction*>& initial) const {
    xla::HloModule* const module = place->GetModule();
    const xla::Shape& shape = place->shape();
    xla::HloComputation* const body = AddLoopComputation(module, "unrolled", shape);
    Instruction* const parameter = body->parameter_instruction(0);
    std::vector<Instruction*> carried;
    for (int64_t i = 0; i < loop.size(); ++i) {
      carried.push_back(Builder(parameter).Element(parameter, i));
    }
    for (int64_t i = 0; i < factor_; ++i) carried = AddIteration(parameter, loop, carried);
    body->set_root_instruction(body->AddInstruction(Instruction::CreateTuple(carried)),
                               /*accept_different_shape=*/true);
    Tidy(body);
    xla::HloComputation* const condition = AddLoopComputation(module, "condition", shape);
    const Builder builder(condition->parameter_instruction(0));
    Instruction* const counter = builder.Element(builder.place(), loop.counter);
    const int64_t groups = loop.trips / factor_;
    Instruction* const limit =
        builder.Scalar(counter->shape().element_type(), loop.start + loop.step * groups * factor_);
    condition->set_root_instruction(builder.Compare(counter, limit, xla::ComparisonDirection::kLt),
                                    /*accept_different_shape=*/true);
    Instruction* const start = place->AddInstruction(Instruction::CreateTuple(initial));
    return place->AddInstruction(Instruction::CreateWhile(shape, condition, body, start));
  }

  int64_t factor_;
};

}  // namespace

bool Shifts(const Instruction* instruction) {
  switch (instruction->opcode()) {
    case xla::HloOpcode::kConcatenate:
    case xla::HloOpcode::kGather:
    case xla::HloOpcode::kPad:
    case xla::HloOpcode::kReverse:
    case xla::HloOpcode::kSlice:
      return true;
    default:
      return false;
  }
}

const RuleTopic kUnrollingForms(319, [](std::vector<RulePtr>& rules) {
  for (int64_t factor : {4, 8}) {
    rules.push_back(std::make_unique<UnrollLoop>(
        Identity{absl::StrCat("unroll-loop:", factor),
                 absl::StrCat("for i < n: f = for i < n/", factor, ": f, ", factor, " times"),
                 absl::StrCat("Runs ", factor, " iterations of a loop in one.")},
        factor));
  }
  rules.push_back(std::make_unique<UnrollLoop>(
      Identity{"unroll-loop:whole", "for i < n: f = f(...f(x))",
               "Replaces a loop of at most 16 iterations by their work."},
      /*factor=*/0));
});

}  // namespace hlograph
