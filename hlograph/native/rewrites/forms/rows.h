// Gathers and scatters of whole rows of a matrix.
#ifndef HLOGRAPH_NATIVE_REWRITES_FORMS_ROWS_H_
#define HLOGRAPH_NATIVE_REWRITES_FORMS_ROWS_H_

#include <cstdint>
#include <optional>

#include "hlograph/native/rewrites/forms/forms.h"
#include "hlograph/native/rewrites/patterns.h"

namespace hlograph {

// A gather of rows: what `table` has at an index along its first dimension, for each index. The
// result has the dimensions of the indices, then the other ones of the table.
struct RowGather {
  const Instruction* table = nullptr;
  int64_t index_dimensions = 0;  // number of dimensions of the indices
  int64_t count = 0;             // number of indices
};

std::optional<RowGather> FindRowGather(const Instruction* gather);

// Builds a gather of rows by the indices of another one, from a table with as many rows.
Instruction* GatherLike(const Builder& build, Instruction* gather, Instruction* table);

// Builds a gather of the rows of a matrix by a vector of indices.
Instruction* GatherRows(const Builder& build, Instruction* matrix, Instruction* indices);

// Builds the sums of the rows with each index, for `count` indices; rows with other indices are
// left out.
Instruction* SumRows(const Builder& build, Instruction* rows, Instruction* indices, int64_t count);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_REWRITES_FORMS_ROWS_H_
