// Updates: arrays that differ from another one in a few elements.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_UPDATES_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_UPDATES_H_

#include <optional>

#include "hlograph/native/rewrites/patterns.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {

// Returns true for a valid scatter into one array of a fixed size.
bool IsScatter(const Instruction* instruction);

// Returns what a scatter makes of an old element and an update: the operation of both, a sum,
// product, maximum or minimum, or kParameter if it sets the update; none for others.
std::optional<xla::HloOpcode> CombinerOf(const Instruction* scatter);

// Returns true for a valid dynamic-update-slice with one index for each dimension.
bool IsSliceUpdate(const Instruction* instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_UPDATES_H_
