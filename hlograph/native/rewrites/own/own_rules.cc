#include "hlograph/native/rewrites/own/own_rules.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace hlograph {
namespace {

class OwnApplier : public Applier {
 public:
  explicit OwnApplier(const OwnRule& rule) : rule_(rule) {}

  absl::StatusOr<bool> At(Place place) override {
    if (!rule_.Matches(place)) return false;
    absl::Status status = rule_.Apply(place);
    if (!status.ok()) return status;
    return true;
  }

 private:
  const OwnRule& rule_;
};

bool Needs(const Instruction* user, const Instruction* value) {
  absl::flat_hash_set<const Instruction*> seen = {user};
  std::vector<const Instruction*> waiting = {user};
  const auto visit = [&](const auto& before) {
    for (const Instruction* one : before) {
      if (seen.insert(one).second) waiting.push_back(one);
    }
  };
  while (!waiting.empty()) {
    const Instruction* const current = waiting.back();
    waiting.pop_back();
    if (current == value) return true;
    visit(current->operands());
    visit(current->control_predecessors());
  }
  return false;
}

}  // namespace

std::unique_ptr<Applier> OwnRule::For(xla::HloComputation* /*computation*/) const {
  return std::make_unique<OwnApplier>(*this);
}

void InstructionRule::Propose(xla::HloComputation* computation, std::vector<Place>& places) const {
  ProposeWhere(
      computation, [&](const Instruction* instruction) { return Matches(instruction); }, places);
}

absl::Status InstructionRule::Apply(Place place) const {
  Instruction* const built = Build(place.instruction);
  return place.instruction->parent()->ReplaceInstruction(place.instruction, built);
}

bool AreIndependent(const Instruction* one, const Instruction* two) {
  return !Needs(one, two) && !Needs(two, one);
}

xla::Shape Resized(xla::Shape shape, int64_t dimension, int64_t size) {
  shape.set_dimensions(dimension, size);
  return shape;
}

xla::Shape Retyped(const xla::Shape& shape, const Instruction* typed) {
  return xla::ShapeUtil::ChangeElementType(shape, typed->shape().element_type());
}

Instruction* AddLike(Instruction* like, const xla::Shape& shape,
                     absl::Span<Instruction* const> operands) {
  std::unique_ptr<Instruction> copy = like->CloneWithNewOperands(shape, operands);
  copy->set_original_value(nullptr);  // it is another value
  return like->parent()->AddInstruction(std::move(copy));
}

Instruction* AddConcatenate(Instruction* place, absl::Span<Instruction* const> operands,
                            int64_t dimension) {
  int64_t size = 0;
  for (const Instruction* operand : operands) size += operand->shape().dimensions(dimension);
  return place->AddInstruction(Instruction::CreateConcatenate(
      Resized(operands.front()->shape(), dimension, size), operands, dimension));
}

Instruction* AddBroadcast(Instruction* broadcast, const xla::Shape& shape,
                          absl::Span<const int64_t> dimensions) {
  return broadcast->AddInstruction(
      Instruction::CreateBroadcast(shape, broadcast->mutable_operand(0), dimensions));
}

}  // namespace hlograph
