#include "hlograph/native/rewrites/forms/loop_shape.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kLargestCount = int64_t{1} << 30;  // of what loops count
constexpr int kDepth = 10;                           // of expressions of the counter

bool IsPlainBody(const xla::HloComputation* body, const xla::Shape& carried) {
  return body->num_parameters() == 1 && !body->HasSideEffect() &&
         !body->parameter_instruction(0)->has_sharding() &&
         xla::ShapeUtil::Compatible(body->parameter_instruction(0)->shape(), carried);
}

bool Fits(int64_t value, xla::PrimitiveType type) {
  switch (type) {
    case xla::PRED:
      return value == 0 || value == 1;
    case xla::S32:
    case xla::S64:
      return value >= -kLargestCount && value <= kLargestCount;
    case xla::U32:
    case xla::U64:
      return value >= 0 && value <= kLargestCount;
    default:
      return false;
  }
}

std::optional<int64_t> IntegerOf(const Instruction* constant) {
  if (constant->opcode() != Opcode::kConstant || !xla::ShapeUtil::IsScalar(constant->shape())) {
    return std::nullopt;
  }
  const xla::PrimitiveType type = constant->shape().element_type();
  if (type == xla::PRED) return constant->literal().Get<bool>({}) ? 1 : 0;
  if (type != xla::S32 && type != xla::S64 && type != xla::U32) return std::nullopt;
  const std::optional<int64_t> value = constant->literal().GetIntegralAsS64({});
  if (!value.has_value() || !Fits(*value, type)) return std::nullopt;
  return value;
}

// The initial value of an element where it is known.
std::optional<int64_t> StartOf(const Instruction* loop, int64_t element) {
  const Instruction* const initial = loop->operand(0);
  if (initial->opcode() != Opcode::kTuple) return std::nullopt;
  return IntegerOf(initial->operand(element));
}

// How an iteration changes an element by adding a constant.
std::optional<int64_t> StepOf(const Instruction* parameter, const Instruction* result,
                              int64_t element) {
  if (result->opcode() != Opcode::kAdd) return std::nullopt;
  for (int side : {0, 1}) {
    if (ElementOf(Forwarded(result->operand(side)), parameter) == element) {
      return IntegerOf(Forwarded(result->operand(1 - side)));
    }
  }
  return std::nullopt;
}

// Whether a comparison comes out the same in all iterations, and how.
std::optional<Affine> Compared(Affine lhs, Affine rhs, xla::ComparisonDirection direction,
                               int64_t trips) {
  const int64_t first = lhs.base - rhs.base;
  const int64_t last = first + (lhs.slope - rhs.slope) * (trips - 1);
  const auto decide = [&](auto holds) -> std::optional<Affine> {
    if (holds(first) != holds(last)) return std::nullopt;
    return Affine{holds(first) ? 1 : 0, 0};
  };
  using Direction = xla::ComparisonDirection;
  switch (direction) {
    case Direction::kLt:
      return decide([](int64_t x) { return x < 0; });
    case Direction::kLe:
      return decide([](int64_t x) { return x <= 0; });
    case Direction::kGt:
      return decide([](int64_t x) { return x > 0; });
    case Direction::kGe:
      return decide([](int64_t x) { return x >= 0; });
    default:
      return std::nullopt;
  }
}

class AffineFinder {
 public:
  explicit AffineFinder(const CountedLoop& loop)
      : loop_(loop), parameter_(loop.body()->parameter_instruction(0)) {}

  std::optional<Affine> Find(const Instruction* scalar, int depth) const {
    scalar = Forwarded(scalar);
    if (depth == 0 || !xla::ShapeUtil::IsScalar(scalar->shape())) return std::nullopt;
    const auto found = Combine(scalar, depth);
    if (!found.has_value()) return std::nullopt;
    const xla::PrimitiveType type = scalar->shape().element_type();
    const bool fits =
        Fits(found->base, type) && Fits(found->base + found->slope * (loop_.trips - 1), type);
    return fits ? found : std::nullopt;
  }

