// The terms of a sum over broadcasts: products of arrays, as dots.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_BROADCAST_TERMS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_BROADCAST_TERMS_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// An array, and the dimension of the whole that each of its dimensions is, in ascending order.
struct Factor {
  const Instruction* array = nullptr;
  std::vector<int64_t> dimensions;
  bool inverse = false;                         // its reciprocal
  const Instruction* centre = nullptr;          // array whose mean is subtracted, or null
  std::vector<int64_t> centre_dimensions = {};  // of the whole, which the mean has
  std::vector<int64_t> centre_reduced = {};     // of the whole, over which it is the mean

  friend bool operator==(const Factor& one, const Factor& two) {
    return std::tie(one.array, one.dimensions, one.inverse, one.centre, one.centre_dimensions) ==
           std::tie(two.array, two.dimensions, two.inverse, two.centre, two.centre_dimensions);
  }
};

struct SumTerm {
  double scale = 1;
  std::vector<int64_t> factors;  // numbers of factors, ascending, perhaps repeated
};

// Two dimensions: what is summed is zero where they are equal.
struct Diagonal {
  int64_t one = 0, other = 0;

  friend bool operator==(const Diagonal& a, const Diagonal& b) {
    return a.one == b.one && a.other == b.other;
  }
};

// A reduction by addition of `terms`.
struct BroadcastSum {
  std::vector<Factor> factors;
  std::vector<SumTerm> terms;
  std::vector<int64_t> sizes;    // of the whole
  std::vector<int64_t> reduced;  // dimensions, ascending
  bool is_square = false;        // a sum of squares, which is not negative
  std::optional<Diagonal> diagonal;
};

// Factors of a term that are multiplied element by element.
struct Group {
  std::vector<int64_t> factors;
  std::vector<int64_t> dimensions;  // of the whole, ascending
};

// Returns the factors of a term as at most two groups. None if that is not possible, or if a group
// has all dimensions of the whole.
std::optional<std::vector<Group>> GroupsOf(const BroadcastSum& sum, const SumTerm& term);

// Returns the reduced dimensions that both groups of a term have, which a dot contracts.
std::vector<int64_t> ContractedOf(const BroadcastSum& sum, const std::vector<Group>& groups);

// Returns where the difference of an array with itself, broadcast in two ways, is zero.
std::optional<Diagonal> DiagonalOf(const Factor& one, const Factor& two);

// Operations on ascending lists.
std::vector<int64_t> Common(const std::vector<int64_t>& one, const std::vector<int64_t>& two);
std::vector<int64_t> Without(const std::vector<int64_t>& one, const std::vector<int64_t>& two);
std::vector<int64_t> Union(const std::vector<int64_t>& one, const std::vector<int64_t>& two);

// Builds the sum of the terms, of the shape of the reduction.
Instruction* BuildBroadcastSum(Instruction* reduce, const BroadcastSum& sum);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_BROADCAST_TERMS_H_
