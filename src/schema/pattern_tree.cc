// SPDX-License-Identifier: Apache-2.0
#include "schema/pattern_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "schema/pattern_text.h"

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr int kMaxDepth = 100;
constexpr int kMaxCount = 100'000;
constexpr std::string_view kAnyButLineEnd = "[^\\n\\r\\x{2028}\\x{2029}]";

// One valid character.
char32_t decoded(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return at(0);
  char32_t c = at(0) & (0x7F >> bytes.size());
  for (size_t i = 1; i < bytes.size(); ++i) c = (c << 6) | (at(i) & 0x3F);
  return c;
}

class Parser {
 public:
  explicit Parser(std::u32string text) : in_(std::move(text)) {}

  Result<PatternNode> parse() {
    PAWL_TRY(PatternNode node, choice(0));
    if (!in_.at_end()) return in_.wrong(ErrorCode::kInvalidArgument, "')' without '('");
    return node;
  }

 private:
  Result<PatternNode> choice(int depth) {
    if (depth > kMaxDepth) return in_.unsupported("groups nested too deep");
    PatternNode node{.kind = PatternNode::Kind::kChoice, .column = static_cast<int>(in_.place())};
    do {
      PAWL_TRY(PatternNode branch, sequence(depth));
      node.children.push_back(std::move(branch));
    } while (in_.take(U'|'));
    if (node.children.size() == 1) return std::move(node.children.front());
    return node;
  }

  Result<PatternNode> sequence(int depth) {
    PatternNode node{.kind = PatternNode::Kind::kSequence, .column = static_cast<int>(in_.place())};
    while (!in_.at_end() && !in_.has(U'|') && !in_.has(U')')) {
      PAWL_TRY(PatternNode atom, this->atom(depth));
      PAWL_TRY(PatternNode repeated, repeat(std::move(atom)));
      node.children.push_back(std::move(repeated));
    }
    return node;
  }

  PatternNode text_node(std::string text) const {
    return {.text = std::move(text), .column = static_cast<int>(in_.place())};
  }

  Result<PatternNode> atom(int depth) {
    const char32_t c = in_.peek();
    switch (c) {
      case U'^':
        in_.skip(1);
        return PatternNode{.kind = PatternNode::Kind::kBegin,
                           .column = static_cast<int>(in_.place())};
      case U'$':
        in_.skip(1);
        return PatternNode{.kind = PatternNode::Kind::kEnd,
                           .column = static_cast<int>(in_.place())};
      case U'(':
        return group(depth);
      case U'[': {
        PAWL_TRY(std::string members, in_.bracket());
        return text_node(std::move(members));
      }
      case U'.':
        in_.skip(1);
        return text_node(std::string(kAnyButLineEnd));
      case U'\\': {
        if (in_.peek(1) == U'b' || in_.peek(1) == U'B') {
          const bool is_negated = in_.peek(1) == U'B';
          in_.skip(2);
          return PatternNode{.kind = PatternNode::Kind::kBorder,
                             .is_negated = is_negated,
                             .column = static_cast<int>(in_.place()) - 1};
        }
        PAWL_TRY(std::string escape, in_.escape());
        return text_node(std::move(escape));
      }
      case U'*':
      case U'+':
      case U'?':
        return in_.wrong(ErrorCode::kInvalidArgument, "nothing to repeat");
      default:
        in_.skip(1);
        return text_node(code_point(c));
    }
  }

  Result<PatternNode> look(int depth, bool is_behind) {
    PatternNode node{.kind = is_behind ? PatternNode::Kind::kBehind : PatternNode::Kind::kAhead,
                     .column = static_cast<int>(in_.place())};
    in_.skip(is_behind ? 2 : 1);
    node.is_negated = in_.next() == U'!';
    PAWL_TRY(PatternNode inner, choice(depth + 1));
    if (!in_.take(U')')) return in_.wrong(ErrorCode::kInvalidArgument, "a group without end");
    node.children.push_back(std::move(inner));
    return node;
  }

  Result<PatternNode> group(int depth) {
    in_.skip(1);
    if (in_.has(U'?')) {
      const bool is_behind = in_.peek(1) == U'<' && (in_.peek(2) == U'=' || in_.peek(2) == U'!');
      if (in_.peek(1) == U'=' || in_.peek(1) == U'!' || is_behind) return look(depth, is_behind);
      if (in_.peek(1) == U':') {
        in_.skip(2);
      } else if (in_.peek(1) == U'<') {
        in_.skip(2);
        while (!in_.at_end() && !in_.has(U'>')) in_.skip(1);
        in_.take(U'>');
      } else {
        return in_.unsupported("a group with flags");
      }
    }
    PAWL_TRY(PatternNode node, choice(depth + 1));
    if (!in_.take(U')')) return in_.wrong(ErrorCode::kInvalidArgument, "a group without end");
    return node;
  }

  std::optional<int> number() {
    int value = 0;
    const size_t start = in_.place();
    while (!in_.at_end() && in_.peek() >= U'0' && in_.peek() <= U'9') {
      value = std::min(value * 10 + static_cast<int>(in_.peek() - U'0'), kMaxCount + 1);
      in_.skip(1);
    }
    return in_.place() == start ? std::nullopt : std::optional(value);
  }

  Result<PatternNode> repeat(PatternNode atom) {
    std::string count;
    bool may_be_none = true;
    const size_t start = in_.place();
    if (in_.take(U'*')) {
      count = "*";
    } else if (in_.take(U'+')) {
      count = "+";
      may_be_none = false;
    } else if (in_.take(U'?')) {
      count = "?";
    } else if (in_.take(U'{')) {
      const std::optional<int> least = number();
      std::optional<int> most = least;
      const bool has_comma = in_.take(U',');
      if (has_comma) most = number();
      if (!least || !in_.take(U'}')) {
        in_.go_back(start);  // a brace that counts nothing stands for itself
        return atom;
      }
      if (*least > kMaxCount || most.value_or(0) > kMaxCount) {
        return in_.unsupported(fmt::format("a repetition of more than {} times", kMaxCount));
      }
      if (most && *most < *least)
        return in_.wrong(ErrorCode::kInvalidArgument, "a range out of order");
      count = fmt::format("{{{},{}}}", *least, most ? std::to_string(*most) : "");
      may_be_none = *least == 0;
    } else {
      return atom;
    }
    in_.take(U'?');  // which match is found first does not matter to whether there is one
    PatternNode node{.kind = PatternNode::Kind::kRepeat,
                     .text = std::move(count),
                     .may_be_none = may_be_none,
                     .column = static_cast<int>(start) + 1};
    node.children.push_back(std::move(atom));
    return node;
  }

  PatternText in_;
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
