// SPDX-License-Identifier: Apache-2.0
#include "grammar/thinking.h"

#include <algorithm>

#include "base/json.h"

namespace pawl::grammar {

using base::Json;
using base::Result;
using schema::Language;

bool opens_thinking(const text::Tokenizer& tokenizer, std::span<const base::TokenId> prompt) {
  constexpr size_t kTail = 16;
  const auto end = tokenizer.decode(prompt.last(std::min(prompt.size(), kTail)), true);
  if (!end.ok()) return false;
  const size_t last = end->find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return false;
  const base::TokenId close = tokenizer.vocab().find(kThinking.close);
  return std::string_view(*end).substr(0, last + 1).ends_with(kThinking.open) &&
         (close == text::kNoToken || tokenizer.vocab().type(close) != text::TokenType::kControl);
}

std::string_view answer_behind_thinking(std::string_view answer) {
  const size_t end = answer.find(kThinking.close);
  if (end == std::string_view::npos) return {};
  const size_t begin = answer.find_first_not_of("\r\n", end + kThinking.close.size());
  return begin == std::string_view::npos ? std::string_view() : answer.substr(begin);
}

Language text_up_to(std::string_view mark) {
  const Language ends = Language::concat({Language::everything(), Language::literal(mark)});
  const Language goes_on = Language::concat(
      {Language::everything(), Language::literal(mark), Language::regex("(?s:.)(?s:.*)")});
  return Language::all_of({ends, Language::complement(goes_on)});
}

// The grammar's nodes keep their numbers; what stands before them comes behind them in the list.
Result<std::string> behind_thinking(const std::string& grammar, std::string_view mark) {
  PAWL_TRY(Json form, base::parse_json(grammar, {.depth = 96, .bytes = grammar.size()}));
  Json& nodes = form["nodes"];
  const auto add = [&nodes](std::string_view kind, Json what) {
    Json node;
    node[std::string(kind)] = std::move(what);
    nodes.push_back(std::move(node));
    return Json(static_cast<int64_t>(nodes.as_array()->size()) - 1);
  };
  const Json thinking = add("lexeme", text_up_to(mark).form());
  const Json line_break = add("lexeme", Language::literal("\n").form());
  Json few = Json::array();
  few.push_back(line_break);
  few.push_back(int64_t{0});
  few.push_back(static_cast<int64_t>(kMostBreaksBehindThinking));
  const Json breaks = add("repeat", std::move(few));
  Json parts = Json::array();
  parts.push_back(thinking);
  parts.push_back(breaks);
  parts.push_back(form["start"]);
  form["start"] = add("seq", std::move(parts));
  return form.dump();
}

std::string_view ThinkingEnd::behind(std::string_view bytes) {
  if (is_behind()) return bytes;
  // The mark may have begun in what is there.
  const size_t before = std::min(text_.size(), mark_.size() - 1);
  const std::string joined = text_.substr(text_.size() - before) + std::string(bytes);
  const size_t found = joined.find(mark_);
  if (found == std::string::npos) return {};
  return bytes.substr(found + mark_.size() - before);
}

void ThinkingEnd::push(std::string_view bytes) {
  lengths_.push_back(text_.size());
  if (is_behind()) return;
  const size_t begin = text_.size() - std::min(text_.size(), mark_.size());
  text_ += bytes;
  const size_t found = text_.find(mark_, begin);
  if (found != std::string::npos) end_ = found + mark_.size();
}

void ThinkingEnd::pop(size_t tokens) {
  for (; tokens > 0; --tokens) {
    text_.resize(lengths_.back());
    lengths_.pop_back();
  }
  if (end_ != std::string::npos && text_.size() < end_) end_ = std::string::npos;
}

}  // namespace pawl::grammar
