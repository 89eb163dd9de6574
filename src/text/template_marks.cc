// SPDX-License-Identifier: Apache-2.0
#include "text/template_marks.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

#include "text/template_lexer.h"

namespace pawl::text {
namespace {

// The noncharacters are EF B7 90 to EF B7 AF in UTF-8.
constexpr std::string_view kBlock = "\xEF\xB7";
constexpr size_t kMarkBytes = 3;
constexpr uint8_t kFirst = 0x90;
constexpr int kCharacters = 32;

// What each of the 32 means.
enum Mark : int {
  kTokenBegin = 0,   // digits of an id follow
  kTokenEnd = 1,     // behind them
  kEscape = 2,       // two digits follow: one of the 32, as a caller wrote it
  kOpenBegin = 3,    // "<|" follows
  kOpenEnd = 4,      // behind it
  kCloseBegin = 5,   // "|>" follows
  kCloseEnd = 6,     // behind it
  kMessageEnd = 7,   // the final message goes on from here
  kFirstDigit = 16,  // 0 to 15
};

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// More are no vocabulary of this kind, and each is compared with every text of a template.
constexpr size_t kMaxFrames = 256;

// Words that a template may put between two parts of a control token.
constexpr std::string_view kRoles[] = {"system", "user",     "assistant", "tool",       "developer",
                                       "model",  "function", "ipython",   "observation"};

void append_mark(int mark, std::string& out) {
  out += kBlock;
  out += static_cast<char>(kFirst + mark);
}

// Which of the 32 stands at `at`, or -1.
int mark_at(std::string_view text, size_t at) {
  if (text.size() - at < kMarkBytes || text.substr(at, kBlock.size()) != kBlock) return -1;
  const int mark = static_cast<uint8_t>(text[at + kBlock.size()]) - kFirst;
  return mark >= 0 && mark < kCharacters ? mark : -1;
}

int digit_at(std::string_view text, size_t at) {
  const int mark = at < text.size() ? mark_at(text, at) : -1;
  return mark >= kFirstDigit ? mark - kFirstDigit : -1;
}

// Words alone are no markers: in a comparison with a role they have to stay what they are.
bool looks_like_a_marker(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_of_a_word = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                              (byte >= 'a' && byte <= 'z') || byte == '_' || byte <= ' ';
    return !is_of_a_word;
  });
}

// A place between what pieces hold: they only grow, so that it stays the same place.
struct Place {
  size_t pieces = 0;
  size_t text = 0;  // bytes of the last one
  bool is_trimmed = false;
};

void cut_at(const Place& place, PromptPieces& pieces) {
  pieces.resize(place.pieces);
  if (pieces.empty() || pieces.back().from_template) return;
  std::string& text = pieces.back().text;
  text.resize(place.text);
  if (place.is_trimmed) text.erase(text.find_last_not_of(" \t\r\n\f\v") + 1);
  if (text.empty()) pieces.pop_back();
}

// Walks over what was rendered.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool is_done() const { return at_ >= text_.size(); }
  size_t at() const { return at_; }
  void move_to(size_t at) { at_ = at; }

  // Text up to the next mark or the end.
  std::string_view take_text() {
    const size_t begin = at_;
    while (!is_done() && mark_at(text_, at_) < 0) {
      const size_t next = text_.find(kBlock[0], at_ + 1);
      at_ = next == std::string_view::npos ? text_.size() : next;
    }
    return text_.substr(begin, at_ - begin);
  }
  bool take_mark(int mark) {
    if (is_done() || mark_at(text_, at_) != mark) return false;
    at_ += kMarkBytes;
    return true;
  }
  int take_any_mark() {
    const int mark = mark_at(text_, at_);
    at_ += kMarkBytes;
    return mark;
  }
  // Up to `most` digits, base 16; -1: none.
  int64_t take_digits(int most) {
    int64_t value = -1;
    for (int i = 0; i < most && digit_at(text_, at_) >= 0; ++i) {
      value = (value < 0 ? 0 : value * 16) + digit_at(text_, at_);
      at_ += kMarkBytes;
    }
    return value;
  }
  bool has_space() const { return !is_done() && text_[at_] == ' '; }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

void append_text(std::string_view text, PromptPieces& pieces) {
  if (text.empty()) return;
  if (pieces.empty() || pieces.back().from_template) pieces.push_back({});
  pieces.back().text += text;
}

}  // namespace

TemplateMarks::TemplateMarks(const Vocab& vocab) : vocab_(vocab) {
  std::vector<SpecialTokens::Entry> entries;
  for (size_t entry = 0; entry < vocab.size(); ++entry) {
    const TokenId id = static_cast<TokenId>(entry);
    if (!is_marked(id)) continue;
    const std::string_view text = vocab.text(id);
    entries.push_back({text, id});
    for (const std::string_view role : kRoles) {
      const size_t at = text.find(role);
      if (at == std::string_view::npos || at == 0 || at + role.size() == text.size()) continue;
      if (frames_.size() == kMaxFrames) break;
      frames_.push_back({text.substr(0, at), text.substr(at + role.size())});
    }
  }
  tokens_.add_all(std::move(entries));
  std::stable_sort(frames_.begin(), frames_.end(), [](const Frame& a, const Frame& b) {
    return a.before.size() + a.after.size() > b.before.size() + b.after.size();
  });
}

bool TemplateMarks::is_marked(TokenId id) const {
  const TokenType type = vocab_.type(id);
  return (type == TokenType::kControl || type == TokenType::kUnknown) &&
         looks_like_a_marker(vocab_.text(id));
}

