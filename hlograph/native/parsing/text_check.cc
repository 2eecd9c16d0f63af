#include "hlograph/native/parsing/text_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "hlograph/native/parsing/text_cursor.h"
#include "hlograph/native/parsing/tile_check.h"
#include "hlograph/native/parsing/usual_opcodes.h"
#include "hlograph/native/parsing/verdict.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hlograph {
namespace {

constexpr int kNowhere = kMaxNesting + 1;  // a depth that no bracket has
constexpr int kInstructionDepth = 2;       // of the parentheses of an opcode that is no operand
constexpr int64_t kLongestOperand = 4096;
constexpr int kLongestTileSize = 9;  // digits
constexpr int64_t kSaturated = std::numeric_limits<int64_t>::max();

// Words before parentheses inside a shape, a sharding or a constant.
constexpr absl::string_view kInnerWords[] = {"S", "E", "nan"};

constexpr std::array<bool, 256> Special() {
  std::array<bool, 256> special = {};
  for (char c : {'(', ')', '[', ']', '{', '}', '=', '"', '\'', '/'}) {
    special[static_cast<unsigned char>(c)] = true;
  }
  return special;
}
constexpr std::array<bool, 256> kSpecial = Special();

// Numbers of elements, without overflow.
int64_t Times(int64_t elements, int64_t dim) {
  if (elements == 0 || dim <= 0) return 0;
  return dim > kSaturated / elements ? kSaturated : elements * dim;
}
int64_t Plus(int64_t a, int64_t b) { return a > kSaturated - b ? kSaturated : a + b; }

// The elements of all arrays of a shape, as in (f32[2,<=3]{1,0:T(8)}, s32[]).
int64_t ElementsOf(const char* p, const char* end) {
  int64_t all = 0;
  while ((p = std::find(p, end, '[')) != end) {
    int64_t elements = 1;
    while (p != end && *p != ']') {
      if (!IsDigit(*p)) {
        ++p;
        continue;
      }
      int64_t dim = 0;
      for (; p != end && IsDigit(*p); ++p) dim = Plus(Times(dim, 10), *p - '0');
      elements = Times(elements, dim);
    }
    all = Plus(all, elements);
  }
  return all;
}

// The elements of the one array of a shape that begins at `p`, such as f32[2,3]{1,0}; none if it is
// another shape, or has a dimension without a size.
std::optional<int64_t> ElementsOfArray(const char* p, const char* end) {
  while (p != end && IsWordCharacter(*p)) ++p;
  if (p == end || *p != '[') return std::nullopt;
  const char* const close = std::find(p, end, ']');
  if (close == end || std::find(p, close, '?') != close) return std::nullopt;
  return ElementsOf(p, close);
}

// True if the list of integers before the first of ":})" has each of 0 to rank - 1 once.
bool IsPermutation(const char* p, const char* end, size_t rank) {
  std::vector<bool> seen(rank);
  size_t count = 0;
  for (; p != end && *p != ':' && *p != '}' && *p != ')'; ++p) {
    if (IsSpace(*p) || *p == ',') continue;
    size_t number = 0;
    const char* const first = p;
    for (; p != end && IsDigit(*p) && p - first < 9; ++p) number = 10 * number + (*p - '0');
    if (p == first || number >= rank || seen[number]) return false;
    seen[number] = true;
    ++count;
    --p;
  }
  return count == rank;
}

// True if the layout of each array of a shape is one of its dimensions.
bool HasSoundLayouts(const char* p, const char* end) {
  while ((p = std::find(p, end, '[')) != end) {
    const char* const close = std::find(p, end, ']');
    if (close == end) return false;
    size_t rank = std::count(p, close, ',') + 1;
    if (std::find_if(p, close, IsDigit) == close) rank = 0;
    p = close + 1;
    if (p != end && *p == '{' && !IsPermutation(p + 1, end, rank)) return false;
  }
  return true;
}

class TextCheck {
 public:
  explicit TextCheck(absl::string_view text) : text_(text), at_(text_.begin()) {}

  absl::StatusOr<Verdict> Run() {
    while (status_.ok()) {
      while (at_ != text_.end() && !kSpecial[static_cast<unsigned char>(*at_)]) ++at_;
      if (at_ == text_.end()) break;
      Visit(*at_);
    }
    if (!status_.ok()) return status_;
    return unsure_ ? Verdict::kUnsure : Verdict::kSound;
  }

