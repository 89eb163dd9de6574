// SPDX-License-Identifier: Apache-2.0
#include "schema/pattern_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/utf8.h"

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr int kMaxDepth = 100;
constexpr int kMaxCount = 100'000;
// White space and line ends as ECMA-262 has them (sections 12.2 and 12.3).
constexpr std::string_view kSpaces =
    "\\t\\n\\x0B\\x0C\\r\\x20\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
    "\\x{3000}\\x{FEFF}";
constexpr std::string_view kAnyButLineEnd = "[^\\n\\r\\x{2028}\\x{2029}]";

std::string code_point(char32_t c) {
  return fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c));
}

// One valid character.
char32_t decoded(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return at(0);
  char32_t c = at(0) & (0x7F >> bytes.size());
  for (size_t i = 1; i < bytes.size(); ++i) c = (c << 6) | (at(i) & 0x3F);
  return c;
}

// The members of a class that one letter stands for; empty: none does.
std::string class_members(char32_t letter) {
  switch (letter) {
    case U'd':
      return "0-9";
    case U'w':
      return "0-9A-Za-z_";
    case U's':
      return std::string(kSpaces);
    default:
      return {};
  }
}

class Parser {
 public:
  explicit Parser(std::u32string text) : text_(std::move(text)) {}

  Result<PatternNode> parse() {
    PAWL_TRY(PatternNode node, choice(0));
    if (!at_end()) return wrong(ErrorCode::kInvalidArgument, "')' without '('");
    return node;
  }

 private:
  bool at_end() const { return place_ == text_.size(); }
  char32_t peek(size_t ahead = 0) const {
    return place_ + ahead < text_.size() ? text_[place_ + ahead] : U'\0';
  }
  bool has(char32_t c) const { return !at_end() && text_[place_] == c; }
  bool take(char32_t c) {
    if (!has(c)) return false;
    ++place_;
    return true;
  }

  Error wrong(ErrorCode code, std::string_view what) const {
    return {code, fmt::format("{} at column {}", what, place_ + 1), ""};
  }
  Error unsupported(std::string_view what) const { return wrong(ErrorCode::kUnsupported, what); }

  Result<PatternNode> choice(int depth) {
    if (depth > kMaxDepth) return unsupported("groups nested too deep");
    PatternNode node{.kind = PatternNode::Kind::kChoice, .column = static_cast<int>(place_)};
    do {
      PAWL_TRY(PatternNode branch, sequence(depth));
      node.children.push_back(std::move(branch));
    } while (take(U'|'));
    if (node.children.size() == 1) return std::move(node.children.front());
    return node;
  }

  Result<PatternNode> sequence(int depth) {
    PatternNode node{.kind = PatternNode::Kind::kSequence, .column = static_cast<int>(place_)};
    while (!at_end() && !has(U'|') && !has(U')')) {
      PAWL_TRY(PatternNode atom, this->atom(depth));
      PAWL_TRY(PatternNode repeated, repeat(std::move(atom)));
      node.children.push_back(std::move(repeated));
    }
    return node;
  }

  PatternNode text_node(std::string text) const {
    return {.text = std::move(text), .column = static_cast<int>(place_)};
  }

  Result<PatternNode> atom(int depth) {
    const char32_t c = peek();
    switch (c) {
      case U'^':
        ++place_;
        return PatternNode{.kind = PatternNode::Kind::kBegin, .column = static_cast<int>(place_)};
      case U'$':
        ++place_;
        return PatternNode{.kind = PatternNode::Kind::kEnd, .column = static_cast<int>(place_)};
      case U'(':
        return group(depth);
      case U'[': {
        PAWL_TRY(std::string members, bracket());
        return text_node(std::move(members));
      }
      case U'.':
        ++place_;
        return text_node(std::string(kAnyButLineEnd));
      case U'\\': {
        if (peek(1) == U'b' || peek(1) == U'B') {
          place_ += 2;
          return PatternNode{.kind = PatternNode::Kind::kBorder,
                             .is_negated = text_[place_ - 1] == U'B',
                             .column = static_cast<int>(place_) - 1};
        }
        PAWL_TRY(std::string escape, atom_escape());
        return text_node(std::move(escape));
      }
      case U'*':
      case U'+':
      case U'?':
        return wrong(ErrorCode::kInvalidArgument, "nothing to repeat");
      default:
        ++place_;
        return text_node(code_point(c));
    }
  }

