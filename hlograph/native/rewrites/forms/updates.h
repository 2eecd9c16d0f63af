// Updates: arrays that differ from another one in a few elements.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_UPDATES_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_UPDATES_H_

#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// Returns true for a valid scatter into one array of a fixed size.
bool IsScatter(const Instruction* instruction);

// Returns true for a valid dynamic-update-slice with one index for each dimension.
bool IsSliceUpdate(const Instruction* instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_UPDATES_H_
