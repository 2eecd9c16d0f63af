// Cumulative sums, products and extremes as calls of a native kernel.
#include "hlograph/native/rewrites/forms/scans.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/kernel_calls/kernel_rule.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"

namespace hlograph {
namespace {

// Of floats, whose sums and products are rounded in another order, or of integers.
class KernelCumulative : public KernelRule {
 public:
  KernelCumulative(Identity identity, bool of_floats)
      : KernelRule(std::move(identity), "cumulative"), of_floats_(of_floats) {}

 protected:
  bool Matches(const Instruction* instruction) const override {
    return FindCumulative(instruction).has_value() &&
           xla::primitive_util::IsFloatingPointType(instruction->shape().element_type()) ==
               of_floats_;
  }

  Instruction* Build(Instruction* instruction) const override {
    const Cumulative cumulative = *FindCumulative(instruction);
    return AddCall(instruction, {instruction->mutable_operand(0)}, {instruction->shape()},
                   CallAttributes()
                       .Add("operation", std::string(xla::HloOpcodeString(cumulative.opcode)))
                       .Add("dimension", cumulative.dimension)
                       .Add("reversed", cumulative.reversed)
                       .text());
  }

 private:
  const bool of_floats_;
};

}  // namespace

const RuleTopic kScanKernels(406, [](std::vector<RulePtr>& rules) {
  constexpr char kDescription[] =
      "Goes over neighbouring parts of a row at once, or over columns in vectors, in one pass.";
  rules.push_back(std::make_unique<KernelCumulative>(
      Identity{"kernel-cumulative", "cumf(x) = kernel(x)", kDescription, Numerics::kClose},
      /*of_floats=*/true));
  rules.push_back(std::make_unique<KernelCumulative>(
      Identity{"kernel-cumulative:integers", "cumf(x) = kernel(x) of integers", kDescription,
               Numerics::kExact},
      /*of_floats=*/false));
});

}  // namespace hlograph
