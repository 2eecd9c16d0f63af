// Rules of our own: identities of linear algebra that XLA's passes do not use.
//
// Each rule recognizes a pattern without changing anything. It applies wherever the pattern
// matches; whether the result is cheaper is not checked.
#ifndef HLOGRAPH_NATIVE_REWRITES_OWN_OWN_RULES_H_
#define HLOGRAPH_NATIVE_REWRITES_OWN_OWN_RULES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/shape.h"

namespace xla {
class HloComputation;
}  // namespace xla

namespace hlograph {

// Name, equation and description of a rule of our own, and the class of its results.
struct Identity {
  std::string name;
  std::string equation;
  std::string description;
  Numerics numerics = Numerics::kClose;
};

class OwnRule : public Rule {
 public:
  explicit OwnRule(Identity identity, Purpose purpose = Purpose::kGeneral)
      : Rule(std::move(identity.name), /*xla_code=*/"", std::move(identity.description),
             std::move(identity.equation), purpose, identity.numerics) {}

  std::unique_ptr<Applier> For(xla::HloComputation* computation) const override;

  // Returns true if the pattern matches at a place.
  virtual bool Matches(Place place) const = 0;
  // Replaces the pattern at a place where it matches.
  virtual absl::Status Apply(Place place) const = 0;
};

// A rule at single instructions, which reads their operands and the operands of these.
class InstructionRule : public OwnRule {
 public:
  using OwnRule::OwnRule;

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override;
  bool Matches(Place place) const override { return Matches(place.instruction); }
  absl::Status Apply(Place place) const override;
  Reach reach() const override { return {.operands = 2, .users = 0}; }

 protected:
  virtual bool Matches(const Instruction* instruction) const = 0;
  // Returns the replacement of an instruction that matches.
  virtual Instruction* Build(Instruction* instruction) const = 0;
};

// Returns true if neither instruction depends on the other.
bool AreIndependent(const Instruction* one, const Instruction* two);

// Returns the shape with another size of one dimension.
xla::Shape Resized(xla::Shape shape, int64_t dimension, int64_t size);

// Returns the shape with the element type of an instruction.
xla::Shape Retyped(const xla::Shape& shape, const Instruction* typed);

// Adds an instruction with the attributes of another one, in the same computation.
Instruction* AddLike(Instruction* like, const xla::Shape& shape,
                     absl::Span<Instruction* const> operands);

// Adds the concatenation of arrays, in the computation of an instruction and with its metadata.
Instruction* AddConcatenate(Instruction* place, absl::Span<Instruction* const> operands,
                            int64_t dimension);

// Adds a broadcast of the operand of another broadcast.
Instruction* AddBroadcast(Instruction* broadcast, const xla::Shape& shape,
                          absl::Span<const int64_t> dimensions);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_OWN_OWN_RULES_H_
