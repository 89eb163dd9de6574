// SPDX-License-Identifier: Apache-2.0
#include "text/template_lexer.h"

#include <cstddef>

namespace pawl::text {
namespace {

using Kind = TemplatePart::Kind;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<TemplatePart> run() {
    while (at_ < source_.size()) {
      read_text();
      if (at_ >= source_.size()) break;
      if (source_[at_ + 1] == '#') {
        read_comment();
      } else {
        read_tag();
      }
    }
    return std::move(parts_);
  }

 private:
  void add(Kind kind, size_t begin, size_t end) {
    if (end > begin) parts_.push_back({kind, source_.substr(begin, end - begin), false, false});
  }
  size_t find(std::string_view what, size_t from) const {
    const size_t found = source_.find(what, from);
    return found == std::string_view::npos ? source_.size() : found;
  }

  // Text up to the next tag.
  void read_text() {
    size_t end = find("{", at_);
    while (end + 1 < source_.size() && source_[end + 1] != '{' && source_[end + 1] != '%' &&
           source_[end + 1] != '#') {
      end = find("{", end + 1);
    }
    if (end + 1 >= source_.size()) end = source_.size();
    const size_t count = parts_.size();
    add(Kind::kText, at_, end);
    if (parts_.size() > count) {
      parts_.back().joins_previous = is_behind_expression_;
      parts_.back().joins_next = end + 1 < source_.size() && source_[end + 1] == '{';
    }
    is_behind_expression_ = false;
    at_ = end;
  }

  void read_comment() {
    const size_t end = find("#}", at_ + 2);
    add(Kind::kCode, at_, end);
    at_ = end;
    if (at_ < source_.size()) {
      add(Kind::kCode, at_, at_ + 2);
      at_ += 2;
    }
  }

  // {{ … }} or {% … %}: code, with the string literals as text.
  void read_tag() {
    const bool is_expression = source_[at_ + 1] == '{';
    size_t begin = at_;  // of the code that is not added yet
    at_ += 2;
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
    const std::string_view name = is_expression ? std::string_view() : peek_word();
    if (name == "generation" || name == "endgeneration") {
      const auto word = static_cast<size_t>(name.data() - source_.data());
      add(Kind::kCode, begin, word);
      parts_.push_back({Kind::kCode, name == "generation" ? "if true" : "endif", false, false});
      begin = at_ = word + name.size();
    }
    int depth = 0;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '"' || c == '\'') {
        begin = read_literal(begin);
        continue;
      }
      if (depth == 0 && source_.substr(at_, 2) == (is_expression ? "}}" : "%}")) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
      ++at_;
    }
    at_ = at_ + 2 < source_.size() ? at_ + 2 : source_.size();
    add(Kind::kCode, begin, at_);
    is_behind_expression_ = is_expression;
    if (name == "raw") read_raw();
  }

  // The word at at_, behind blanks.
  std::string_view peek_word() const {
    size_t begin = at_;
    while (begin < source_.size() && is_space(source_[begin])) ++begin;
    size_t end = begin;
    while (end < source_.size() && is_word(source_[end])) ++end;
    return source_.substr(begin, end - begin);
  }

  // A string literal that begins at at_; code from `begin` on stands before it. Gives where the
  // code behind it begins: its closing quote.
  size_t read_literal(size_t begin) {
    const char quote = source_[at_];
    const size_t text = at_ + 1;
    size_t end = text;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) {  // it never ends
      at_ = source_.size();
      return begin;
    }
    add(Kind::kCode, begin, text);
    const size_t count = parts_.size();
    add(Kind::kText, text, end);
    if (parts_.size() > count) {
      parts_.back().joins_previous = is_concatenation_before(text - 1);
      parts_.back().joins_next = is_concatenation_behind(end + 1);
    }
    at_ = end + 1;
    return end;
  }

  bool is_concatenation_before(size_t quote) const {
    size_t at = quote;
    while (at > 0 && is_space(source_[at - 1])) --at;
    return at > 0 && (source_[at - 1] == '+' || source_[at - 1] == '~');
  }
  bool is_concatenation_behind(size_t at) const {
    while (at < source_.size() && is_space(source_[at])) ++at;
    return at < source_.size() && (source_[at] == '+' || source_[at] == '~');
  }

  // Behind {% raw %}: text whatever it looks like.
  void read_raw() {
    size_t end = find("{%", at_);
    while (end < source_.size()) {
      size_t word = end + 2;
      while (word < source_.size() && (is_space(source_[word]) || source_[word] == '-')) ++word;
      if (source_.substr(word, 6) == "endraw") break;
      end = find("{%", end + 2);
    }
    add(Kind::kText, at_, end);
    at_ = end;
  }

  std::string_view source_;
  size_t at_ = 0;
  bool is_behind_expression_ = false;
  std::vector<TemplatePart> parts_;
};

}  // namespace

std::vector<TemplatePart> split_template(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace pawl::text
