// Rules that put a native kernel in the place of instructions: a custom call, for which jaxlib runs
// a handler of hlograph/native/custom_calls.
#ifndef HLOGRAPH_NATIVE_REWRITES_KERNEL_CALLS_KERNEL_RULE_H_
#define HLOGRAPH_NATIVE_REWRITES_KERNEL_CALLS_KERNEL_RULE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/own/own_rules.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/shape.h"

namespace hlograph {

class KernelRule : public InstructionRule {
 public:
  // `kernel` is the target of the calls without the prefix that all kernels have.
  KernelRule(Identity identity, std::string kernel)
      : InstructionRule(std::move(identity), Purpose::kKernel), kernel_(std::move(kernel)) {}

  std::string kernel() const override;
  // A pattern may reach into computations that an instruction near its place calls.
  bool IsClear(Place original, Place copy) const override {
    return Matches(original.instruction) == Matches(copy.instruction);
  }

 protected:
  using InstructionRule::Matches;

  // Adds the call, with arrays in the usual layout; a tuple if there are several results.
  Instruction* AddCall(Instruction* place, absl::Span<Instruction* const> operands,
                       absl::Span<const xla::Shape> results,
                       const std::string& attributes = "{}") const;

 private:
  std::string kernel_;
};

// An array as a matrix: the size of its last dimension, 1 for a scalar, and the number of rows
// along it, 0 if they are empty.
int64_t ColumnsOf(const Instruction* array);
int64_t RowsOf(const Instruction* array);

// Attributes of a call: MLIR's text of a dictionary.
class CallAttributes {
 public:
  CallAttributes& Add(const std::string& name, bool value);
  CallAttributes& Add(const std::string& name, int64_t value);
  CallAttributes& Add(const std::string& name, double value);
  CallAttributes& Add(const std::string& name, const std::string& value);
  CallAttributes& Add(const std::string& name, const std::vector<int64_t>& values);
  std::string text() const { return "{" + text_ + "}"; }

 private:
  CallAttributes& AddText(const std::string& name, const std::string& value);

  std::string text_;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_KERNEL_CALLS_KERNEL_RULE_H_
