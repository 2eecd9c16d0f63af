// Rules of our own: identities of linear algebra, for what XLA's passes leave as it was written.
//
// Each recognises a pattern without changing anything, and the pattern alone decides whether it
// applies: whether it pays is for others to say.
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

// What a rule of our own is called and rests on.
struct Identity {
  std::string name;
  std::string equation;
  std::string description;
};

class OwnRule : public Rule {
 public:
  explicit OwnRule(Identity identity)
      : Rule(std::move(identity.name), /*xla_code=*/"", std::move(identity.description),
             std::move(identity.equation)) {}

  std::unique_ptr<Applier> For(xla::HloComputation* computation) const override;

  // Whether the pattern is at a place.
  virtual bool Matches(Place place) const = 0;
  // Replaces it; expects that it matches.
  virtual absl::Status Apply(Place place) const = 0;
};

// A rule at single instructions, which reads no further than the operands of their operands.
class InstructionRule : public OwnRule {
 public:
  using OwnRule::OwnRule;

  void Propose(xla::HloComputation* computation, std::vector<Place>& places) const override;
  bool Matches(Place place) const override { return Matches(place.instruction); }
  absl::Status Apply(Place place) const override;
  Reach reach() const override { return {.operands = 2, .users = 0}; }

 protected:
  virtual bool Matches(const Instruction* instruction) const = 0;
  // What takes the place of an instruction that matches.
  virtual Instruction* Build(Instruction* instruction) const = 0;
};

// Whether neither needs the other's value first.
bool AreIndependent(const Instruction* one, const Instruction* two);

// The shape with another size of one dimension.
xla::Shape Resized(xla::Shape shape, int64_t dimension, int64_t size);

// The shape with the element type of an instruction.
xla::Shape Retyped(const xla::Shape& shape, const Instruction* typed);

// Adds an instruction with the attributes of another one, in the same computation.
Instruction* AddLike(Instruction* like, const xla::Shape& shape,
                     absl::Span<Instruction* const> operands);

// Adds the concatenation of arrays, in the place of an instruction.
Instruction* AddConcatenate(Instruction* place, absl::Span<Instruction* const> operands,
                            int64_t dimension);

// Adds the broadcast of what another one broadcasts.
Instruction* AddBroadcast(Instruction* broadcast, const xla::Shape& shape,
                          absl::Span<const int64_t> dimensions);

// The rules by topic (own_*.cc).
void AddMergingRules(std::vector<RulePtr>& rules);
void AddJoiningRules(std::vector<RulePtr>& rules);
void AddFactoringRules(std::vector<RulePtr>& rules);
void AddScalingRules(std::vector<RulePtr>& rules);
void AddAssociationRules(std::vector<RulePtr>& rules);
void AddPointwiseRules(std::vector<RulePtr>& rules);
void AddRearrangingRules(std::vector<RulePtr>& rules);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_OWN_OWN_RULES_H_
