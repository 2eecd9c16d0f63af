// HLO text as XLA's lexer (xla/hlo/parser/hlo_lexer.cc) sees it, as far as text_check needs it.
#ifndef HLOGRAPH_NATIVE_PARSING_TEXT_CURSOR_H_
#define HLOGRAPH_NATIVE_PARSING_TEXT_CURSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hlograph {

bool IsSpace(char c);
bool IsDigit(char c);
bool IsWordCharacter(char c);

// Finds where things end in a text. Positions are pointers into it; a gap is white space and
// comments.
class TextCursor {
 public:
  explicit TextCursor(absl::string_view text)
      : begin_(text.data()), end_(text.data() + text.size()) {}

  const char* begin() const { return begin_; }
  const char* end() const { return end_; }
  absl::string_view From(const char* p) const { return absl::string_view(p, end_ - p); }
  absl::string_view Before(const char* p) const { return absl::string_view(begin_, p - begin_); }

  // Behind the quoted string, the JSON dictionary, or the gap (or nothing) that begins at `p`.
  const char* AfterString(const char* p) const;
  const char* AfterJson(const char* p) const;
  const char* AfterGap(const char* p) const;

  // Behind the comment that begins at `p`, which WordBefore then knows of; behind '/' if none does.
  const char* SkipComment(const char* p);

  // The word before `p`, or before the gap before it. Of gaps it sees white space, and the last
  // comments that were skipped.
  absl::string_view WordBefore(const char* p) const;

  // Read "1", "1,2", and "[1,2]" for the brackets given, and move `p` behind. What is no such
  // thing is read as none, as far as it goes and as false: XLA will find a syntax error there.
  // XLA takes numbers up to 2^64-1 as two's complement.
  std::optional<int64_t> Integer(const char** p) const;
  std::vector<int64_t> Integers(const char** p) const;
  bool List(const char** p, char open, char close, std::vector<int64_t>* values) const;

  // An error message with the position, as XLA's are.
  std::string ErrorAt(const char* p, absl::string_view message) const;

 private:
  const char* AfterComment(const char* p) const;

  const char* const begin_;
  const char* const end_;
  const char* gap_begin_ = nullptr;  // the last comments, that only white space separates
  const char* gap_end_ = nullptr;
};

}  // namespace hlograph

#endif  // HLOGRAPH_NATIVE_PARSING_TEXT_CURSOR_H_
