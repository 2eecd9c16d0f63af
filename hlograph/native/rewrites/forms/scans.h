// Cumulative reductions, as JAX writes them.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_SCANS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_SCANS_H_

#include <cstdint>
#include <optional>

#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {

// A reduce-window whose windows are all elements up to each one, or from it on if `reversed`.
struct Cumulative {
  xla::HloOpcode opcode = xla::HloOpcode::kAdd;
  int64_t dimension = 0;
  bool reversed = false;
};

// None unless the instruction cumulates eight elements or more by a sum, a product or an extreme.
std::optional<Cumulative> FindCumulative(const Instruction* instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_SCANS_H_
