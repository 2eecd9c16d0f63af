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
inline constexpr int kOneHotReach = 20;

// An array that is one where the label is that of the class, which is `first` plus the index along
// the dimension of classes, and zero elsewhere: a comparison, or rows of an identity matrix.
struct OneHot {
  const Instruction* labels = nullptr;  // an integer for each position
  std::vector<int64_t> dimensions;      // of the array, which the dimensions of the labels are
  int64_t classes = 0;                  // dimension of the array
  int64_t first = 0;                    // label of the first class
  bool is_clamped = false;              // labels beyond the classes are those of the nearest class
};

// Finds the labels of numbers, or of the comparison itself, which may be repeated along further
// dimensions.
std::optional<OneHot> FindRepeatedOneHot(const Instruction* array);

// Finds the labels of an array that has no other dimensions than theirs and that of the classes.
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

// Returns true for types whose sums may be added up one by one: integers, and floats of 32 bits or
// more.
bool IsSummedType(const Instruction* array);

// Returns true if 32 bits hold the index of each element: rows are numbered by 32 bits.
bool HasFewRows(const Instruction* one_hot);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_ONE_HOTS_H_
