// Elements of arrays that follow from constants, by elementwise operations.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_KNOWN_ELEMENTS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_KNOWN_ELEMENTS_H_

#include <optional>

#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// Returns true for arrays of integers or booleans, of those of s32, f32 and pred.
bool HasIntegers(const Instruction* array);

// Returns true for operations whose results are the same for operands that differ slightly, save
// near a step.
bool IsStep(const Instruction* array);

// Returns the result of an elementwise operation of one to three operands on single elements, which
// come first of the three that are given. Double precision holds elements of s32, f32 and pred
// without rounding. If XLA may compute operands that are not quite these, `rounded` is true, and
// there is no result near a step. It becomes true if the result is rounded itself.
std::optional<double> KnownElement(const Instruction* array, const double* given, bool& rounded);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_KNOWN_ELEMENTS_H_
