// SPDX-License-Identifier: Apache-2.0
#include "grammar/gbnf.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "grammar/form.h"
#include "grammar/json_grammar.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Result;
using schema::Language;

namespace {

constexpr int kMaxDepth = 100;
constexpr int64_t kMaxCount = int64_t{1} << 40;

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::string> parse() {
    skip_space(true);
    if (at_end()) return wrong("the grammar is empty");
    while (!at_end()) PAWL_TRY_VOID(rule());
    const auto root = rules_.find("root");
    if (root == rules_.end() || !root->second.is_defined) {
      return Error{ErrorCode::kInvalidArgument, "no rule named root", ""};
    }
    for (const auto& [name, rule] : rules_) {
      if (rule.is_defined) continue;
      place_ = rule.first_use;
      return wrong(fmt::format("no rule named {}", base::quoted_text(name)));
    }
    CachedOracle oracle;
    return form_.text(root->second.node, {}, oracle);
  }

 private:
  struct Rule {
    FormNode node = 0;
    bool is_defined = false;
    size_t first_use = 0;
  };

  bool at_end() const { return place_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return place_ + ahead < text_.size() ? text_[place_ + ahead] : '\0';
  }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++place_;
    return true;
  }

  Error wrong(std::string_view what, ErrorCode code = ErrorCode::kInvalidArgument) const {
    size_t line = 1, column = 1;
    for (const char c : text_.substr(0, place_)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n' ? 1 : 0;
    }
    return {code, fmt::format("line {}, column {}: {}", line, column, what), ""};
  }

  void skip_space(bool over_lines) {
    for (;;) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\n') ++place_;
      } else if (!at_end() && (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r')))) {
        ++place_;
      } else {
        return;
      }
    }
  }

  std::string name() {
    const size_t start = place_;
    while (!at_end() && is_name_letter(peek())) ++place_;
    return std::string(text_.substr(start, place_ - start));
  }

  Rule& rule_named(const std::string& name) {
    const auto [rule, is_new] = rules_.try_emplace(name);
    if (is_new) rule->second = {form_.reserve(name), false, place_ - name.size()};
    return rule->second;
  }

  Result<void> rule() {
    const std::string left = name();
    if (left.empty()) return wrong("a rule begins with its name");
    skip_space(false);
    if (text_.substr(place_, 3) != "::=") return wrong("'::=' is missing");
    if (rule_named(left).is_defined) {
      return wrong(fmt::format("the rule {} stands twice", base::quoted_text(left)));
    }
    place_ += 3;
    skip_space(true);
    PAWL_TRY(const FormNode meaning, choice(0));
    Rule& made = rule_named(left);
    made.is_defined = true;
    form_.define(made.node, meaning);
    skip_space(false);
    if (!at_end() && peek() != '\n' && peek() != '\r')
      return wrong("the rule goes on with what it cannot");
    skip_space(true);
    return {};
  }

  Result<FormNode> choice(int depth) {
    if (depth > kMaxDepth) return wrong("groups nested too deep");
    std::vector<FormNode> options;
    for (;;) {
      PAWL_TRY(const FormNode option, sequence(depth));
      options.push_back(option);
      if (!take('|')) break;
      skip_space(true);
    }
    return form_.any(std::move(options));
  }

  Result<FormNode> sequence(int depth) {
    std::vector<FormNode> parts;
    for (;;) {
      skip_space(depth > 0);
      if (at_end() || peek() == '|' || peek() == ')' || peek() == '\n' || peek() == '\r') break;
      PAWL_TRY(const FormNode item, this->item(depth));
      PAWL_TRY(const FormNode repeated, repeat(item));
      parts.push_back(repeated);
    }
    return form_.sequence(std::move(parts));
  }

  Result<FormNode> item(int depth) {
    if (peek() == '"') return literal();
    if (peek() == '[') return bracket();
    if (take('.')) return form_.lexeme(Language::regex("(?s:.)"));
    if (take('(')) {
      skip_space(true);
      PAWL_TRY(const FormNode group, choice(depth + 1));
      skip_space(true);
      if (!take(')')) return wrong("a group without end");
      return group;
    }
    if (peek() == '<' || peek() == '!') {
      return wrong("tokens by name or number are not supported", ErrorCode::kUnsupported);
    }
    const std::string named = name();
    if (named.empty()) return wrong("neither a text, a class, a group nor a rule");
    return rule_named(named).node;
  }

  // One character of a text or a class.
  Result<std::string> character() {
    if (take('\\')) return escape();
    const size_t bytes = base::utf8_character_bytes(text_.substr(place_));
    if (bytes == 0) return wrong("not UTF-8");
    place_ += bytes;
    return std::string(text_.substr(place_ - bytes, bytes));
  }

  Result<std::string> escape() {
    const char c = peek();
    ++place_;
    switch (c) {
      case 'n':
        return std::string("\n");
      case 'r':
        return std::string("\r");
      case 't':
        return std::string("\t");
      case 'x':
        return code_point(2);
      case 'u':
        return code_point(4);
      case 'U':
        return code_point(8);
      case '"':
      case '\\':
      case '[':
      case ']':
      case '-':
      case '^':
      case '/':
        return std::string(1, c);
      default:
        --place_;
        return wrong("an escape that is not known");
    }
  }

  Result<std::string> code_point(int digits) {
    uint32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit && (lower < 'a' || lower > 'f')) return wrong("a hex digit is missing");
      value = value * 16 + static_cast<uint32_t>(is_digit ? c - '0' : lower - 'a' + 10);
      ++place_;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return wrong("no code point");
    return utf8(value);
  }

  static std::string utf8(uint32_t c) {
    if (c < 0x80) return {static_cast<char>(c)};
    const auto tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
    if (c < 0x800) return {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
    if (c < 0x10000) return {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
    return {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
  }

  Result<FormNode> literal() {
    ++place_;
    std::vector<FormNode> parts;
    while (!at_end() && peek() != '"') {
      if (peek() == '\n') break;
      PAWL_TRY(const std::string one, character());
      parts.push_back(form_.literal(one));
    }
    if (!take('"')) return wrong("a text without end");
    return form_.sequence(std::move(parts));
  }

  Result<FormNode> bracket() {
    ++place_;
    std::string expression = take('^') ? "[^" : "[";
    bool is_empty = true;
    while (!at_end() && peek() != ']') {
      is_empty = false;
      PAWL_TRY(const std::string first, character());
      expression += schema::escaped(first);
      if (peek() == '-' && peek(1) != ']') {
        ++place_;
        PAWL_TRY(const std::string last, character());
        if (last.size() < first.size() || (last.size() == first.size() && last < first)) {
          return wrong("a range out of order");
        }
        expression += "-" + schema::escaped(last);
      }
    }
    if (!take(']')) return wrong("a class without end");
    if (is_empty) return wrong("a class of no character");
    return form_.lexeme(Language::regex(expression + "]"));
  }

  Result<int64_t> count() {
    skip_space(false);
    int64_t value = 0;
    const size_t start = place_;
    while (!at_end() && peek() >= '0' && peek() <= '9') {
      value = value * 10 + (peek() - '0');
      if (value > kMaxCount) return wrong(fmt::format("a count above {}", kMaxCount));
      ++place_;
    }
    if (place_ == start) return wrong("a number is missing");
    skip_space(false);
    return value;
  }

  Result<FormNode> repeat(FormNode item) {
    if (take('*')) return form_.repeat(item, 0, {});
    if (take('+')) return form_.repeat(item, 1, {});
    if (take('?')) return form_.repeat(item, 0, 1);
    if (!take('{')) return item;
    PAWL_TRY(const int64_t least, count());
    std::optional<int64_t> most = least;
    if (take(',')) {
      skip_space(false);
      most.reset();
      if (peek() != '}') {
        PAWL_TRY(most, count());
      }
    }
    if (!take('}')) return wrong("'}' is missing");
    if (most && *most < least) return wrong("a range out of order");
    return form_.repeat(item, least, most);
  }

  std::string_view text_;
  size_t place_ = 0;
  Form form_;
  std::map<std::string, Rule> rules_;
};

}  // namespace

Result<std::string> gbnf_grammar(std::string_view source) {
  return Parser(source).parse();
}

}  // namespace pawl::grammar