  Result<PatternNode> look(int depth, bool is_behind) {
    PatternNode node{.kind = is_behind ? PatternNode::Kind::kBehind : PatternNode::Kind::kAhead,
                     .column = static_cast<int>(place_)};
    place_ += is_behind ? 2 : 1;
    node.is_negated = text_[place_++] == U'!';
    PAWL_TRY(PatternNode inner, choice(depth + 1));
    if (!take(U')')) return wrong(ErrorCode::kInvalidArgument, "a group without end");
    node.children.push_back(std::move(inner));
    return node;
  }

  Result<PatternNode> group(int depth) {
    ++place_;
    if (has(U'?')) {
      const bool is_behind = peek(1) == U'<' && (peek(2) == U'=' || peek(2) == U'!');
      if (peek(1) == U'=' || peek(1) == U'!' || is_behind) return look(depth, is_behind);
      if (peek(1) == U':') {
        place_ += 2;
      } else if (peek(1) == U'<') {
        place_ += 2;
        while (!at_end() && !has(U'>')) ++place_;
        take(U'>');
      } else {
        return unsupported("a group with flags");
      }
    }
    PAWL_TRY(PatternNode node, choice(depth + 1));
    if (!take(U')')) return wrong(ErrorCode::kInvalidArgument, "a group without end");
    return node;
  }

  std::optional<int> number() {
    int value = 0;
    const size_t start = place_;
    while (!at_end() && peek() >= U'0' && peek() <= U'9') {
      value = std::min(value * 10 + static_cast<int>(peek() - U'0'), kMaxCount + 1);
      ++place_;
    }
    return place_ == start ? std::nullopt : std::optional(value);
  }

  Result<PatternNode> repeat(PatternNode atom) {
    std::string count;
    bool may_be_none = true;
    const size_t start = place_;
    if (take(U'*')) {
      count = "*";
    } else if (take(U'+')) {
      count = "+";
      may_be_none = false;
    } else if (take(U'?')) {
      count = "?";
    } else if (take(U'{')) {
      const std::optional<int> least = number();
      std::optional<int> most = least;
      const bool has_comma = take(U',');
      if (has_comma) most = number();
      if (!least || !take(U'}')) {
        place_ = start;  // a brace that counts nothing stands for itself
        return atom;
      }
      if (*least > kMaxCount || most.value_or(0) > kMaxCount) {
        return unsupported(fmt::format("a repetition of more than {} times", kMaxCount));
      }
      if (most && *most < *least) return wrong(ErrorCode::kInvalidArgument, "a range out of order");
      count = fmt::format("{{{},{}}}", *least, most ? std::to_string(*most) : "");
      may_be_none = *least == 0;
    } else {
      return atom;
    }
    take(U'?');  // which match is found first does not matter to whether there is one
    PatternNode node{.kind = PatternNode::Kind::kRepeat,
                     .text = std::move(count),
                     .may_be_none = may_be_none,
                     .column = static_cast<int>(start) + 1};
    node.children.push_back(std::move(atom));
    return node;
  }

