// Sums over products and differences of broadcasts, without the arrays they are broadcast to.
//
// A sum of `x[i, d] * c[j, d]` for all i and j takes an array of i, j and d as it is written, or a
// dot. What is summed is expanded into terms, each a product of arrays that lack some dimensions,
// and each term is computed by a dot.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_BROADCAST_SUMS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_BROADCAST_SUMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/broadcast_terms.h"
#include "hlograph/native/rewrites/patterns.h"
#include "hlograph/native/rewrites/rules.h"

namespace hlograph {

// How far ExpandBroadcastSum reads: hops to operands.
inline constexpr int kBroadcastSumReach = 14;

// Expands a sum of products and differences of broadcasts. None if there is any other operation, an
// array of all dimensions, or a term that is no product of two arrays.
std::optional<BroadcastSum> ExpandBroadcastSum(const Instruction* reduce);

// Returns the number of elements that the smallest dot of a sum contracts; 0 if there is no dot.
int64_t SmallestContraction(const BroadcastSum& sum);

// The rule for sums of few elements, as sums of slices.

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_BROADCAST_SUMS_H_
