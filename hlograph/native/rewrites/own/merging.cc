// Two products that share an operand become one, as the query, key and value of attention do.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/products.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

class MergeProducts : public OwnRule {
 public:
  MergeProducts(Identity identity, xla::HloOpcode opcode, int shared)
      : OwnRule(std::move(identity)), opcode_(opcode), shared_(shared) {}

  // Each with the nearest one before that it can be merged with: merged products can be merged
  // again, so that all are reached.
  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override {
    std::unordered_map<const Instruction*, std::vector<Instruction*>> by_shared;
    for (Instruction* instruction : computation->MakeInstructionPostOrder()) {
      if (!IsProduct(instruction, opcode_)) continue;
      std::vector<Instruction*>& before = by_shared[instruction->operand(shared_)];
      for (auto other = before.rbegin(); other != before.rend(); ++other) {
        if (!Matches({instruction, *other})) continue;
        places.push_back({instruction, *other});
        break;
      }
      before.push_back(instruction);
    }
  }

  bool Matches(Place place) const override {
    return IsProduct(place.instruction, opcode_) && IsProduct(place.other, opcode_) &&
           place.instruction->operand(shared_) == place.other->operand(shared_) &&
           SameProduct(place.instruction, place.other) && FindDimension(place).has_value() &&
           AreIndependent(place.instruction, place.other);
  }

  absl::Status Apply(Place place) const override {
    const ResultDimension dimension = *FindDimension(place);
    Instruction* const first = place.other;
    Instruction* const joint = AddConcatenate(
        first,
        {first->mutable_operand(1 - shared_), place.instruction->mutable_operand(1 - shared_)},
        dimension.operand);
    const int64_t size = joint->shape().dimensions(dimension.operand);
    Instruction* const product = AddLike(first, Resized(first->shape(), dimension.result, size),
                                         OperandsWith(first, 1 - shared_, joint));
    int64_t start = 0;
    for (Instruction* part : {first, place.instruction}) {
      const int64_t limit = start + part->shape().dimensions(dimension.result);
      Instruction* const slice = AddSlice(part, product, dimension.result, start, limit);
      absl::Status status = part->parent()->ReplaceInstruction(part, slice);
      if (!status.ok()) return status;
      start = limit;
    }
    return absl::OkStatus();
  }

  Reach reach() const override { return {.operands = 1, .users = 0, .paths = true}; }

 private:
  // Where the operands that are not shared are concatenated.
  std::optional<ResultDimension> FindDimension(Place place) const {
    for (ResultDimension dimension : FreeDimensions(place.instruction, 1 - shared_)) {
      if (SameElsewhere(place.instruction->operand(1 - shared_)->shape(),
                        place.other->operand(1 - shared_)->shape(), dimension.operand)) {
        return dimension;
      }
    }
    return std::nullopt;
  }

  static Instruction* AddSlice(Instruction* part, Instruction* whole, int64_t dimension,
                               int64_t start, int64_t limit) {
    const int64_t rank = whole->shape().dimensions().size();
    std::vector<int64_t> starts(rank, 0), strides(rank, 1);
    std::vector<int64_t> limits(whole->shape().dimensions().begin(),
                                whole->shape().dimensions().end());
    starts[dimension] = start;
    limits[dimension] = limit;
    return part->AddInstruction(
        Instruction::CreateSlice(part->shape(), whole, starts, limits, strides));
  }

  xla::HloOpcode opcode_;
  int shared_;
};

}  // namespace

const RuleTopic kMergingRules(100, [](std::vector<RulePtr>& rules) {
  using Opcode = xla::HloOpcode;
  rules.push_back(
      std::make_unique<MergeProducts>(Identity{"merge-dots:lhs", "x·v, x·w = slices of x·[v w]",
                                               "Computes two dots of one left operand in one."},
                                      Opcode::kDot, 0));
  rules.push_back(
      std::make_unique<MergeProducts>(Identity{"merge-dots:rhs", "x·w, y·w = slices of [x y]·w",
                                               "Computes two dots of one right operand in one."},
                                      Opcode::kDot, 1));
  rules.push_back(std::make_unique<MergeProducts>(
      Identity{"merge-convolutions:input", "x*k, x*l = slices of x*[k l]",
               "Computes two convolutions of one input in one, of more output features."},
      Opcode::kConvolution, 0));
  rules.push_back(std::make_unique<MergeProducts>(
      Identity{"merge-convolutions:kernel", "x*k, y*k = slices of [x y]*k",
               "Computes two convolutions by one kernel in one, of a larger batch."},
      Opcode::kConvolution, 1));
});

}  // namespace hlograph
