// Rewrite rules: XLA's code, and identities of our own, applied at one place.
#ifndef HLOGRAPH_NATIVE_REWRITES_RULES_H_
#define HLOGRAPH_NATIVE_REWRITES_RULES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace xla {
class HloComputation;
class HloInstruction;
}  // namespace xla

namespace hlograph {

// Place where a rule applies: an instruction, or an ordered pair of a computation.
struct Place {
  xla::HloInstruction* instruction = nullptr;
  xla::HloInstruction* other = nullptr;  // null unless the rule is about pairs
};

// Applies a rule to instructions of one computation, one after the other.
class Applier {
 public:
  virtual ~Applier() = default;
  // Applies the rule at a place, and nowhere else. Returns false if it does not apply there; then
  // it may have added instructions without users. After an error the module must not be used again.
  virtual absl::StatusOr<bool> At(Place place) = 0;
};

// Applies a rule at a place, and cleans up: removes computations without callers, and the
// instructions that were added if the rule did not apply.
absl::StatusOr<bool> ApplyAt(Applier& applier, Place place);

// How far around a place a rule reads. Changes that are further away do not affect it.
struct Reach {
  int operands = 0;    // hops to operands
  int users = 0;       // hops to users, and from each to its operands
  bool paths = false;  // true if it also asks whether one of a pair depends on the other
};

// Adds the instructions of a computation for which `may_apply` is true, in post order. The post
// order costs more than the tests, and is computed only if any is true.
void ProposeWhere(xla::HloComputation* computation,
                  absl::FunctionRef<bool(xla::HloInstruction*)> may_apply,
                  std::vector<Place>& places);

// Returns true for constants and parameters, which whole computations share. Rules ask for the
// number of users of other instructions only.
bool IsShared(const xla::HloInstruction* instruction);

// Purpose of a rule: simplification in general, preparation of a module for XLA:CPU's code
// generator (such as fusions), another form of the same computation, which takes another time, or
// a native kernel, which jaxlib alone can run.
enum class Purpose { kGeneral, kTarget, kTime, kKernel };

// Class of a rule's results: equal bit by bit, or up to rounding.
enum class Numerics { kExact, kClose };

// A rewrite rule. The places that it proposes are cheap to find; at some it may not apply.
class Rule {
 public:
  Rule(std::string name, std::string xla_code, std::string description, std::string equation = "",
       Purpose purpose = Purpose::kGeneral, Numerics numerics = Numerics::kClose)
      : name_(std::move(name)),
        xla_code_(std::move(xla_code)),
        description_(std::move(description)),
        equation_(std::move(equation)),
        purpose_(purpose),
        numerics_(numerics) {}
  virtual ~Rule() = default;

  const std::string& name() const { return name_; }
  const std::string& xla_code() const { return xla_code_; }
  const std::string& description() const { return description_; }
  // Equation that a rule of our own is based on; empty for rules of XLA, which have xla_code.
  const std::string& equation() const { return equation_; }
  Purpose purpose() const { return purpose_; }
  Numerics numerics() const { return numerics_; }
  // Target of the custom calls of a rule for native kernels; empty for other rules.
  virtual std::string kernel() const { return ""; }

  // Adds the places of a computation where the rule may apply, in the order of its instructions.
  virtual void Propose(xla::HloComputation* computation, std::vector<Place>& places) const = 0;
  virtual std::unique_ptr<Applier> For(xla::HloComputation* computation) const = 0;
  virtual Reach reach() const { return {}; }
  // Returns the places around which the rule reads.
  virtual std::vector<Place> Extent(Place place) const { return {place}; }
  // Returns true if the rule does the same at a place of a copy as in the module, although the copy
  // may lack instructions out of reach, or others may have changed them.
  virtual bool IsClear(Place /*original*/, Place /*copy*/) const { return true; }

 private:
  std::string name_, xla_code_, description_, equation_;
  Purpose purpose_;
  Numerics numerics_;
};

using RulePtr = std::unique_ptr<const Rule>;

// The rules of a file, which a constant of this class registers:
//
//   const RuleTopic kDots(316, [](std::vector<RulePtr>& rules) { rules.push_back(...); });
//
// Rules are numbered by the position of their file, then in the order in which they are added. A
// new file takes the next position of its range: from 0 for XLA's simplifications, from 100 for
// identities of our own, from 200 for the target, from 300 for rules for time, from 400 for native
// kernels.
class RuleTopic {
 public:
  RuleTopic(int position, void (*add)(std::vector<RulePtr>& rules));
};

// All rules, in the order of their numbers. Never changes at run time.
const std::vector<RulePtr>& Rules();

// Returns an error if two files have one position, or two rules one name.
absl::Status CheckRules();

// The rule of that name, or null.
const Rule* FindRule(const std::string& name);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_RULES_H_