 private:
  std::optional<Affine> Combine(const Instruction* scalar, int depth) const {
    if (const auto value = IntegerOf(scalar)) return Affine{*value, 0};
    const int64_t element = ElementOf(scalar, parameter_);
    if (element >= 0) return FindInduction(loop_, element);
    std::vector<Affine> operands;
    switch (scalar->opcode()) {
      case Opcode::kConvert:
      case Opcode::kReshape:
      case Opcode::kNegate:
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMultiply:
      case Opcode::kCompare:
        break;
      case Opcode::kSelect:
        return Select(scalar, depth);
      default:
        return std::nullopt;
    }
    for (const Instruction* operand : scalar->operands()) {
      const auto found = Find(operand, depth - 1);
      if (!found.has_value()) return std::nullopt;
      operands.push_back(*found);
    }
    return Apply(scalar, operands);
  }

  std::optional<Affine> Select(const Instruction* select, int depth) const {
    const auto which = Find(select->operand(0), depth - 1);
    if (!which.has_value() || which->slope != 0) return std::nullopt;
    return Find(select->operand(which->base != 0 ? 1 : 2), depth - 1);
  }

  std::optional<Affine> Apply(const Instruction* scalar, const std::vector<Affine>& x) const {
    switch (scalar->opcode()) {
      case Opcode::kConvert:
      case Opcode::kReshape:
        return x[0];
      case Opcode::kNegate:
        return Affine{-x[0].base, -x[0].slope};
      case Opcode::kAdd:
        return Affine{x[0].base + x[1].base, x[0].slope + x[1].slope};
      case Opcode::kSubtract:
        return Affine{x[0].base - x[1].base, x[0].slope - x[1].slope};
      case Opcode::kMultiply:
        if (x[0].slope != 0 && x[1].slope != 0) return std::nullopt;
        return Affine{x[0].base * x[1].base, x[0].slope * x[1].base + x[1].slope * x[0].base};
      default:
        return Compared(x[0], x[1], scalar->comparison_direction(), loop_.trips);
    }
  }

  const CountedLoop& loop_;
  const Instruction* parameter_;
};

// The constant that an element has to be less than for the loop to go on.
struct Limit {
  int64_t element = 0;
  int64_t value = 0;
};

std::optional<Limit> LimitOf(const Instruction* loop) {
  const xla::HloComputation* const condition = loop->while_condition();
  const Instruction* const root = condition->root_instruction();
  if (root->opcode() != Opcode::kCompare) return std::nullopt;
  const bool less = root->comparison_direction() == xla::ComparisonDirection::kLt;
  if (!less && root->comparison_direction() != xla::ComparisonDirection::kGt) return std::nullopt;
  const Instruction* const counter = Forwarded(root->operand(less ? 0 : 1));
  const int64_t element = ElementOf(counter, condition->parameter_instruction(0));
  const auto value = IntegerOf(Forwarded(root->operand(less ? 1 : 0)));
  if (element < 0 || !value.has_value()) return std::nullopt;
  return Limit{element, *value};
}

}  // namespace

const Instruction* Forwarded(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kGetTupleElement &&
         instruction->operand(0)->opcode() == Opcode::kTuple && instruction->tuple_index() >= 0 &&
         instruction->tuple_index() < instruction->operand(0)->operand_count()) {
    instruction = instruction->operand(0)->operand(instruction->tuple_index());
  }
  return instruction;
}

int64_t ElementOf(const Instruction* instruction, const Instruction* parameter) {
  if (instruction->opcode() != Opcode::kGetTupleElement || instruction->operand(0) != parameter) {
    return -1;
  }
  const int64_t index = instruction->tuple_index();
  if (index < 0 || index >= xla::ShapeUtil::TupleElementCount(parameter->shape()) ||
      !xla::ShapeUtil::Compatible(instruction->shape(), parameter->shape().tuple_shapes(index))) {
    return -1;
  }
  return index;
}

