// Sums, maxima and minima of few elements, of an expression of broadcasts, as sums of slices.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/broadcast_sums.h"
#include "hlograph/native/rewrites/forms/forms.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace hlograph {
namespace {

using Opcode = xla::HloOpcode;

constexpr int64_t kMaxLength = 16;
constexpr int64_t kMaxAdded = 256;  // instructions
constexpr int kMaxSumDepth = 8;

bool IsSliceable(const Instruction* at) {
  switch (at->opcode()) {
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kCompare:
      return IsPlain(at) &&
             std::all_of(at->operands().begin(), at->operands().end(),
                         [&](const Instruction* operand) {
                           return operand->shape().IsArray() && operand->shape().is_static() &&
                                  xla::ShapeUtil::SameDimensions(operand->shape(), at->shape());
                         });
    default:
      return IsPointwise(at);
  }
}

// Collects the instructions of an expression of broadcasts, operands first. False if it has others.
bool Collect(const Instruction* at, int depth, std::vector<const Instruction*>& found) {
  if (std::find(found.begin(), found.end(), at) != found.end()) return true;
  if (depth > kMaxSumDepth || static_cast<int64_t>(found.size()) > kMaxAdded) return false;
  if (!IsBroadcast(at)) {
    if (!IsSliceable(at)) return false;
    for (const Instruction* operand : at->operands()) {
      if (!Collect(operand, depth + 1, found)) return false;
    }
  }
  found.push_back(at);
  return true;
}

// Broadcasts of arrays, each of which lacks some dimension that is kept.
int64_t CountPartial(const std::vector<const Instruction*>& expression, int64_t reduced) {
  return std::count_if(expression.begin(), expression.end(), [&](const Instruction* at) {
    const int64_t rank = at->shape().dimensions().size();
    if (!IsBroadcast(at) || at->dimensions().empty()) return false;
    const bool has = std::count(at->dimensions().begin(), at->dimensions().end(), reduced) > 0;
    return static_cast<int64_t>(at->dimensions().size()) - has < rank - 1;
  });
}

class ShortSumAsSlices : public FormRule {
 public:
  using FormRule::FormRule;

  Reach reach() const override { return {.operands = kMaxSumDepth + 4}; }

 protected:
  bool Matches(const Instruction* reduce) const override {
    if (!OpcodeOf(reduce).has_value() || reduce->dimensions().size() != 1) return false;
    const Instruction* const whole = reduce->operand(0);
    const int64_t length = whole->shape().dimensions(reduce->dimensions(0));
    std::vector<const Instruction*> expression;
    return length > 1 && length <= kMaxLength && !IsBroadcast(whole) &&
           Collect(whole, 0, expression) &&
           static_cast<int64_t>(expression.size()) * length <= kMaxAdded &&
           CountPartial(expression, reduce->dimensions(0)) >= 2;
  }

  Instruction* Build(Instruction* reduce) const override {
    const int64_t length = reduce->operand(0)->shape().dimensions(reduce->dimensions(0));
    std::vector<const Instruction*> expression;
    Collect(reduce->operand(0), 0, expression);
    const Builder build(reduce);
    Instruction* total = nullptr;
    for (int64_t i = 0; i < length; ++i) {
      std::map<const Instruction*, Instruction*> sliced;
      for (const Instruction* at : expression) sliced[at] = Sliced(build, reduce, at, i, sliced);
      Instruction* const value = sliced.at(reduce->operand(0));
      total = total == nullptr ? value : build.Binary(*OpcodeOf(reduce), total, value);
    }
    return total;
  }

 private:
  // What combines the elements.
  static std::optional<Opcode> OpcodeOf(const Instruction* reduce) {
    const xla::PrimitiveType type = reduce->shape().element_type();
    if (type != xla::F32 && type != xla::F64 && type != xla::S32) return std::nullopt;
    for (Opcode opcode : {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum}) {
      if (IsReductionBy(reduce, opcode)) return opcode;
    }
    return std::nullopt;
  }

  static Instruction* Sliced(const Builder& build, Instruction* reduce, const Instruction* at,
                             int64_t index,
                             const std::map<const Instruction*, Instruction*>& sliced) {
    if (IsBroadcast(at)) return SlicedBroadcast(build, reduce, at, index);
    std::vector<Instruction*> operands;
    for (const Instruction* operand : at->operands()) operands.push_back(sliced.at(operand));
    return AddLike(const_cast<Instruction*>(at), Retyped(reduce->shape(), at), operands);
  }

  static Instruction* SlicedBroadcast(const Builder& build, Instruction* reduce,
                                      const Instruction* broadcast, int64_t index) {
    const int64_t reduced = reduce->dimensions(0);
    Instruction* array = const_cast<Instruction*>(broadcast->operand(0));
    std::vector<int64_t> sizes, places;
    for (size_t i = 0; i < broadcast->dimensions().size(); ++i) {
      const int64_t place = broadcast->dimensions(i);
      if (place == reduced) {
        array = build.SliceOf(array, i, index, index + 1);
      } else {
        sizes.push_back(array->shape().dimensions(i));
        places.push_back(place > reduced ? place - 1 : place);
      }
    }
    Instruction* const flat = build.Reshape(array, sizes);
    return build.Broadcast(flat, reduce->shape().dimensions(), places);
  }
};

}  // namespace

const RuleTopic kShortSumForms(312, [](std::vector<RulePtr>& rules) {
  rules.push_back(std::make_unique<ShortSumAsSlices>(
      Identity{"short-sum-as-slices", "Σ f(x, y) = f(x₀, y₀) + f(x₁, y₁) + ...",
               "Adds the few elements of a sum over broadcasts, such as a squared distance in "
               "space, one by one; likewise maxima and minima."}));
});

}  // namespace hlograph
