#include "hlograph/native/custom_calls/recurrence_program.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "hlograph/native/custom_calls/row_functions.h"

namespace hlograph {
namespace {

using Kind = RecurrenceKind;

constexpr int64_t kMostColumns = int64_t{1} << 24;

// How many values a statement uses, and how many numbers follow; -1 for any number of values.
struct Form {
  std::string_view name;
  Kind kind;
  int64_t values, numbers;
};

constexpr Form kForms[] = {
    {"carried", Kind::kCarried, 0, 1},   {"read", Kind::kRead, 0, 2},
    {"constant", Kind::kConstant, 0, 1}, {"dot", Kind::kDot, 1, 2},
    {"slice", Kind::kSlice, 1, 1},       {"concatenate", Kind::kConcatenate, -1, 0},
    {"carry", Kind::kCarry, 1, 1},       {"write", Kind::kWrite, 1, 0},
};

std::optional<Form> FormOf(std::string_view name, RowFunction& function) {
  for (const Form& form : kForms) {
    if (form.name == name) return form;
  }
  const NamedRowFunction* const named = FindRowFunction(name);
  if (named == nullptr) return std::nullopt;
  function = named->function;
  return Form{name, Kind::kFunction, named->operands, 0};
}

bool IsResult(Kind kind) { return kind == Kind::kCarry || kind == Kind::kWrite; }

// Takes the text before a separator away.
std::string_view Take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::optional<std::vector<int64_t>> NumbersOf(std::string_view text) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const std::string_view word = Take(text, ' ');
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 0) {
      return std::nullopt;
    }
    numbers.push_back(number);
  }
  return numbers;
}

std::optional<RecurrenceStatement> StatementOf(std::string_view text) {
  RecurrenceStatement statement{};
  const std::optional<Form> form = FormOf(Take(text, ' '), statement.function);
  const auto numbers = NumbersOf(text);
  if (!form.has_value() || !numbers.has_value() || numbers->empty()) return std::nullopt;
  const int64_t count = static_cast<int64_t>(numbers->size()) - 1 - form->numbers;
  if (count < 0 || (form->values >= 0 && count != form->values)) return std::nullopt;
  statement.kind = form->kind;
  statement.columns = numbers->front();
  statement.values.assign(numbers->begin() + 1, numbers->begin() + 1 + count);
  statement.numbers.assign(numbers->begin() + 1 + count, numbers->end());
  return statement;
}

// Returns true if the values exist, and have as many columns as the statement wants of them.
bool Fits(const std::vector<RecurrenceStatement>& before, const RecurrenceStatement& statement) {
  if (statement.columns < 1 || statement.columns > kMostColumns) return false;
  int64_t columns = 0;
  for (const int64_t value : statement.values) {
    if (value >= static_cast<int64_t>(before.size()) || IsResult(before[value].kind)) return false;
    columns += before[value].columns;
  }
  switch (statement.kind) {
    case Kind::kCarried:
    case Kind::kRead:
    case Kind::kConstant:
    case Kind::kDot:
      return true;
    case Kind::kSlice:
      return statement.numbers[0] <= columns - statement.columns;
    case Kind::kConcatenate:
      return columns == statement.columns;
    default:
      return std::all_of(statement.values.begin(), statement.values.end(),
                         [&](int64_t value) { return before[value].columns == statement.columns; });
  }
}

// Gives values places in memory, which they leave to others of as many columns after their last
// use. Constants and what is carried keep theirs; what is carried has a second one for the next
// iteration. Slices and what is read lie elsewhere.
void SetPlaces(RecurrenceProgram& program) {
  std::vector<RecurrenceStatement>& statements = program.statements;
  std::vector<size_t> last(statements.size(), 0), base(statements.size());
  for (size_t i = 0; i < statements.size(); ++i) {
    const RecurrenceStatement& statement = statements[i];
    base[i] = statement.kind == Kind::kSlice ? base[statement.values[0]] : i;
    for (const int64_t value : statement.values) {
      last[base[value]] =
          std::max(last[base[value]], IsResult(statement.kind) ? statements.size() : i);
    }
  }
  std::map<int64_t, std::vector<int64_t>> free;  // places by columns
  for (size_t i = 0; i < statements.size(); ++i) {
    RecurrenceStatement& statement = statements[i];
    if (statement.kind != Kind::kSlice && statement.kind != Kind::kRead &&
        !IsResult(statement.kind)) {
      std::vector<int64_t>& places = free[statement.columns];
      const bool keeps = statement.kind == Kind::kCarried || statement.kind == Kind::kConstant;
      if (keeps || places.empty()) {
        statement.place = program.columns;
        program.columns += statement.columns * (statement.kind == Kind::kCarried ? 2 : 1);
      } else {
        statement.place = places.back();
        places.pop_back();
      }
    }
    std::vector<size_t> ended;
    for (const int64_t value : statement.values) ended.push_back(base[value]);
    std::sort(ended.begin(), ended.end());
    ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
    for (const size_t value : ended) {
      const Kind kind = statements[value].kind;
      if (last[value] == i &&
          (kind == Kind::kDot || kind == Kind::kConcatenate || kind == Kind::kFunction)) {
        free[statements[value].columns].push_back(statements[value].place);
      }
    }
  }
}

}  // namespace

std::optional<RecurrenceProgram> ReadRecurrenceProgram(std::string_view text) {
  RecurrenceProgram program;
  while (!text.empty()) {
    auto statement = StatementOf(Take(text, ';'));
    if (!statement.has_value() || !Fits(program.statements, *statement)) return std::nullopt;
    program.statements.push_back(*std::move(statement));
  }
  SetPlaces(program);
  return program;
}

}  // namespace hlograph
