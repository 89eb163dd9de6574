// SPDX-License-Identifier: Apache-2.0
#include "text/unigram.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "text/space_mark.h"

namespace pawl::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// An unknown character costs this much more than the rarest entry.
constexpr float kUnknownPenalty = 10.0f;

// The best way to cut the text up to a position: where its last piece begins, and which it is.
struct Cut {
  float score = -std::numeric_limits<float>::infinity();
  uint32_t begin = 0;
  TokenId id = kNoToken;
  bool is_reached = false;
};

}  // namespace

base::Result<std::unique_ptr<UnigramTokenizer>> UnigramTokenizer::create(Vocab vocab,
                                                                         CharMap char_map) {
  if (vocab.special().unk == kNoToken) {
    return base::Error{base::ErrorCode::kBadFile,
                       "is missing, and characters without an entry need it",
                       "tokenizer.ggml.unknown_token_id"};
  }
  return std::unique_ptr<UnigramTokenizer>(
      new UnigramTokenizer(std::move(vocab), std::move(char_map)));
}

UnigramTokenizer::UnigramTokenizer(Vocab of_file, CharMap char_map)
    : Tokenizer(std::move(of_file), UserTokens::kInText), char_map_(std::move(char_map)) {
  float least = std::numeric_limits<float>::max(), greatest = -least;
  for (size_t entry = 0; entry < vocab().size(); ++entry) {
    const TokenId id = static_cast<TokenId>(entry);
    const TokenType type = vocab().type(id);
    if (vocab().text(id).empty()) continue;
    if (type == TokenType::kUserDefined) user_by_text_.push_back(id);
    if (type == TokenType::kUserDefined || type == TokenType::kNormal) by_text_.push_back(id);
    if (type != TokenType::kNormal) continue;
    least = std::min(least, vocab().score(id));
    greatest = std::max(greatest, vocab().score(id));
  }
  if (least <= greatest) {
    unknown_score_ = least - kUnknownPenalty;
    greatest_score_ = greatest;
  }
  const auto text = [this](TokenId id) { return vocab().text(id); };
  std::ranges::sort(by_text_, {}, text);
  std::ranges::sort(user_by_text_, {}, text);
}

// A user-defined entry is as good as the best normal one for each of its bytes.
float UnigramTokenizer::score(TokenId id) const {
  if (vocab().type(id) != TokenType::kUserDefined) return vocab().score(id);
  return static_cast<float>(vocab().text(id).size()) * greatest_score_ - 0.1f;
}

template <typename F>
void UnigramTokenizer::for_each_prefix(const std::vector<TokenId>& sorted, std::string_view text,
                                       F f) const {
  // Entries that agree with the text so far, narrowed byte by byte.
  auto low = sorted.begin(), high = sorted.end();
  for (size_t length = 1; low != high && length <= text.size(); ++length) {
    const auto byte_at = [&](TokenId id) {
      const std::string_view entry = vocab().text(id);
      return entry.size() < length ? -1 : static_cast<int>(static_cast<uint8_t>(entry[length - 1]));
    };
    const int byte = static_cast<uint8_t>(text[length - 1]);
    low = std::ranges::lower_bound(low, high, byte, {}, byte_at);
    high = std::ranges::upper_bound(low, high, byte, {}, byte_at);
    if (low != high && vocab().text(*low).size() == length) f(*low, length);
  }
}

// Characters replaced, runs of spaces made one where the file says so, and spaces escaped.
std::string UnigramTokenizer::normalize(std::string_view text, bool begins_words) const {
  const bool joins = vocab().remove_extra_whitespaces();
  std::string out;
  if (begins_words && vocab().add_space_prefix()) out += kSpace;
  // At the beginning of the text there is nothing to keep apart.
  bool after_space = begins_words;
  const auto append = [&](std::string_view piece) {
    for (const char c : piece) {
      if (c != ' ') {
        out += c;
        after_space = false;
      } else if (!joins || !after_space) {
        out += kSpace;
        after_space = true;
      }
    }
  };
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    size_t user_bytes = 0;
    for_each_prefix(user_by_text_, rest, [&](TokenId, size_t length) { user_bytes = length; });
    const CharMap::Match match = char_map_.longest(rest);
    const size_t bytes = base::utf8_character_bytes(rest.substr(0, 4));
    if (user_bytes > 0) {
      append(rest.substr(0, user_bytes));
    } else if (match.bytes > 0) {
      append(match.replacement);
    } else {
      append(bytes == 0 ? kReplacement : rest.substr(0, bytes));
    }
    at += user_bytes > 0 ? user_bytes : match.bytes > 0 ? match.bytes : std::max<size_t>(bytes, 1);
  }
  while (joins && out.ends_with(kSpace)) out.resize(out.size() - kSpace.size());
  return out;
}

base::Result<void> UnigramTokenizer::encode_text(std::string_view text, bool begins_words,
                                                 std::vector<TokenId>& ids) const {
  const std::string normal = normalize(text, begins_words);
  std::vector<Cut> cuts(normal.size() + 1);
  cuts[0] = {0.0f, 0, kNoToken, true};
  const auto reach = [&](size_t begin, size_t end, TokenId id, float score) {
    const float sum = cuts[begin].score + score;
    if (cuts[end].is_reached && sum <= cuts[end].score) return;
    cuts[end] = {sum, static_cast<uint32_t>(begin), id, true};
  };
  for (size_t begin = 0; begin < normal.size();) {
    const size_t character =
        std::max<size_t>(1, base::utf8_character_bytes(std::string_view(normal).substr(begin, 4)));
    bool has_single = false;
    for_each_prefix(by_text_, std::string_view(normal).substr(begin),
                    [&](TokenId id, size_t bytes) {
                      reach(begin, begin + bytes, id, score(id));
                      has_single = has_single || bytes == character;
                    });
    if (!has_single) reach(begin, begin + character, vocab().special().unk, unknown_score_);
    begin += character;
  }
  const size_t first = ids.size();
  for (size_t end = normal.size(); end > 0; end = cuts[end].begin) {
    const bool repeats_unknown =
        cuts[end].id == vocab().special().unk && ids.size() > first && ids.back() == cuts[end].id;
    if (!repeats_unknown) ids.push_back(cuts[end].id);
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
  return {};
}

void UnigramTokenizer::append_text(TokenId id, std::string& out) const {
  append_with_spaces(vocab().text(id), out);
}

}  // namespace pawl::text
