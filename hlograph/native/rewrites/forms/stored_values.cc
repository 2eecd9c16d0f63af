// Values that are computed and stored before a user that would compute them again for each element
// that it reads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int kStoredDepth = 4;
constexpr size_t kMaxStored = 16;  // instructions that are computed with a value
constexpr int64_t kLeastStored = 1024;
constexpr int kSumDepth = 24;
// With fewer arrays, what is computed again takes about as long as to store it.
constexpr size_t kLeastRead = 12;

// Returns true for operations that take many instructions.
bool IsCostlyOperation(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCbrt:
    case Opcode::kCos:
    case Opcode::kDivide:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kPower:
    case Opcode::kRemainder:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
      return true;
    default:
      return false;
  }
}

// Returns true for a sine, cosine or tangent, and what is computed from one by cheap operations.
// XLA takes them for cheap, and computes them again for each element of a broadcast.
bool IsTrigonometric(const Instruction* value, int depth) {
  if (!IsPointwise(value)) return false;
  switch (value->opcode()) {
    case Opcode::kCos:
    case Opcode::kSin:
    case Opcode::kTan:
      return true;
    default:
      return depth > 0 && !IsCostlyOperation(value->opcode()) &&
             absl::c_any_of(value->operands(), [&](const Instruction* operand) {
               return IsTrigonometric(operand, depth - 1);
             });
  }
}

bool IsConstantScalar(const Instruction* value) {
  return value->opcode() == Opcode::kConstant && xla::ShapeUtil::IsScalar(value->shape());
}

// Returns true for elementwise operations that XLA computes again for each of their users.
bool IsCheapPointwise(const Instruction* value) {
  return IsPointwise(value) && !IsCostlyOperation(value->opcode());
}

// Collects what is computed together with a value, operands first: cheap elementwise operations
// and broadcasts before it.
void CollectStored(Instruction* value, int depth, std::vector<Instruction*>& found) {
  if (absl::c_linear_search(found, value)) return;
  for (Instruction* operand : value->operands()) {
    const bool is_cheap =
        IsCheapPointwise(operand) || IsBroadcast(operand) || IsConstantScalar(operand);
    if (is_cheap && depth > 0 && found.size() < kMaxStored) {
      CollectStored(operand, depth - 1, found);
    }
  }
  if (!absl::c_linear_search(found, value)) found.push_back(value);
}

// Computes a value in a computation that is called, and not inlined: XLA moves no operation across
// such a call, and fuses nothing. (It removes barriers before it forms loop fusions.)
Instruction* Stored(Instruction* value) {
  std::vector<Instruction*> inside;
  CollectStored(value, kStoredDepth, inside);
  xla::HloComputation::Builder builder("stored");
  std::map<const Instruction*, Instruction*> copies;
  std::vector<Instruction*> arguments;
  for (Instruction* one : inside) {
    std::vector<Instruction*> operands;
    for (Instruction* operand : one->operands()) {
      Instruction*& copy = copies[operand];
      if (copy == nullptr) {
        const auto number = static_cast<int64_t>(arguments.size());
        copy = builder.AddInstruction(Instruction::CreateParameter(
            number, operand->shape(), "argument" + std::to_string(number)));
        arguments.push_back(operand);
      }
      operands.push_back(copy);
    }
    copies[one] = builder.AddInstruction(one->CloneWithNewOperands(one->shape(), operands));
  }
  xla::HloComputation* const computation =
      value->GetModule()->AddEmbeddedComputation(builder.Build());
  Instruction* const call =
      value->AddInstruction(Instruction::CreateCall(value->shape(), arguments, computation));
  call->set_frontend_attribute("inlineable", "false");
  return call;
}

// Returns true if a value is repeated many times: by a broadcast, after others that do not.
bool IsRepeated(const Instruction* value, const Instruction* of, int hops) {
  return absl::c_any_of(of->users(), [&](const Instruction* user) {
    if (!IsBroadcast(user) && !IsRearrangement(user)) return false;
    if (SizeOf(user) >= kLeastStored && SizeOf(user) >= 4 * SizeOf(value)) return true;
    return hops > 1 && IsRepeated(value, user, hops - 1);
  });
}