 private:
  void Visit(char c) {
    switch (c) {
      case '"':
      case '\'':
        at_ = text_.AfterString(at_);
        break;
      case '/':
        at_ = text_.SkipComment(at_);
        break;
      case '(':
      case '{':
      case '[':
        Open(c);
        break;
      case ')':
      case '}':
      case ']':
        Close(c);
        break;
      default:
        Equals();
    }
  }

  void Open(char c) {
    if (depth_ == kMaxNesting) {
      return Fail(at_, absl::StrCat("brackets are nested more than ", kMaxNesting, " deep"));
    }
    const char* const bracket = at_++;
    ++depth_;
    if (c == '{' && depth_ == 1) {
      parameters_.clear();
      shapes_.clear();
      name_ = {};
    } else if (c == '(') {
      CheckCall(text_.WordBefore(bracket));
    } else {
      CheckBracket(c, text_.Before(bracket));
    }
  }

  // A token has no dimensions, and an opcode is no part of a layout.
  void CheckBracket(char c, absl::string_view before) {
    if (c == '[' && absl::EndsWith(before, "token") && (at_ == text_.end() || *at_ != ']')) {
      unsure_ = true;
    }
    if (c == '{' && absl::EndsWith(before, "tuple")) unsure_ = true;
  }

  // The sizes of a tile, as in {1,0:T(8,128)}.
  void CheckTile() {
    int digits = 0;
    for (const char* p = at_; p != text_.end() && *p != ')'; ++p) {
      digits = IsDigit(*p) ? digits + 1 : 0;
      if (*p == '-' || digits > kLongestTileSize) unsure_ = true;
    }
  }

  void Close(char c) {
    // A literal={...} may be elided as well.
    if (c == ']' && in_literal_) CheckElided(at_);
    if (depth_ == constant_depth_) CheckWords();
    if (depth_ > 0) --depth_;
    if (depth_ < attributes_depth_) attributes_depth_ = kNowhere;
    if (c == '}' && depth_ == 0) CheckParameters();
    ++at_;
  }

  // XLA's lexer takes "word=" for an attribute; with a blank between, or '%' before, an
  // instruction's name is before the '='.
  void Equals() {
    const char* const equals = at_++;
    const absl::string_view before = text_.Before(equals);
    // "<=" of a bounded dimension or of a device assignment is part of a shape or a list.
    if (absl::EndsWith(before, "<")) return;
    shape_ = at_;
    in_literal_ = absl::EndsWith(before, "literal");
    // Its layout and its elements are not looked at here.
    if (in_literal_ || absl::EndsWith(before, "result_accuracy")) unsure_ = true;
    if (absl::EndsWith(before, "parameter_replication")) CheckReplication();
    const char* const value = text_.AfterGap(at_);
    if (value == text_.end()) return;
    if (depth_ <= 1) Define(text_.WordBefore(equals), equals, value);
    if (*value == '[') {
      CheckTileAssignment(value);
    } else if (*value == '{' && absl::EndsWith(before, "frontend_attributes")) {
      attributes_depth_ = depth_ + 1;
    } else if (*value == '{' &&
               (absl::EndsWith(before, "backend_config") || depth_ == attributes_depth_)) {
      // A JSON dictionary, in which comments have no meaning.
      at_ = text_.AfterJson(value);
    }
  }

  // One flag for each leaf of a parameter, of which an array has one; other instructions have none.
  void CheckReplication() {
    const absl::string_view flags = text_.From(at_);
    const bool is_one = absl::StartsWith(flags, "{true}") || absl::StartsWith(flags, "{false}");
    if (!is_parameter_ || !is_one || name_shape_ == nullptr || IsTuple(name_shape_)) unsure_ = true;
  }

  // An instruction is known from the next one on: it is no operand of itself.
  void Define(absl::string_view name, const char* equals, const char* shape) {
    const bool is_percent = name.data() != text_.begin() && name.data()[-1] == '%';
    if (name.data() + name.size() == equals && !is_percent) return;
    // XLA also takes instructions without a computation around them.
    if (depth_ == 0) unsure_ = true;
    if (!name_.empty()) shapes_[name_] = name_shape_;
    name_ = name;
    name_shape_ = shape;
  }

  // What is before a parenthesis: the opcode of an instruction, the name of a computation, or a
  // letter in a layout.
  void CheckCall(absl::string_view word) {
    if (word.empty()) {
      // Further sizes of a tile, as in T(8,128)(2,1).
      if (absl::EndsWith(text_.Before(at_ - 1), ")")) CheckTile();
    } else if (word == "T") {
      CheckTile();
    } else if (depth_ == kInstructionDepth) {
      CheckOpcode(word);
    } else if (depth_ > kInstructionDepth && !absl::c_linear_search(kInnerWords, word)) {
      // An instruction in the place of an operand, which XLA never prints.
      unsure_ = true;
      if (word == "constant") CheckConstant();
      if (word == "parameter") AddParameter();
    }
  }

