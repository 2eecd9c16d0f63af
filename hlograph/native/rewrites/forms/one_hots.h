// One-hot arrays: comparisons of labels with all classes, as numbers.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_ONE_HOTS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_ONE_HOTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// How far FindOneHot reads: hops to operands.
inline constexpr int kOneHotReach = 12;

// An array that is one where the label is the index along the dimension of classes, else zero.
struct OneHot {
  const Instruction* labels = nullptr;  // an integer for each position
  std::vector<int64_t> dimensions;      // of the array, which the dimensions of the labels are
  int64_t classes = 0;                  // dimension of the array
};

// Finds the labels of numbers, or of the comparison itself.
std::optional<OneHot> FindOneHot(const Instruction* array);

// Rows that labels select, as vectors.
struct RowIndices {
  Instruction* indices = nullptr;  // the first row of the batch if the label is no class
  Instruction* valid = nullptr;    // whether the label is a class
};

// Builds the indices as vectors. `order` has all dimensions of the labels; the first `batch` of
// them select one of as many tables of `classes` rows.
RowIndices BuildRowIndices(const Builder& build, const OneHot& one_hot, int64_t classes,
                           const std::vector<int64_t>& order, int64_t batch);

// Returns true if 32 bits hold the index of each element: rows are numbered by 32 bits.
bool HasFewRows(const Instruction* one_hot);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_ONE_HOTS_H_
