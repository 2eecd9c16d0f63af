#include "hlograph/native/parsing/text_cursor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hlograph {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

const char* TextCursor::AfterString(const char* p) const {
  const char quote = *p++;
  for (; p != end_ && *p != quote; ++p) {
    if (*p == '\\' && p + 1 != end_) ++p;
  }
  return p == end_ ? end_ : p + 1;
}

const char* TextCursor::AfterJson(const char* p) const {
  int64_t depth = 0;
  while (p != end_) {
    if (*p == '"') {
      p = AfterString(p);
      continue;
    }
    if (*p == '{') ++depth;
    if (*p == '}' && --depth == 0) return p + 1;
    ++p;
  }
  return end_;
}

const char* TextCursor::AfterComment(const char* p) const {
  const absl::string_view rest = From(p);
  size_t length = absl::string_view::npos;
  if (rest.size() < 2 || rest[0] != '/') return p;
  if (rest[1] == '/') {
    length = rest.find_first_of("\n\r");
  } else if (rest[1] == '*') {
    length = rest.find("*/", 2);
    if (length != absl::string_view::npos) length += 2;
  } else {
    return p;
  }
  return length == absl::string_view::npos ? end_ : p + length;
}

const char* TextCursor::AfterGap(const char* p) const {
  while (p != end_) {
    const char* const next = IsSpace(*p) ? p + 1 : AfterComment(p);
    if (next == p) break;
    p = next;
  }
  return p;
}

const char* TextCursor::SkipComment(const char* p) {
  const char* const after = AfterComment(p);
  if (after == p) return p + 1;
  const char* before = p;
  while (before != begin_ && IsSpace(before[-1])) --before;
  if (gap_end_ == nullptr || before > gap_end_) gap_begin_ = p;
  gap_end_ = after;
  return after;
}

absl::string_view TextCursor::WordBefore(const char* p) const {
  while (p != begin_) {
    if (p == gap_end_) {
      p = gap_begin_;
    } else if (IsSpace(p[-1])) {
      --p;
    } else {
      break;
    }
  }
  const char* const end = p;
  while (p != begin_ && IsWordCharacter(p[-1])) --p;
  return absl::string_view(p, end - p);
}

std::optional<int64_t> TextCursor::Integer(const char** p) const {
  const char* q = AfterGap(*p);
  const bool negative = q != end_ && *q == '-';
  if (negative) ++q;
  if (q == end_ || !IsDigit(*q)) return std::nullopt;
  uint64_t value = 0;
  for (; q != end_ && IsDigit(*q); ++q) value = value * 10 + (*q - '0');
  *p = q;
  return static_cast<int64_t>(negative ? 0 - value : value);
}

std::vector<int64_t> TextCursor::Integers(const char** p) const {
  std::vector<int64_t> values;
  while (std::optional<int64_t> value = Integer(p)) {
    values.push_back(*value);
    const char* const comma = AfterGap(*p);
    if (comma == end_ || *comma != ',') break;
    *p = comma + 1;
  }
  return values;
}

bool TextCursor::List(const char** p, char open, char close, std::vector<int64_t>* values) const {
  if (*p == end_ || **p != open) return false;
  ++*p;
  *values = Integers(p);
  *p = AfterGap(*p);
  if (*p == end_ || **p != close) return false;
  ++*p;
  return true;
}

std::string TextCursor::ErrorAt(const char* p, absl::string_view message) const {
  const absl::string_view before = Before(p);
  const size_t line_start = before.rfind('\n') + 1;  // 0 if there is none
  return absl::StrCat("was parsing ", 1 + absl::c_count(before, '\n'), ":",
                      before.size() - line_start + 1, ": error: ", message);
}

}  // namespace hlograph
