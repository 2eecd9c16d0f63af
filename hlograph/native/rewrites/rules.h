// The rules of rewriting: XLA's own code and identities of our own, applied at one place.
#ifndef HLOGRAPH_NATIVE_REWRITES_RULES_H_
#define HLOGRAPH_NATIVE_REWRITES_RULES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace xla {
class HloComputation;
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Where a rule applies: an instruction, or an ordered pair in one computation.
struct Place {
  xla::HloInstruction* instruction = nullptr;
  xla::HloInstruction* other = nullptr;  // null unless the rule is about pairs
};

// Applies a rule to instructions of one computation, one after the other.
class Applier {
 public:
  virtual ~Applier() = default;
  // Applies the rule at a place, and nowhere else; false if it does not apply there. It may leave
  // instructions without users behind where it returns false, and after an error anything.
  virtual absl::StatusOr<bool> At(Place place) = 0;
};

// Applies a rule at a place with what belongs to it: computations that nobody calls any more go,
// and so does what a rule that does not apply built.
absl::StatusOr<bool> ApplyAt(Applier& applier, Place place);

// How far around a place a rule reads: what it does elsewhere cannot change what it does here.
struct Reach {
  int operands = 0;    // hops to operands
  int users = 0;       // hops to users, and from each to its operands
  bool paths = false;  // and whether one of a pair needs the other, however far it is
};

// Adds the instructions of a computation that a rule may apply to, in post order, which takes
// longer than asking and is found only where there are any.
void ProposeWhere(xla::HloComputation* computation,
                  absl::FunctionRef<bool(xla::HloInstruction*)> may_apply,
                  std::vector<Place>& places);

// Whether whole computations share a value, as they do constants and parameters: rules ask whether
// others have more users, but not of these.
bool IsShared(const xla::HloInstruction* instruction);

// A rule on a documented interface: what it proposes is cheap to find and may turn out not to
// apply.
class Rule {
 public:
  Rule(std::string name, std::string xla_code, std::string description, std::string equation = "",
       bool for_target = false)
      : name_(std::move(name)),
        xla_code_(std::move(xla_code)),
        description_(std::move(description)),
        equation_(std::move(equation)),
        for_target_(for_target) {}
  virtual ~Rule() = default;

  const std::string& name() const { return name_; }
  const std::string& xla_code() const { return xla_code_; }
  const std::string& description() const { return description_; }
  // What a rule of our own rests on; nothing of XLA's, which has xla_code.
  const std::string& equation() const { return equation_; }
  // Whether it is for modules that are about to become code of XLA:CPU.
  bool for_target() const { return for_target_; }

  // Adds the places of a computation where the rule may apply, in the order of its instructions.
  virtual void Propose(xla::HloComputation* computation, std::vector<Place>& places) const = 0;
  virtual std::unique_ptr<Applier> For(xla::HloComputation* computation) const = 0;
  virtual Reach reach() const { return {}; }
  // What the rule reads around: the place, and all that hangs together with it.
  virtual std::vector<Place> Extent(Place place) const { return {place}; }
  // Whether the place is in a copy what it is in the module, whatever others did there out of
  // reach, and whatever a copy of a part leaves out.
  virtual bool IsClear(Place /*original*/, Place /*copy*/) const { return true; }

 private:
  std::string name_, xla_code_, description_, equation_;
  bool for_target_;
};

using RulePtr = std::unique_ptr<const Rule>;

// All rules, in the order of their numbers. Never changes at run time.
const std::vector<RulePtr>& Rules();

// The rule of that name, or null.
const Rule* FindRule(const std::string& name);

// The rules by topic (rules_*.cc).
void AddAlgebraicRules(std::vector<RulePtr>& rules);
void AddCallRules(std::vector<RulePtr>& rules);
void AddFusionRules(std::vector<RulePtr>& rules);
void AddGroupRules(std::vector<RulePtr>& rules);
void AddLocalRules(std::vector<RulePtr>& rules);
void AddRedundancyRules(std::vector<RulePtr>& rules);
void AddOwnRules(std::vector<RulePtr>& rules);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_RULES_H_