std::string TemplateMarks::mark_token(TokenId id) const {
  std::string out;
  if (id == kNoToken) return out;
  if (!is_marked(id)) return protect(vocab_.text(id));
  append_mark(kTokenBegin, out);
  char digits[16];
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), static_cast<uint32_t>(id), 16).ptr;
  for (const char* digit = digits; digit < end; ++digit) {
    append_mark(kFirstDigit + (*digit <= '9' ? *digit - '0' : *digit - 'a' + 10), out);
  }
  append_mark(kTokenEnd, out);
  return out;
}

std::string TemplateMarks::protect(std::string_view text) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(kBlock); at != std::string_view::npos;
       at = text.find(kBlock, at + 1)) {
    const int mark = mark_at(text, at);
    if (mark < 0) continue;
    out += text.substr(copied, at - copied);
    append_mark(kEscape, out);
    append_mark(kFirstDigit + mark / 16, out);
    append_mark(kFirstDigit + mark % 16, out);
    copied = at + kMarkBytes;
  }
  out += text.substr(copied);
  return out;
}

std::string_view TemplateMarks::end_of_message() {
  return "\xEF\xB7\x97 ";  // kMessageEnd and a space, which says whether the template trims
}

std::string TemplateMarks::mark_source(std::string_view source) const {
  std::string out;
  for (const TemplatePart& part : split_template(source)) {
    switch (part.kind) {
      case TemplatePart::Kind::kCode:
        out += part.text;
        break;
      case TemplatePart::Kind::kText:
        append_marked(part.text, part.joins_next, part.joins_previous, out);
        break;
    }
  }
  return out;
}

// `may_open`, `may_close`: an expression stands right behind or before the text.
void TemplateMarks::append_marked(std::string_view text, bool may_open, bool may_close,
                                  std::string& out) const {
  std::string_view open, close;
  const auto longer = [](std::string_view now, std::string_view other, bool fits) {
    return fits && other.size() > now.size() ? other : now;
  };
  for (const Frame& frame : frames_) {
    if (may_open) open = longer(open, frame.before, text.ends_with(frame.before));
    if (may_close) close = longer(close, frame.after, text.starts_with(frame.after));
  }
  if (open.size() + close.size() > text.size()) open = {};
  if (!close.empty()) {
    append_mark(kCloseBegin, out);
    out += close;
    append_mark(kCloseEnd, out);
  }
  const std::string_view middle =
      text.substr(close.size(), text.size() - close.size() - open.size());
  for (const TextPiece& piece : tokens_.split(middle)) {
    out += piece.token != kNoToken ? mark_token(piece.token)
                                   : protect(middle.substr(piece.begin, piece.end - piece.begin));
  }
  if (!open.empty()) {
    append_mark(kOpenBegin, out);
    out += open;
    append_mark(kOpenEnd, out);
  }
}

TokenId TemplateMarks::framed_token(std::string_view before, std::string_view word,
                                    std::string_view after) const {
  if (std::find(std::begin(kRoles), std::end(kRoles), word) == std::end(kRoles)) return kNoToken;
  const TokenId id = vocab_.find(std::string(before) + std::string(word) + std::string(after));
  return id != kNoToken && is_marked(id) ? id : kNoToken;
}

TemplateMarks::Rendered TemplateMarks::read(std::string_view rendered) const {
  Rendered result;
  PromptPieces& pieces = result.pieces;
  Place end;  // of the last kMessageEnd
  const auto append_token = [&](TokenId id) {
    pieces.push_back({std::string(vocab_.text(id)), true});
  };
  const auto try_token = [&](Reader& reader) {
    const int64_t id = reader.take_digits(8);
    if (!reader.take_mark(kTokenEnd) || id < 0 || static_cast<size_t>(id) >= vocab_.size() ||
        !is_marked(static_cast<TokenId>(id))) {
      return false;
    }
    append_token(static_cast<TokenId>(id));
    return true;
  };
  const auto try_frame = [&](Reader& reader) {
    const std::string_view before = reader.take_text();
    if (!reader.take_mark(kOpenEnd)) return false;
    const std::string_view word = reader.take_text();
    if (!reader.take_mark(kCloseBegin)) return false;
    const std::string_view after = reader.take_text();
    if (!reader.take_mark(kCloseEnd)) return false;
    const TokenId id = framed_token(before, word, after);
    if (id != kNoToken) append_token(id);
    return id != kNoToken;
  };

  Reader reader(rendered);
  while (!reader.is_done()) {
    append_text(reader.take_text(), pieces);
    if (reader.is_done()) break;
    const int mark = reader.take_any_mark();
    const size_t behind = reader.at();
    if (mark == kTokenBegin) {
      if (try_token(reader)) continue;
      append_text(kReplacement, pieces);
      reader.move_to(behind);
    } else if (mark == kOpenBegin) {
      if (!try_frame(reader)) reader.move_to(behind);
    } else if (mark == kEscape) {
      const int64_t original = reader.take_digits(2);
      std::string text;
      if (original >= 0 && original < kCharacters) append_mark(static_cast<int>(original), text);
      append_text(text.empty() ? kReplacement : text, pieces);
    } else if (mark == kMessageEnd) {
      result.has_end_of_message = true;
      end = {pieces.size(), pieces.empty() ? 0 : pieces.back().text.size(), !reader.has_space()};
    } else if (mark != kOpenEnd && mark != kCloseBegin && mark != kCloseEnd) {
      append_text(kReplacement, pieces);  // half of something that the template took apart
    }
  }
  if (result.has_end_of_message) cut_at(end, pieces);
  return result;
}

std::string TemplateMarks::read_as_text(std::string_view rendered) const {
  return joined_text(read(rendered).pieces);
}

}  // namespace pawl::text
