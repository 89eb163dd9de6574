// SPDX-License-Identifier: Apache-2.0
#include "text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;

// Unicode's White_Space. PCRE2's own \s also has U+180E, which lost the property in Unicode 6.3.
constexpr std::string_view kWhiteSpace =
    "\\t-\\r "
    "\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}";

// The JIT keeps what it may come back to on a stack of its own. Our expressions need little of it:
// they repeat single characters, never groups.
constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackLimit = 1024 * 1024;

// Steps one match may take. A run of n spaces before a letter needs about n, so the limit grows
// with the text; it is there for an expression that turns out to be worse than that.
constexpr uint64_t kMatchStepsBase = 1'000'000;
constexpr uint64_t kMatchStepsPerByte = 16;

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
using Code = std::unique_ptr<pcre2_code, Freed<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>>;

// Writes \s and \S out as classes.
std::string expand_white_space(std::string_view expression) {
  std::string out;
  bool in_class = false;
  for (size_t at = 0; at < expression.size(); ++at) {
    const char c = expression[at];
    if (c == '\\' && at + 1 < expression.size()) {
      const char escaped = expression[++at];
      if (escaped == 's') {
        out += in_class ? std::string(kWhiteSpace) : "[" + std::string(kWhiteSpace) + "]";
      } else if (escaped == 'S' && !in_class) {
        out += "[^" + std::string(kWhiteSpace) + "]";
      } else {
        out += c;
        out += escaped;
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct Pretokenizer::Compiled {
  Cut cut;
  Code code;
};

namespace {

// The matches of one expression in one piece after another; holds what a thread needs for that.
class Matcher {
 public:
  explicit Matcher(size_t text_bytes)
      : data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr)) {
    if (!is_ready()) return;
    const uint64_t steps = kMatchStepsBase + kMatchStepsPerByte * text_bytes;
    pcre2_set_match_limit(context_.get(),
                          static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }

  bool is_ready() const { return data_ && context_ && stack_; }

  // The next match at or after `from`: 1 and its borders, 0 when there is none, or PCRE2's error
  // code.
  int next(const pcre2_code* code, std::string_view piece, size_t from, size_t& begin,
           size_t& end) {
    const int rc = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(piece.data()), piece.size(), from,
                               PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data_.get(), context_.get());
    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    if (rc < 0) return rc;
    const PCRE2_SIZE* borders = pcre2_get_ovector_pointer(data_.get());
    begin = borders[0];
    end = borders[1];
    return 1;
  }

 private:
  MatchData data_;
  MatchContext context_;
  JitStack stack_;
};

void push_end(std::vector<uint32_t>& ends, size_t end) {
  if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(static_cast<uint32_t>(end));
}

// The borders inside `match`, which begins at `offset`, between threes of characters from its end.
void push_threes(std::string_view match, size_t offset, std::vector<uint32_t>& ends) {
  std::vector<uint32_t> starts;
  for (size_t at = 0; at < match.size(); at += base::utf8_character_bytes(match.substr(at))) {
    starts.push_back(static_cast<uint32_t>(offset + at));
  }
  for (size_t at = starts.size() % 3; at < starts.size(); at += 3) push_end(ends, starts[at]);
}

// Cuts the piece [begin, end) of `text`, appending the ends of what it gives. Returns 0 or PCRE2's
// error.
int cut_piece(const Cut& cut, const pcre2_code* code, Matcher& matcher, std::string_view text,
              size_t begin, size_t end, std::vector<uint32_t>& ends) {
  // The piece alone is the subject, so that look-arounds and `$` see its ends and not its
  // neighbours.
  const std::string_view piece = text.substr(begin, end - begin);
  size_t from = 0;
  while (from < piece.size()) {
    size_t match_begin = 0;
    size_t match_end = 0;
    const int rc = matcher.next(code, piece, from, match_begin, match_end);
    if (rc < 0) return rc;
    if (rc == 0) break;
    push_end(ends, begin + match_begin);
    if (cut.kind == CutKind::kThreesFromEnd) {
      push_threes(piece.substr(match_begin, match_end - match_begin), begin + match_begin, ends);
    }
    push_end(ends, begin + match_end);
    from = match_end;
  }
  push_end(ends, end);
  return 0;
}

}  // namespace

Pretokenizer::Pretokenizer(const PretokenizerRow& row) : row_(&row) {}
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;
Pretokenizer::~Pretokenizer() = default;

base::Result<Pretokenizer> Pretokenizer::create(const PretokenizerRow& row) {
  Pretokenizer made(row);
  for (const Cut& cut : row.cuts) {
    const std::string expression = expand_white_space(cut.expression);
    int code = 0;
    PCRE2_SIZE offset = 0;
    // DOLLAR_ENDONLY: `$` is the end, not also the place before a last newline.
    Code compiled(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &code, &offset,
                                nullptr));
    if (!compiled) {
      return Error{ErrorCode::kUnsupported,
                   "expression '" + expression + "': " + message_of(code) + " at byte " +
                       std::to_string(offset),
                   std::string(row.names)};
    }
    // Where the system forbids new machine code this fails, and matching goes on without it.
    (void)pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);
    made.compiled_.push_back({cut, std::move(compiled)});
  }
  return made;
}

base::Result<void> Pretokenizer::split(std::string_view text, std::vector<uint32_t>& ends) const {
  ends.clear();
  if (text.empty()) return {};
  Matcher matcher(text.size());
  if (!matcher.is_ready()) {
    return Error{ErrorCode::kOutOfMemory,
                 "no memory for a match stack of " + std::to_string(kJitStackLimit) + " bytes", ""};
  }
  ends.push_back(static_cast<uint32_t>(text.size()));
  std::vector<uint32_t> pieces;
  for (const Compiled& compiled : compiled_) {
    pieces.swap(ends);
    ends.clear();
    size_t begin = 0;
    for (uint32_t end : pieces) {
      const int rc = cut_piece(compiled.cut, compiled.code.get(), matcher, text, begin, end, ends);
      if (rc < 0) {
        return Error{ErrorCode::kInvalidArgument,
                     "pre-tokenizer expression '" + std::string(compiled.cut.expression) +
                         "' gave up on this text: " + message_of(rc),
                     "tokenizer.ggml.pre"};
      }
      begin = end;
    }
  }
  return {};
}

}  // namespace pawl::text
