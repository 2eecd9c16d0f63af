// Declarations that the files of rules about loops share.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_FORMS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_FORMS_H_

#include <cstdint>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/forms/loop_shape.h"
#include "hlograph/native/rewrites/rules.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace hlograph {

// Returns true if the loop takes more rows of arrays from the end than from the start.
bool IsReversed(const CountedLoop& loop);

// The number of the iteration in a copy of a loop that counts from 0 by 1; counted from the last
// one if `reversed`.
Instruction* NumberOf(const CountedLoop& loop, LoopEditor& editor, bool reversed);

// Row of an array, without the first dimension.
Instruction* ReadRow(const Builder& builder, Instruction* all, Instruction* number);

// Tuple of the first elements of a loop that has more.
Instruction* FirstElements(Instruction* loop, int64_t count);

// Makes the dynamic slices of a computation read no more than slices take of them.
void NarrowDynamicSlices(xla::HloComputation* computation);

// Returns true for what reads elements at other places than those of its result.
bool Shifts(const Instruction* instruction);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_LOOP_FORMS_H_
