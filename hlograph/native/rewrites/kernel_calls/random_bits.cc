// Random bits of JAX's generator as calls of a native kernel.
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/forms/views.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int kRounds = 4;  // of an iteration
constexpr int kIterations = 5;
constexpr int kMaxTerms = 8;  // of a count
constexpr int64_t kMostElements = int64_t{1} << 40;
constexpr int kMaxViews = 8;  // of an iota that is a term, of keys, and of counts
constexpr std::array<uint32_t, kRounds> kRotations[2] = {{13, 15, 26, 6}, {17, 29, 16, 24}};

// Returns true for this operation on two arrays like its result.
bool IsOf(const Instruction* binary, Opcode opcode) {
  return binary->opcode() == opcode && IsPlain(binary) && binary->operand_count() == 2 &&
         SameArray(binary, binary->operand(0)) && SameArray(binary, binary->operand(1));
}

// Returns the scalar that an array has everywhere; null if it is no broadcast of one.
const Instruction* ScalarOf(const Instruction* array) {
  array = Forwarded(array);
  return IsUniform(array) ? Forwarded(array->operand(0)) : nullptr;
}

// The dimensions of an array that are longer than one.
std::vector<int64_t> LongDimensions(const Instruction* array) {
  std::vector<int64_t> dimensions;
  for (int64_t i = 0; i < RankOf(array); ++i) {
    if (array->shape().dimensions(i) != 1) dimensions.push_back(i);
  }
  return dimensions;
}

// What an array repeats, and the dimensions of the array along which it does not.
struct Repeated {
  const Instruction* source = nullptr;
  std::vector<int64_t> dimensions;  // by dimension of the source that is longer than one
};

Repeated FindRepeated(const Instruction* array) {
  View view(Forwarded(array));
  for (int hops = 0; hops < kMaxViews && StepToOperand(view); ++hops) {
    view.source = Forwarded(view.source);
  }
  Repeated repeated{view.source, {}};
  for (int64_t dimension : LongDimensions(view.source)) {
    repeated.dimensions.push_back(view.dimensions[dimension]);
  }
  return repeated;
}

// A loop of ThreeFry-2x32, of 20 rounds on two arrays of halves.
struct Rounds {
  int64_t left = 0, right = 0;       // elements: both halves
  std::array<int64_t, 3> keys = {};  // elements, in the order in which the left half adds them
  std::vector<int64_t> dimensions;   // of the rows, each of which has keys of its own
};

// Reads an iteration backwards: what is added last is found first.
class RoundsFinder {
 public:
  explicit RoundsFinder(const CountedLoop& loop)
      : loop_(loop), parameter_(loop.body()->parameter_instruction(0)) {}

  std::optional<Rounds> Find(int64_t left, int64_t right) const {
    Rounds rounds{left, right};
    const Instruction* const left_sum = loop_.results[left];
    const Instruction* const numbered = loop_.results[right];
    if (loop_.trips != kIterations || !IsOf(left_sum, Opcode::kAdd) ||
        left_sum->shape().element_type() != xla::U32 || !IsOf(numbered, Opcode::kAdd) ||
        !SameArray(left_sum, numbered) || !IsNumber(ScalarOf(numbered->operand(1)))) {
      return std::nullopt;
    }
    const Instruction* const right_sum = Forwarded(numbered->operand(0));
    if (!IsOf(right_sum, Opcode::kAdd) ||
        !AreKeys(FindRepeated(left_sum->operand(1)), FindRepeated(right_sum->operand(1)), rounds) ||
        !AreRounds(Forwarded(left_sum->operand(0)), Forwarded(right_sum->operand(0)), rounds)) {
      return std::nullopt;
    }
    return rounds;
  }

 private:
  int64_t Element(const Instruction* value) const {
    return value == nullptr ? -1 : ElementOf(Forwarded(value), parameter_);
  }

  // Returns true for the number of the iteration, from one.
  bool IsNumber(const Instruction* scalar) const {
    if (scalar == nullptr) return false;
    const std::optional<Affine> number = FindAffine(loop_, scalar);
    return number.has_value() && number->base == 1 && number->slope == 1;
  }

  // Finds the keys that are added to both halves, and the third one, which are exchanged in turns.
  bool AreKeys(const Repeated& of_left, const Repeated& of_right, Rounds& rounds) const {
    auto& [first, second, third] = rounds.keys;
    first = Element(of_left.source);
    second = Element(of_right.source);
    rounds.dimensions = of_left.dimensions;
    if (of_right.dimensions != rounds.dimensions) return false;
    if (first < 0 || second < 0 || Element(loop_.results[first]) != second) return false;
    third = Element(loop_.results[second]);
    return third >= 0 && third != first && Element(loop_.results[third]) == first && IsKey(first) &&
           IsKey(second) && IsKey(third);
  }

  bool IsKey(int64_t element) const {
    return loop_.loop->shape().tuple_shapes(element).element_type() == xla::U32;
  }