  void CheckOpcode(absl::string_view name) {
    using xla::HloOpcode;
    const UsualOpcode usual = FindUsualOpcode(name);
    const absl::string_view shape = text_.From(text_.AfterGap(shape_));
    is_parameter_ = name == "parameter";
    // Rare opcodes, and shapes that XLA has to infer.
    if (usual.kind == OpcodeKind::kRare || shape.data() == name.data()) unsure_ = true;
    if (usual.kind == OpcodeKind::kRare) return;
    if (usual.kind == OpcodeKind::kArray && IsTuple(shape.data())) unsure_ = true;
    if (usual.opcode == HloOpcode::kParameter) return AddParameter();
    if (usual.opcode == HloOpcode::kConstant) return CheckConstant();
    if (!unsure_) CheckOperands(usual);
    switch (usual.opcode) {
      case HloOpcode::kReshape:
        return CheckReshape();
      case HloOpcode::kTuple:
        if (!IsTuple(shape.data())) unsure_ = true;
        return;
      case HloOpcode::kPartitionId:
      case HloOpcode::kReplicaId:
        if (!absl::StartsWith(shape, "u32[]")) unsure_ = true;
        return;
      default:
        return;
    }
  }

  void AddParameter() {
    const char* p = at_;
    if (std::optional<int64_t> number = text_.Integer(&p)) parameters_.push_back(*number);
  }

  // XLA's parser goes on after some operands that it cannot read, and does not count what it has
  // read for every opcode.
  void CheckOperands(const UsualOpcode& usual) {
    const char* p = at_;
    int operands = 0;
    for (bool more = !absl::StartsWith(text_.From(text_.AfterGap(p)), ")"); more; ++operands) {
      const char* const shape = OperandShape(&p);
      if (shape == nullptr || (usual.kind != OpcodeKind::kAny && !IsArray(shape))) unsure_ = true;
      if (unsure_) return;
      more = *p == ',';
      if (more) ++p;
    }
    if (!MayHaveOperands(usual, operands)) unsure_ = true;
  }

  // A reshape to another number of elements is a failed check.
  void CheckReshape() {
    const char* p = at_;
    const char* const shape = OperandShape(&p);
    if (shape == nullptr || *p != ')') {
      unsure_ = true;
      return;
    }
    const std::optional<int64_t> before = ElementsOfArray(shape, text_.end());
    if (!before || before != ElementsOfArray(text_.AfterGap(shape_), text_.end())) unsure_ = true;
  }

  bool IsArray(const char* shape) const {
    const absl::string_view text = text_.From(shape);
    return !IsTuple(shape) && !absl::StartsWith(text, "token") && !absl::StartsWith(text, "opaque");
  }

  bool IsTuple(const char* shape) const { return shape != text_.end() && *shape == '('; }

  // Reads "name" or "shape name" where the name is of an instruction above, of just that shape;
  // then `p` is at the ',' or ')' behind. Returns where the shape of that instruction begins, and
  // null if the operand is another one.
  const char* OperandShape(const char** p) const {
    const char* const start = text_.AfterGap(*p);
    const char* const limit = start + std::min<int64_t>(kLongestOperand, text_.end() - start);
    const char* end = start;
    // Shapes have commas and parentheses of their own.
    for (int depth = 0; end != limit && (depth > 0 || (*end != ',' && *end != ')')); ++end) {
      if (*end == '(' || *end == '[' || *end == '{') ++depth;
      if (*end == ')' || *end == ']' || *end == '}') --depth;
    }
    *p = end;
    if (end == limit) return nullptr;
    const absl::string_view operand =
        absl::StripTrailingAsciiWhitespace(absl::string_view(start, end - start));
    size_t name = operand.size();
    while (name > 0 && IsWordCharacter(operand[name - 1])) --name;
    const auto found = shapes_.find(operand.substr(name));
    if (found == shapes_.end()) return nullptr;
    const absl::string_view shape =
        absl::StripTrailingAsciiWhitespace(absl::StripSuffix(operand.substr(0, name), "%"));
    const bool is_same =
        shape.empty() || (shape[0] != '(' && (shape.back() == ']' || shape.back() == '}') &&
                          absl::StartsWith(text_.From(found->second), shape));
    return is_same ? found->second : nullptr;
  }

