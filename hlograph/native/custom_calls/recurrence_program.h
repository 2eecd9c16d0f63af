// What an iteration of a recurrence computes, as text of an attribute: statements that end with a
// semicolon, of a name, a number of columns, and numbers.
//
//   carried COLUMNS ARGUMENT               the rows that an argument starts with and carries on
//   read COLUMNS ARGUMENT STACKED          an argument; if 1, the iteration's own part of it
//   constant COLUMNS BITS                  a float
//   dot COLUMNS VALUE ARGUMENT BY_COLUMNS  times a matrix; if 1, a row of it is a column
//   slice COLUMNS VALUE FIRST              some columns
//   concatenate COLUMNS VALUE ...          all columns
//   carry COLUMNS VALUE ARGUMENT           a result: the rows that the last iteration carries
//   write COLUMNS VALUE                    a result: the rows of all iterations
//   NAME COLUMNS VALUE ...                 a function of rows
//
// Statements are numbered as values from 0, and use those before them.
#ifndef HLOGRAPH_NATIVE_CUSTOM_CALLS_RECURRENCE_PROGRAM_H_
#define HLOGRAPH_NATIVE_CUSTOM_CALLS_RECURRENCE_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hlograph/native/custom_calls/row_functions.h"

namespace hlograph {

enum class RecurrenceKind {
  kCarried,
  kRead,
  kConstant,
  kDot,
  kSlice,
  kConcatenate,
  kCarry,
  kWrite,
  kFunction
};

struct RecurrenceStatement {
  RecurrenceKind kind;
  int64_t columns = 0;
  std::vector<int64_t> values;     // that it uses
  std::vector<int64_t> numbers;    // after these
  RowFunction function = nullptr;  // of kFunction
  int64_t place = 0;               // of its rows in the memory of an iteration, in columns
};

struct RecurrenceProgram {
  std::vector<RecurrenceStatement> statements;
  int64_t columns = 0;  // of the memory of an iteration, in which rows of values lie
};

// None if the text is no program, or numbers of columns do not fit.
std::optional<RecurrenceProgram> ReadRecurrenceProgram(std::string_view text);

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_CUSTOM_CALLS_RECURRENCE_PROGRAM_H_