  std::optional<char32_t> hex(size_t digits) {
    if (place_ + digits > text_.size()) return std::nullopt;
    char32_t value = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char32_t c = text_[place_ + i];
      const bool is_digit = c >= U'0' && c <= U'9';
      const char32_t lower = c | 0x20;
      if (!is_digit && (lower < U'a' || lower > U'f')) return std::nullopt;
      value = value * 16 + (is_digit ? c - U'0' : lower - U'a' + 10);
    }
    place_ += digits;
    return value;
  }

  // What \c, \x, \u and their like stand for, or nothing when the letter is no such escape.
  Result<std::optional<char32_t>> character_escape() {
    const char32_t c = peek();
    ++place_;
    switch (c) {
      case U't':
        return std::optional(U'\t');
      case U'n':
        return std::optional(U'\n');
      case U'v':
        return std::optional(U'\v');
      case U'f':
        return std::optional(U'\f');
      case U'r':
        return std::optional(U'\r');
      case U'0':
        return std::optional(U'\0');
      case U'c':
        if (((peek() | 0x20) >= U'a') && ((peek() | 0x20) <= U'z')) {
          return std::optional<char32_t>(text_[place_++] & 0x1F);
        }
        break;
      case U'x':
        if (const auto value = hex(2)) return value;
        break;
      case U'u':
        return unicode_escape();
      default:
        if (c < 128 && !((c >= U'0' && c <= U'9') || ((c | 0x20) >= U'a' && (c | 0x20) <= U'z'))) {
          return std::optional(c);
        }
        if (c >= 128) return std::optional(c);
    }
    --place_;
    return std::optional<char32_t>();
  }

  Result<std::optional<char32_t>> unicode_escape() {
    if (take(U'{')) {
      char32_t value = 0;
      const size_t start = place_;
      while (hex_digit()) value = std::min<char32_t>(value * 16 + *hex(1), 0x110000);
      if (place_ == start || !take(U'}') || value > 0x10FFFF) {
        return wrong(ErrorCode::kInvalidArgument, "a \\u{...} that is no code point");
      }
      return std::optional(value);
    }
    const auto first = hex(4);
    if (!first) return wrong(ErrorCode::kInvalidArgument, "a \\u without four digits");
    const bool is_high = *first >= 0xD800 && *first < 0xDC00;
    if (is_high && peek() == U'\\' && peek(1) == U'u') {
      place_ += 2;
      const auto second = hex(4);
      if (second && *second >= 0xDC00 && *second < 0xE000) {
        return std::optional<char32_t>(0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
      }
    }
    if (*first >= 0xD800 && *first < 0xE000) return unsupported("half a surrogate pair");
    return first;
  }

  bool hex_digit() const {
    const char32_t lower = peek() | 0x20;
    return !at_end() && ((peek() >= U'0' && peek() <= U'9') || (lower >= U'a' && lower <= U'f'));
  }

  // \p{…}: the automata library knows the same names.
  Result<std::string> property() {
    const bool is_negated = text_[place_++] == U'P';
    if (!take(U'{')) return wrong(ErrorCode::kInvalidArgument, "a \\p without braces");
    std::string name;
    while (!at_end() && !has(U'}')) {
      const char32_t c = text_[place_++];
      const bool is_name = c < 128 && (c == U'_' || c == U'=' || (c >= U'0' && c <= U'9') ||
                                       ((c | 0x20) >= U'a' && (c | 0x20) <= U'z'));
      if (!is_name) return wrong(ErrorCode::kInvalidArgument, "a name of no property");
      name += static_cast<char>(c);
    }
    if (!take(U'}')) return wrong(ErrorCode::kInvalidArgument, "a \\p without end");
    return fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', name);
  }

  Result<std::string> atom_escape() {
    ++place_;
    if (at_end()) return wrong(ErrorCode::kInvalidArgument, "a backslash at the end");
    const char32_t c = peek();
    if (const std::string members = class_members(c | 0x20); !members.empty() && c < 128) {
      ++place_;
      return fmt::format("[{}{}]", c < U'a' ? "^" : "", members);
    }
    if (c >= U'1' && c <= U'9') return unsupported("a back reference");
    if (c == U'k' && peek(1) == U'<') return unsupported("a back reference");
    if (c == U'p' || c == U'P') return property();
    PAWL_TRY(const auto value, character_escape());
    if (value) return code_point(*value);
    // Letters that mean nothing: other engines read some of them as anchors.
    if (std::u32string_view(U"AzZG").find(c) != std::u32string_view::npos) {
      return unsupported(fmt::format("\\{}", static_cast<char>(c)));
    }
    ++place_;
    return code_point(c);
  }

  // A member of a bracket: one code point in `single`, or a class in the result.
  Result<std::string> bracket_member(std::optional<char32_t>& single) {
    single.reset();
    if (!take(U'\\')) {
      single = text_[place_++];
      return std::string();
    }
    if (at_end()) return wrong(ErrorCode::kInvalidArgument, "a backslash at the end");
    const char32_t c = peek();
    if (const std::string members = class_members(c | 0x20); !members.empty() && c < 128) {
      ++place_;
      return c < U'a' ? fmt::format("[^{}]", members) : members;
    }
    if (c == U'p' || c == U'P') return property();
    if (c == U'b') {
      ++place_;
      single = U'\b';
      return std::string();
    }
    PAWL_TRY(single, character_escape());
    if (!single) single = text_[place_++];
    return std::string();
  }

  Result<std::string> bracket() {
    ++place_;
    std::string out = "[";
    const bool is_negated = take(U'^');
    if (is_negated) out += '^';
    bool is_empty = true, has_mark = false, has_control = false;
    const auto add_range = [&](char32_t first, char32_t last) {
      has_control |= first <= 1 && last >= 1;
      has_mark |= (first <= U'"' && last >= U'"') || (first <= U'\\' && last >= U'\\');
    };
    while (!at_end() && !has(U']')) {
      is_empty = false;
      std::optional<char32_t> first;
      PAWL_TRY(std::string members, bracket_member(first));
      const bool is_range = has(U'-') && peek(1) != U']' && peek(1) != U'\0';
      if (!is_range || !first) {
        out += first ? code_point(*first) : members;
        add_range(first.value_or(0), first.value_or(0x10FFFF));
        continue;
      }
      ++place_;
      std::optional<char32_t> last;
      PAWL_TRY(members, bracket_member(last));
      if (!last) {
        out += code_point(*first) + "\\x2D" + members;
        add_range(0, 0x10FFFF);
        continue;
      }
      if (*last < *first) return wrong(ErrorCode::kInvalidArgument, "a range out of order");
      out += code_point(*first) + "-" + code_point(*last);
      add_range(*first, *last);
    }
    if (!take(U']')) return wrong(ErrorCode::kInvalidArgument, "a class without end");
    if (is_empty) return std::string(is_negated ? "(?s:.)" : "[^\\x{0}-\\x{10FFFF}]");
    // The library takes a class with every control character for one that has quotes and
    // backslashes too when it spells it in JSON. Complements leave the same character out
    // (language.cc).
    if (is_negated && has_mark) out += "\\x{1}";
    out += ']';
    return !is_negated && has_control && !has_mark ? "[" + out + "--\\x{1}]" : out;
  }

  std::u32string text_;
  size_t place_ = 0;
};

}  // namespace

