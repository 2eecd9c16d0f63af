#include "hlograph/native/parsing/default_layouts.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "hlograph/native/parsing/text_cursor.h"

namespace hlograph {
namespace {

// Behind the layout at `p` if it is the default one of an array, whose sizes are from `open` to `p`
// in brackets; else `p`.
const char* AfterDefaultLayout(const char* open, const char* p, const char* end) {
  constexpr std::ptrdiff_t kMostRank = 10;  // numbers of dimensions have one digit
  const std::ptrdiff_t rank = std::count(open, p, ',') + 1;
  // A brace, and a digit and a comma or brace for each dimension.
  if (rank > kMostRank || end - p < 2 * rank + 1 || *p != '{') return p;
  const char* q = p + 1;
  for (std::ptrdiff_t dimension = rank - 1; dimension >= 0; --dimension, q += 2) {
    if (q[0] != '0' + dimension || q[1] != (dimension > 0 ? ',' : '}')) return p;
  }
  return q;
}

}  // namespace

std::string WithoutDefaultLayouts(absl::string_view text) {
  TextCursor cursor(text);
  std::string shorter;
  shorter.reserve(text.size());
  const char* const end = cursor.end();
  const char* copied = cursor.begin();
  const char* open = nullptr;
  for (const char* p = std::find(copied, end, '\n'); p != end;) {
    switch (*p) {
      case '"':
      case '\'':
        p = cursor.AfterString(p);
        break;
      case '/':
        p = cursor.SkipComment(p);
        break;
      case '[':
        open = p++;
        break;
      case ']': {
        ++p;
        const char* const after = open == nullptr ? p : AfterDefaultLayout(open, p, end);
        if (after != p) {
          shorter.append(copied, p);
          copied = p = after;
        }
        open = nullptr;
        break;
      }
      default:
        ++p;
    }
  }
  return shorter.append(copied, end);
}

}  // namespace hlograph
