#include "hlograph/native/module/clone.h"

#include <memory>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hlograph {

// XLA's Clone copies what the entry computation reaches and drops the rest.
// Dead computations are part of a module's state (they count as instructions
// until dce removes them), so they are copied too.
std::pair<std::unique_ptr<xla::HloModule>, std::unique_ptr<xla::HloCloneContext>> CloneWithMap(
    const xla::HloModule& module) {
  auto [clone, context] = module.CloneWithContext(/*suffix=*/"");
  std::vector<xla::HloComputation*> computations = module.MakeComputationPostOrder();
  // Callers first: cloning a caller clones its callees with it.
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    if (context->FindComputation(*it) == nullptr) {
      clone->DeepCloneComputation(*it, context.get());
    }
  }
  return {std::move(clone), std::move(context)};
}

std::unique_ptr<xla::HloModule> CloneWhole(const xla::HloModule& module) {
  return CloneWithMap(module).first;
}

}  // namespace hlograph
