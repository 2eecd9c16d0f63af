// Choices at run time between a fast way to compute something, where it is right, and a slow one.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_CHOICES_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_CHOICES_H_

#include <functional>

#include "absl/types/span.h"
#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// Computes one array from others.
using Body = std::function<Instruction*(absl::Span<Instruction* const>)>;

// Computes an array at `place` from these values by `fast` where a scalar predicate holds, else by
// `slow`. The predicate should be a conjunction (Builder::All) of comparisons that are false for
// NaN. One of the maximum of an array would not do: the reductions of jaxlib 0.10.2 may lose a NaN,
// and with it the elements before it.
Instruction* AddChoice(Instruction* place, Instruction* holds,
                       absl::Span<Instruction* const> values, const Body& fast, const Body& slow);

// Returns true for what `slow` computes from its values, so that a rule does not replace it again.
bool IsSlowWay(const Instruction* instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_CHOICES_H_
