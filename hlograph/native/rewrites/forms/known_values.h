// Arrays whose elements follow from constants, as positions that a program computes from iota.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_KNOWN_VALUES_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_KNOWN_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// Number of hops to operands that KnownIntegers reads at most.
inline constexpr int kKnownDepth = 20;

// Returns the elements of an array of integers in their order, if they follow from constants and
// iota by elementwise operations and rearrangements; none if they do not, if there are many, or if
// rounding might change one.
std::optional<std::vector<int64_t>> KnownIntegers(const Instruction* array);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_KNOWN_VALUES_H_
