// SPDX-License-Identifier: Apache-2.0
// Answers of models that think first: free text up to a mark, and what was asked for behind it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/language.h"
#include "text/tokenizer.h"

namespace pawl::grammar {

// How thinking is marked. A template opens it at the end of a prompt, or leaves it to the model.
struct ThinkingStyle {
  std::string_view open, close;
};
inline constexpr ThinkingStyle kThinking = {"<think>", "</think>"};

// Line breaks that a model may write between the mark and its answer.
inline constexpr size_t kMostBreaksBehindThinking = 2;

// Whether a prompt ends with the mark that opens thinking, and where that ends can be seen: not
// where the closing mark is a control token, which is no text.
bool opens_thinking(const text::Tokenizer& tokenizer, std::span<const base::TokenId> prompt);
// What of an answer to such a prompt is behind the thinking; empty: it never ended.
std::string_view answer_behind_thinking(std::string_view answer);

// Text that ends with the mark, and holds it there only.
schema::Language text_up_to(std::string_view mark);

// The grammar, in the JSON form of bridge.h, of texts of that grammar behind any text that ends
// with the mark and holds it nowhere else. REQUIRES: such a grammar
base::Result<std::string> behind_thinking(const std::string& grammar, std::string_view mark);

// Follows a text token by token: what of each is behind the mark.
class ThinkingEnd {
 public:
  // An empty mark: all of the text is behind it.
  explicit ThinkingEnd(std::string mark) : mark_(std::move(mark)) {}

  bool is_behind() const { return mark_.empty() || end_ != std::string::npos; }
  // What the text would have behind the mark if these bytes went on with it.
  std::string_view behind(std::string_view bytes);
  void push(std::string_view bytes);
  // REQUIRES: so many were pushed
  void pop(size_t tokens);

 private:
  std::string mark_, text_;         // text: up to the token with the mark's end
  std::vector<size_t> lengths_;     // of the text before each token
  size_t end_ = std::string::npos;  // of the mark in the text
};

}  // namespace pawl::grammar
