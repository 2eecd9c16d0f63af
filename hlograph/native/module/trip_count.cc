#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "hlograph/native/module/work.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

// Of a loop that ends when its values say so.
constexpr double kUnknownTripCount = 8;

std::optional<int64_t> Integer(const xla::HloInstruction* instruction) {
  while (instruction->opcode() == xla::HloOpcode::kCopy ||
         instruction->opcode() == xla::HloOpcode::kConvert) {
    if (instruction->operand_count() != 1) return std::nullopt;
    instruction = instruction->operand(0);
  }
  if (instruction->opcode() != xla::HloOpcode::kConstant) return std::nullopt;
  const xla::Shape& shape = instruction->shape();
  if (!shape.IsArray() || !shape.dimensions().empty() || !shape.AreAllLeavesIntegers()) {
    return std::nullopt;
  }
  return instruction->literal().GetFirstInteger();
}

// What XLA has found out and written into the loop's configuration. jaxlib's configurations have
// fields that the linked XLA's message lacks, so the JSON is not read as that message.
std::optional<double> Known(const xla::HloInstruction* loop) {
  if (!loop->has_backend_config()) return std::nullopt;
  constexpr absl::string_view kCount = "\"known_trip_count\":{\"n\":\"";
  const std::string& text = loop->raw_backend_config_string();
  const size_t found = absl::string_view(text).find(kCount);
  if (found == absl::string_view::npos) return std::nullopt;
  absl::string_view rest = absl::string_view(text).substr(found + kCount.size());
  int64_t count = 0;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find('"')), &count) || count < 0) return std::nullopt;
  return static_cast<double>(count);
}

// The number of the element of the loop's state that an instruction of the loop reads.
std::optional<int64_t> Element(const xla::HloInstruction* instruction) {
  if (instruction->opcode() != xla::HloOpcode::kGetTupleElement ||
      instruction->operand_count() != 1 ||
      instruction->operand(0)->opcode() != xla::HloOpcode::kParameter) {
    return std::nullopt;
  }
  return instruction->tuple_index();
}

const xla::HloInstruction* TupleOperand(const xla::HloInstruction* tuple, int64_t number) {
  if (tuple->opcode() != xla::HloOpcode::kTuple || number >= tuple->operand_count()) return nullptr;
  return tuple->operand(number);
}

// The value of an element before the first iteration.
std::optional<int64_t> Initial(const xla::HloInstruction* loop, int64_t element) {
  const xla::HloInstruction* value = TupleOperand(loop->operand(0), element);
  return value == nullptr ? std::nullopt : Integer(value);
}

std::optional<int64_t> StepOf(const xla::HloInstruction* loop, int64_t counter) {
  const xla::HloInstruction* next = TupleOperand(loop->while_body()->root_instruction(), counter);
  int64_t sum = 0;
  // A loop that was unrolled adds its step several times.
  while (next != nullptr && next->opcode() == xla::HloOpcode::kAdd && next->operand_count() == 2) {
    const std::optional<int64_t> right = Integer(next->operand(1));
    const std::optional<int64_t> step = right.has_value() ? right : Integer(next->operand(0));
    if (!step.has_value()) return std::nullopt;
    sum += *step;
    next = next->operand(right.has_value() ? 0 : 1);
    if (Element(next) == counter) return sum == 0 ? std::nullopt : std::optional<int64_t>(sum);
  }
  return std::nullopt;
}

double Steps(int64_t from, int64_t to, int64_t step, bool inclusive) {
  const double distance = (static_cast<double>(to) - static_cast<double>(from)) / step;
  return std::max(0.0, inclusive ? std::floor(distance) + 1 : std::ceil(distance));
}

// How a loop counts: the first number and the step where they are constants, and the bound.
struct Counting {
  std::optional<int64_t> first;
  std::optional<int64_t> step;
  int64_t bound;
  xla::ComparisonDirection direction;
};

std::optional<Counting> CountingOf(const xla::HloInstruction* loop) {
  if (loop->operand_count() != 1) return std::nullopt;
  const xla::HloInstruction* test = loop->while_condition()->root_instruction();
  if (test->opcode() != xla::HloOpcode::kCompare || test->operand_count() != 2) {
    return std::nullopt;
  }
  const std::optional<int64_t> counter = Element(test->operand(0));
  std::optional<int64_t> bound = Integer(test->operand(1));
  if (const std::optional<int64_t> element = Element(test->operand(1)); element.has_value()) {
    bound = Initial(loop, *element);
  }
  if (!counter.has_value() || !bound.has_value()) return std::nullopt;
  return Counting{Initial(loop, *counter), StepOf(loop, *counter), *bound,
                  test->comparison_direction()};
}

// The number of iterations, 0 if the loop counts away from its bound.
std::optional<double> Iterations(xla::ComparisonDirection direction, int64_t first, int64_t step,
                                 int64_t bound) {
  switch (direction) {
    case xla::ComparisonDirection::kLt:
    case xla::ComparisonDirection::kGt:
    case xla::ComparisonDirection::kNe:
      return Steps(first, bound, step, /*inclusive=*/false);
    case xla::ComparisonDirection::kLe:
    case xla::ComparisonDirection::kGe:
      return Steps(first, bound, step, /*inclusive=*/true);
    default:
      return std::nullopt;
  }
}

bool CountsUp(xla::ComparisonDirection direction) {
  return direction == xla::ComparisonDirection::kLt || direction == xla::ComparisonDirection::kLe;
}

bool CountsDown(xla::ComparisonDirection direction) {
  return direction == xla::ComparisonDirection::kGt || direction == xla::ComparisonDirection::kGe;
}

}  // namespace

double TripCount(const xla::HloInstruction* loop) {
  if (const std::optional<double> known = Known(loop); known.has_value()) return *known;
  const std::optional<Counting> counting = CountingOf(loop);
  if (!counting.has_value()) return kUnknownTripCount;
  int64_t step = counting->step.value_or(1);
  if (CountsDown(counting->direction)) step = std::min<int64_t>(step, -1);
  return Iterations(counting->direction, counting->first.value_or(0), step, counting->bound)
      .value_or(kUnknownTripCount);
}

std::optional<double> ConstantTripCount(const xla::HloInstruction* loop) {
  const std::optional<Counting> counting = CountingOf(loop);
  if (!counting.has_value() || !counting->first.has_value() || !counting->step.has_value()) {
    return std::nullopt;
  }
  if (!(CountsUp(counting->direction) && *counting->step > 0) &&
      !(CountsDown(counting->direction) && *counting->step < 0)) {
    return std::nullopt;
  }
  return Iterations(counting->direction, *counting->first, *counting->step, counting->bound);
}

}  // namespace hlograph