  // Returns true for what four rounds make of both halves: left += right, right = left ^ rotated.
  bool AreRounds(const Instruction* left, const Instruction* right, const Rounds& rounds) const {
    std::optional<int64_t> rotations;
    for (int round = kRounds - 1; round >= 0; --round) {
      if (!IsOf(left, Opcode::kAdd) || !IsOf(right, Opcode::kXor) ||
          Forwarded(right->operand(0)) != left) {
        return false;
      }
      const Instruction* const earlier = Forwarded(left->operand(1));
      const int64_t element = RotationsOf(Forwarded(right->operand(1)), earlier, round);
      if (element < 0 || element != rotations.value_or(element)) return false;
      rotations = element;
      right = earlier;
      left = Forwarded(left->operand(0));
    }
    return Element(left) == rounds.left && Element(right) == rounds.right &&
           AreRotations(*rotations);
  }

  // Returns the element of the numbers of bits by one of which an array is rotated; -1 if it is
  // not. `rotated` is array << by | array >> (32 - by).
  int64_t RotationsOf(const Instruction* rotated, const Instruction* array, int round) const {
    if (!IsOf(rotated, Opcode::kOr)) return -1;
    const Instruction* const up = Forwarded(rotated->operand(0));
    const Instruction* const down = Forwarded(rotated->operand(1));
    if (!IsOf(up, Opcode::kShiftLeft) || !IsOf(down, Opcode::kShiftRightLogical) ||
        Forwarded(up->operand(0)) != array || Forwarded(down->operand(0)) != array) {
      return -1;
    }
    const Instruction* const by = ScalarOf(up->operand(1));
    const Instruction* const rest = ScalarOf(down->operand(1));
    if (by == nullptr || rest == nullptr || !IsOf(rest, Opcode::kSubtract) ||
        !IsConstantOf(Forwarded(rest->operand(0)), 32) || Forwarded(rest->operand(1)) != by ||
        by->opcode() != Opcode::kReshape || !IsRearrangement(by)) {
      return -1;
    }
    const Instruction* const slice = Forwarded(by->operand(0));
    const bool takes_one = IsSlice(slice) && RankOf(slice) == 1 && slice->slice_starts(0) == round;
    return takes_one ? Element(slice->operand(0)) : -1;
  }

  // Returns true for the rotations of the first iteration, and those that they are exchanged with.
  bool AreRotations(int64_t element) const {
    const int64_t other = Element(loop_.results[element]);
    const Instruction* const initial = loop_.loop->operand(0);
    return other >= 0 && other != element && Element(loop_.results[other]) == element &&
           initial->opcode() == Opcode::kTuple && Has(initial->operand(element), kRotations[0]) &&
           Has(initial->operand(other), kRotations[1]);
  }

  static bool Has(const Instruction* constant, absl::Span<const uint32_t> numbers) {
    return constant->opcode() == Opcode::kConstant && RankOf(constant) == 1 &&
           constant->shape().element_type() == xla::U32 &&
           constant->literal().data<uint32_t>() == numbers;
  }

  const CountedLoop& loop_;
  const Instruction* parameter_;
};

// Adds to the steps of a count along each dimension; false if it is no sum of iotas, each times a
// constant.
bool AddSteps(const Instruction* count, int64_t factor, int terms, std::vector<int64_t>& steps) {
  count = Forwarded(count);
  if (terms > kMaxTerms) return false;
  if (IsOf(count, Opcode::kAdd)) {
    return AddSteps(count->operand(0), factor, terms + 1, steps) &&
           AddSteps(count->operand(1), factor, terms + 1, steps);
  }
  if (IsOf(count, Opcode::kMultiply)) {
    const Instruction* const constant = ScalarOf(count->operand(1));
    if (constant == nullptr || constant->opcode() != Opcode::kConstant || factor != 1) return false;
    const std::optional<int64_t> value = constant->literal().GetIntegralAsS64({});
    return value.has_value() && *value > 0 && *value < kMostElements &&
           AddSteps(count->operand(0), *value, terms + 1, steps);
  }
  View view(count);
  for (int hops = 0; hops < kMaxViews && StepToOperand(view); ++hops) {
  }
  const Instruction* const iota = view.source;
  if (iota->opcode() != Opcode::kIota || !IsPlain(iota)) return false;
  const int64_t dimension = xla::Cast<xla::HloIotaInstruction>(iota)->iota_dimension();
  if (dimension < 0 || dimension >= RankOf(iota)) return false;
  if (view.dimensions[dimension] >= 0) steps[view.dimensions[dimension]] += factor;
  return true;
}