bool PatternNode::has_anchor() const {
  return kind == Kind::kBegin || kind == Kind::kEnd || kind == Kind::kAhead ||
         kind == Kind::kBehind || kind == Kind::kBorder ||
         std::ranges::any_of(children, [](const PatternNode& child) { return child.has_anchor(); });
}

std::string PatternNode::expression() const {
  switch (kind) {
    case Kind::kSequence: {
      std::string out;
      for (const PatternNode& child : children) out += child.expression();
      return out;
    }
    case Kind::kChoice: {
      std::string out = "(?:";
      for (size_t i = 0; i < children.size(); ++i) {
        out += (i > 0 ? "|" : "") + children[i].expression();
      }
      return out + ")";
    }
    case Kind::kRepeat:
      return "(?:" + children.front().expression() + ")" + text;
    default:
      return text;
  }
}

Result<PatternNode> parse_pattern(std::string_view pattern) {
  std::u32string text;
  for (size_t place = 0; place < pattern.size();) {
    const size_t bytes = base::utf8_character_bytes(pattern.substr(place));
    if (bytes == 0) return Error{ErrorCode::kInvalidArgument, "a pattern that is not UTF-8", ""};
    text += decoded(pattern.substr(place, bytes));
    place += bytes;
  }
  return Parser(std::move(text)).parse();
}

}  // namespace pawl::schema