// Returns true for an operand with about as many elements as a value, which are no repetitions.
bool IsLargeOperand(const Instruction* operand, const Instruction* value) {
  return 2 * SizeOf(operand) >= SizeOf(value) && !IsBroadcast(operand);
}

// Collects the large arrays that a kernel reads to compute a value, as far as XLA fuses cheap
// operations into it, until there are kLeastRead.
void CollectRead(const Instruction* value, int depth, std::set<const Instruction*>& seen,
                 std::set<const Instruction*>& read) {
  for (const Instruction* operand : value->operands()) {
    if (read.size() >= kLeastRead) return;
    if (!IsLargeOperand(operand, value) || !seen.insert(operand).second) continue;
    if (depth > 0 && (IsCheapPointwise(operand) || IsRearrangement(operand))) {
      CollectRead(operand, depth - 1, seen, read);
    } else {
      read.insert(operand);
    }
  }
}

// Returns true if one operand alone is large, and shared as well: it is to be stored, not the
// value.
bool HasSharedOperand(const Instruction* value) {
  const Instruction* only = nullptr;
  for (const Instruction* operand : value->operands()) {
    if (!IsLargeOperand(operand, value) || operand == only) continue;
    if (only != nullptr) return false;
    only = operand;
  }
  return only != nullptr && IsCheapPointwise(only) && only->user_count() > 1;
}

// A value that is stored where its users make it worth it.
class StoredValue : public FormRule {
 public:
  using Test = bool (*)(const Instruction* value);

  StoredValue(Identity identity, Test is_stored, Reach reach)
      : FormRule(std::move(identity)), is_stored_(is_stored), reach_(reach) {}

  Reach reach() const override { return reach_; }

  static constexpr Reach kOfUsers{.operands = kStoredDepth + 2, .users = 4};
  static constexpr Reach kOfSums{.operands = kSumDepth + 1, .users = 1};

  static bool IsGatheredTable(const Instruction* value) {
    return SizeOf(value) >= kLeastStored && absl::c_any_of(value->users(), [&](const auto* user) {
             return user->opcode() == Opcode::kGather && user->operand(0) == value;
           });
  }

  static bool IsRepeatedSine(const Instruction* value) {
    return IsTrigonometric(value, kSineDepth) && IsRepeated(value, value, kOfUsers.users);
  }

  // XLA computes the sum again for each user, and reads all that was added: in a network whose
  // layers add to their input, all layers so far.
  static bool IsSharedSum(const Instruction* value) {
    if (!IsFloat(value) || SizeOf(value) < kLeastStored || value->user_count() < 2 ||
        !IsCheapPointwise(value) || HasSharedOperand(value)) {
      return false;
    }
    std::set<const Instruction*> seen, read;
    CollectRead(value, kSumDepth, seen, read);
    return read.size() >= kLeastRead;
  }

 protected:
  bool Matches(const Instruction* value) const override {
    return IsPointwise(value) && is_stored_(value);
  }

  Instruction* Build(Instruction* value) const override { return Stored(value); }

 private:
  static constexpr int kSineDepth = 2;

  Test is_stored_;
  Reach reach_;
};

}  // namespace

const RuleTopic kStoredValueForms(325, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<StoredValue>(
      Identity{"stored-gather-table", "f(x)[i] = y = f(x); y[i]",
               "Stores a table before it is gathered from, instead of computing each element that "
               "is gathered.",
               Numerics::kExact},
      StoredValue::IsGatheredTable, StoredValue::kOfUsers));
  rules.push_back(std::make_unique<StoredValue>(
      Identity{"stored-repeated-sine", "B(sin x) = y = sin x; B(y)",
               "Stores sines, cosines or tangents before they are repeated, instead of computing "
               "each repetition.",
               Numerics::kExact},
      StoredValue::IsRepeatedSine, StoredValue::kOfUsers));
  rules.push_back(std::make_unique<StoredValue>(
      Identity{
          "stored-shared-sum",
          "f(a + b + ... + n), g(a + b + ... + n) = y = a + ... + n; f(y), g(y)",
          "Stores what is computed from twelve arrays or more before several users, instead of "
          "computing it again for each.",
          Numerics::kExact},
      StoredValue::IsSharedSum, StoredValue::kOfSums));
});

}  // namespace hlograph