// Returns true for the number of each element of an array, in their order, as 64 bits.
bool AreCounts(const Instruction* counts) {
  if (counts->opcode() == Opcode::kReshape && IsRearrangement(counts)) counts = counts->operand(0);
  if (!IsPlain(counts) || counts->shape().element_type() != xla::U64) return false;
  const absl::Span<const int64_t> sizes = counts->shape().dimensions();
  std::vector<int64_t> steps(sizes.size(), 0);
  if (!AddSteps(counts, 1, 0, steps)) return false;
  int64_t step = 1;
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
    if (sizes[i] != 1 && steps[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

// Bits of counts: what is added to both halves of the counts, and the loop.
struct RandomBits {
  const Instruction* loop = nullptr;
  Rounds rounds;
  const Instruction* of_upper = nullptr;
  const Instruction* of_lower = nullptr;
};

// Returns the counts of which a half is taken as 32 bits; null if it is not.
const Instruction* CountsOf(const Instruction* half, bool is_upper) {
  if (half->opcode() != Opcode::kConvert || !IsPointwise(half)) return nullptr;
  const Instruction* counts = Forwarded(half->operand(0));
  if (!is_upper) return counts;
  if (!IsOf(counts, Opcode::kShiftRightLogical)) return nullptr;
  const Instruction* const by = ScalarOf(counts->operand(1));
  return by != nullptr && IsConstantOf(by, 32) ? Forwarded(counts->operand(0)) : nullptr;
}

bool IsZero(const Instruction* instruction) {
  return instruction->opcode() == Opcode::kConstant && instruction->literal().IsAll(0);
}

// Returns true for both halves of counts that begin anew in each row; of rows of one number, they
// are zero. `rows` are the dimensions of the rows.
bool AreHalvesOfCounts(const Instruction* upper, const Instruction* lower,
                       const std::vector<int64_t>& rows) {
  const Repeated upper_half = FindRepeated(upper), lower_half = FindRepeated(lower);
  std::vector<int64_t> all = rows;
  absl::c_copy(lower_half.dimensions, std::back_inserter(all));
  if (all != LongDimensions(lower) || upper_half.dimensions != lower_half.dimensions) return false;
  if (!rows.empty() && rows == all && IsZero(upper_half.source) && IsZero(lower_half.source)) {
    return true;
  }
  const Instruction* const counts = CountsOf(lower_half.source, /*is_upper=*/false);
  return counts != nullptr && counts == CountsOf(upper_half.source, /*is_upper=*/true) &&
         AreCounts(counts);
}

// Finds the keys that are added to both halves of counts.
bool FindSums(const Instruction* upper, const Instruction* lower, RandomBits& bits) {
  if (!IsOf(upper, Opcode::kAdd) || !IsOf(lower, Opcode::kAdd)) return false;
  const std::vector<int64_t>& rows = bits.rounds.dimensions;
  const Repeated of_upper = FindRepeated(upper->operand(1));
  const Repeated of_lower = FindRepeated(lower->operand(1));
  bits.of_upper = of_upper.source;
  bits.of_lower = of_lower.source;
  return of_upper.dimensions == rows && of_lower.dimensions == rows &&
         xla::ShapeUtil::ElementsIn(of_upper.source->shape()) <= INT32_MAX &&
         AreHalvesOfCounts(upper->operand(0), lower->operand(0), rows);
}

std::optional<RandomBits> FindBits(const Instruction* bits) {
  if (!IsOf(bits, Opcode::kXor) || bits->shape().element_type() != xla::U32) return std::nullopt;
  const Instruction* const left = Forwarded(bits->operand(0));
  const Instruction* const right = Forwarded(bits->operand(1));
  if (left->opcode() != Opcode::kGetTupleElement || left->operand(0)->opcode() != Opcode::kWhile) {
    return std::nullopt;
  }
  RandomBits found{left->operand(0)};
  const std::optional<CountedLoop> loop = FindCountedLoop(found.loop);
  if (!loop.has_value() || found.loop->operand(0)->opcode() != Opcode::kTuple) return std::nullopt;
  const int64_t halves[] = {ElementOf(left, found.loop), ElementOf(right, found.loop)};
  if (halves[0] < 0 || halves[1] < 0) return std::nullopt;
  const auto rounds = RoundsFinder(*loop).Find(halves[0], halves[1]);
  if (!rounds.has_value()) return std::nullopt;
  found.rounds = *rounds;
  const Instruction* const upper = Forwarded(found.loop->operand(0)->operand(rounds->left));
  const Instruction* const lower = Forwarded(found.loop->operand(0)->operand(rounds->right));
  if (!FindSums(upper, lower, found)) return std::nullopt;
  return found;
}

class KernelThreefry : public KernelRule {
 public:
  using KernelRule::KernelRule;

  Reach reach() const override {
    return {.operands = 2 * kMaxTerms + 2 * kMaxViews + 8, .users = 0};
  }

 protected:
  bool Matches(const Instruction* bits) const override { return FindBits(bits).has_value(); }

  Instruction* Build(Instruction* bits) const override {
    const RandomBits random = *FindBits(bits);
    std::vector<Instruction*> operands = {const_cast<Instruction*>(random.of_upper),
                                          const_cast<Instruction*>(random.of_lower)};
    auto* const initial = const_cast<Instruction*>(random.loop->operand(0));
    for (int64_t key : random.rounds.keys) operands.push_back(TakeElement(initial, key));
    return AddCall(bits, operands, {bits->shape()});
  }
};

}  // namespace

const RuleTopic kRandomKernels(404, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<KernelThreefry>(
      Identity{"kernel-threefry", "bits(k, n) = kernel(k, n)",
               "Draws random bits by JAX's generator in vectors that stay in registers for all "
               "rounds.",
               Numerics::kExact},
      "threefry"));
});

}  // namespace hlograph