bool IsPlainLoop(const Instruction* loop) {
  if (loop->opcode() != Opcode::kWhile || loop->has_sharding() || loop->HasControlDependencies() ||
      loop->has_backend_config() || !loop->frontend_attributes().map().empty() ||
      !loop->shape().IsTuple() ||
      !xla::ShapeUtil::Compatible(loop->shape(), loop->operand(0)->shape())) {
    return false;
  }
  const auto& elements = loop->shape().tuple_shapes();
  const bool arrays = std::all_of(elements.begin(), elements.end(), [](const xla::Shape& one) {
    return one.IsArray() && one.is_static() && IsCountable(one.dimensions());
  });
  const xla::HloComputation* const body = loop->while_body();
  if (!arrays || elements.empty() || !IsPlainBody(body, loop->shape()) ||
      !IsPlainBody(loop->while_condition(), loop->shape())) {
    return false;
  }
  const Instruction* const root = body->root_instruction();
  const auto size = static_cast<int64_t>(elements.size());
  if (root->opcode() != Opcode::kTuple || root->operand_count() != size) return false;
  for (int64_t i = 0; i < root->operand_count(); ++i) {
    if (!xla::ShapeUtil::Compatible(root->operand(i)->shape(), elements[i])) return false;
  }
  return xla::ShapeUtil::IsScalarWithElementType(
      loop->while_condition()->root_instruction()->shape(), xla::PRED);
}

CountedLoop LoopOfAnyLength(const Instruction* instruction) {
  CountedLoop loop;
  loop.loop = instruction;
  for (const Instruction* operand : loop.body()->root_instruction()->operands()) {
    loop.results.push_back(Forwarded(operand));
  }
  return loop;
}

std::optional<CountedLoop> FindCountedLoop(const Instruction* instruction) {
  if (!IsPlainLoop(instruction)) return std::nullopt;
  const auto limit = LimitOf(instruction);
  if (!limit.has_value()) return std::nullopt;
  CountedLoop loop = LoopOfAnyLength(instruction);
  loop.counter = limit->element;
  const auto start = StartOf(instruction, loop.counter);
  const auto step =
      StepOf(loop.body()->parameter_instruction(0), loop.results[loop.counter], loop.counter);
  if (!start.has_value() || !step.has_value() || *step <= 0 || *start >= limit->value) {
    return std::nullopt;
  }
  loop.start = *start;
  loop.step = *step;
  loop.trips = (limit->value - *start + *step - 1) / *step;
  return loop;
}

bool IsInvariant(const CountedLoop& loop, int64_t element) {
  return ElementOf(loop.results[element], loop.body()->parameter_instruction(0)) == element;
}

std::optional<int64_t> OnlyUsedElement(const CountedLoop& loop) {
  std::optional<int64_t> only;
  if (loop.loop->IsRoot()) return std::nullopt;
  for (const Instruction* user : loop.loop->users()) {
    const int64_t element = ElementOf(user, loop.loop);
    if (element < 0 || (only.has_value() && element != *only && !IsInvariant(loop, element))) {
      return std::nullopt;
    }
    if (!IsInvariant(loop, element)) only = element;
  }
  return only;
}

Instruction* WithElement(Instruction* loop, int64_t element, Instruction* value) {
  std::vector<Instruction*> elements;
  for (int64_t i = 0; i < xla::ShapeUtil::TupleElementCount(loop->shape()); ++i) {
    elements.push_back(i == element ? value : TakeElement(loop->mutable_operand(0), i));
  }
  return loop->AddInstruction(Instruction::CreateTuple(elements));
}

std::optional<Affine> FindInduction(const CountedLoop& loop, int64_t element) {
  const Instruction* const parameter = loop.body()->parameter_instruction(0);
  const auto start = StartOf(loop.loop, element);
  const auto step = StepOf(parameter, loop.results[element], element);
  if (!start.has_value()) return std::nullopt;
  if (step.has_value()) return Affine{*start, *step};
  if (IsInvariant(loop, element)) return Affine{*start, 0};
  return std::nullopt;
}