  // Parameters must be 0, 1, 2, ... in any order; XLA itself reports what occurs twice.
  void CheckParameters() {
    if (parameters_.empty()) return;
    const int64_t largest = *absl::c_max_element(parameters_);
    const int64_t count = static_cast<int64_t>(parameters_.size());
    parameters_.clear();
    if (largest < count) return;
    Fail(at_, absl::StrCat("a computation of ", count, " parameters has a parameter(", largest,
                           "); expected them to be numbered 0, 1, 2, ..."));
  }

  // An element takes a character of text or more, but for constant({...}).
  void CheckConstant() {
    if (!HasSoundLayouts(shape_, at_)) unsure_ = true;
    if (!absl::StartsWith(text_.From(text_.AfterGap(shape_)), "pred[")) {
      constant_ = at_;
      constant_depth_ = depth_;
    }
    const char* inside = text_.AfterGap(at_);
    if (inside != text_.end() && *inside == '{') inside = text_.AfterGap(inside + 1);
    if (absl::StartsWith(text_.From(inside), "...")) return CheckElided(at_);
    const int64_t elements = ElementsOf(shape_, at_);
    shape_ = at_;
    if (elements <= text_.end() - at_) return;
    // Of a constant in the place of an operand, the shapes of those before it were counted too.
    if (depth_ != kInstructionDepth) {
      unsure_ = true;
      return;
    }
    Fail(at_, absl::StrCat("a literal has a shape of ", elements,
                           " elements or more, but not as many characters"));
  }

  // XLA's lexer takes "true" and "false" in any constant, and its parser ends the process where the
  // type is not pred. Numbers, "inf" and "nan" have neither of the letters.
  void CheckWords() {
    constant_depth_ = kNowhere;
    if (std::memchr(constant_, 'u', at_ - constant_) != nullptr ||
        std::memchr(constant_, 'l', at_ - constant_) != nullptr) {
      unsure_ = true;
    }
  }

  void CheckElided(const char* shape_end) {
    elided_ = Plus(elided_, ElementsOf(shape_, shape_end));
    shape_ = shape_end;
    if (elided_ <= kMaxElidedElements) return;
    Fail(at_, absl::StrCat("{...} stands for more than ", kMaxElidedElements,
                           " elements, together with those before"));
  }

  // devices=[2,2]0,1,2,3 or [2,2]<=[2,2]T(1,0)
  void CheckTileAssignment(const char* const start) {
    const char* p = start;
    std::vector<int64_t> tiles, dims, permutation;
    if (!text_.List(&p, '[', ']', &tiles)) return;
    p = text_.AfterGap(p);
    if (!absl::StartsWith(text_.From(p), "<=")) {
      const int64_t devices = static_cast<int64_t>(text_.Integers(&p).size());
      if (devices > 0) FailIf(start, CheckTiles(tiles, devices));
      return;
    }
    p = text_.AfterGap(p + 2);
    if (!text_.List(&p, '[', ']', &dims)) return;
    p = text_.AfterGap(p);
    if (absl::StartsWith(text_.From(p), "T")) {
      p = text_.AfterGap(p + 1);
      if (!text_.List(&p, '(', ')', &permutation)) return;
    }
    FailIf(start, CheckIotaTiles(tiles, dims, permutation));
  }

  void FailIf(const char* where, const absl::Status& status) {
    if (!status.ok()) Fail(where, status.message());
  }

  void Fail(const char* where, absl::string_view message) {
    status_ = absl::InvalidArgumentError(text_.ErrorAt(where, message));
  }

  TextCursor text_;
  const char* at_;
  absl::Status status_;
  bool unsure_ = false;

  int depth_ = 0;                    // of brackets
  int attributes_depth_ = kNowhere;  // inside frontend_attributes={
  bool in_literal_ = false;          // behind literal=
  bool is_parameter_ = false;        // the instruction
  const char* shape_ = at_;          // behind the last '=', or the last literal's shape
  const char* constant_ = nullptr;   // the inside of a constant of numbers
  int constant_depth_ = kNowhere;    // of its parentheses
  int64_t elided_ = 0;               // elements that {...} has stood for

  // Of this computation: numbers of its parameters, and where the shapes of its instructions
  // begin, by their names, and of the last one.
  std::vector<int64_t> parameters_;
  absl::flat_hash_map<absl::string_view, const char*> shapes_;
  absl::string_view name_;
  const char* name_shape_ = nullptr;
};

}  // namespace

absl::StatusOr<Verdict> CheckText(absl::string_view text) { return TextCheck(text).Run(); }

}  // namespace hlograph