std::optional<Affine> FindAffine(const CountedLoop& loop, const Instruction* scalar) {
  return AffineFinder(loop).Find(scalar, kDepth);
}

Users FindUsers(const xla::HloComputation* computation) {
  Users users;
  for (const Instruction* user : computation->instructions()) {
    if (user->opcode() == Opcode::kTuple && user->called_computations().empty()) {
      // What becomes of its elements is seen where they are taken out. Others need it whole.
      const bool taken = std::all_of(
          user->users().begin(), user->users().end(),
          [](const Instruction* one) { return one->opcode() == Opcode::kGetTupleElement; });
      if (taken) continue;
    }
    if (Forwarded(user) != user) continue;
    for (const Instruction* operand : user->operands()) users[Forwarded(operand)].push_back(user);
  }
  return users;
}

LoopEditor::LoopEditor(const CountedLoop& loop, Instruction* place)
    : place_(place), context_(place->GetModule()) {
  xla::HloModule* const module = place->GetModule();
  body_ = module->AddEmbeddedComputation(place->while_body()->Clone("form", &context_));
  condition_ = module->AddEmbeddedComputation(place->while_condition()->Clone("form"));
  for (Instruction* result : body_->root_instruction()->operands()) results_.push_back(result);
  for (int64_t i = 0; i < loop.size(); ++i) {
    initials_.push_back(TakeElement(place->mutable_operand(0), i));
  }
}

Instruction* LoopEditor::AddElement(Instruction* initial) {
  for (const xla::HloComputation* one : {body_, condition_}) {
    *one->parameter_instruction(0)->mutable_shape()->add_tuple_shapes() = initial->shape();
  }
  initials_.push_back(initial);
  Instruction* const element = Element(size());
  results_.push_back(element);
  return element;
}

Instruction* LoopEditor::Element(int64_t index) const {
  return body_->AddInstruction(Instruction::CreateGetTupleElement(parameter(), index));
}

void LoopEditor::Replace(const Instruction* original, Instruction* value) {
  Instruction* const copy = Copy(original);
  for (Instruction*& result : results_) {
    if (Forwarded(result) == copy) result = value;
  }
  (void)copy->ReplaceAllUsesWith(value);
}

Instruction* LoopEditor::Finish() {
  body_->set_root_instruction(body_->AddInstruction(Instruction::CreateTuple(results_)),
                              /*accept_different_shape=*/true);
  Tidy(body_);
  Instruction* const initial = place_->AddInstruction(Instruction::CreateTuple(initials_));
  return place_->AddInstruction(
      Instruction::CreateWhile(initial->shape(), condition_, body_, initial));
}

xla::HloComputation* AddLoopComputation(xla::HloModule* module, const char* name,
                                        const xla::Shape& carried) {
  xla::HloComputation::Builder builder(name);
  builder.AddInstruction(Instruction::CreateParameter(0, carried, "carried"));
  return module->AddEmbeddedComputation(builder.Build());
}

Instruction* TakeElement(Instruction* tuple, int64_t index) {
  if (tuple->opcode() == Opcode::kTuple) return tuple->mutable_operand(index);
  return tuple->AddInstruction(Instruction::CreateGetTupleElement(tuple, index));
}

void Tidy(xla::HloComputation* computation) {
  for (Instruction* instruction : computation->MakeInstructionPostOrder()) {
    Instruction* const value = const_cast<Instruction*>(Forwarded(instruction));
    if (value != instruction && !instruction->IsRoot() && !instruction->HasControlDependencies()) {
      (void)instruction->ReplaceAllUsesWith(value);
    }
  }
  std::vector<Instruction*> all = computation->MakeInstructionPostOrder();
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if ((*one)->IsDead() && (*one)->opcode() != Opcode::kParameter &&
        computation->IsSafelyRemovable(*one)) {
      (void)computation->RemoveInstruction(*one);
    }
  }
}

}  // namespace hlograph
