// SPDX-License-Identifier: Apache-2.0
// The reply to a generating request while it comes: the engine's events become frames of a stream,
// or are gathered for one whole reply. It owns the wish for the answer: destroying it cancels.
//
// Threads: made by a worker, then the io thread's; whole_reply() on a worker while nobody else
// touches it. A FormatCheck that was taken is whoever's took it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/api_error.h"
#include "server/format_check.h"
#include "server/generation_request.h"
#include "server/live_request.h"
#include "server/reply_json.h"
#include "server/thinking_reader.h"
#include "server/tool_calls.h"

namespace pawl::server {

// Told on the io thread, when text is taken for the reply.
struct ReplyClock {
  std::function<void(int64_t)> first_token;  // ns since the request was received
  std::function<void(int64_t)> token_gap;    // ns between consecutive tokens of a choice
  std::function<void()> format_violation;    // an answer broke its format and is not given
};

class ReplyStream {
 public:
  // `tokenizer` and what `head` was made of outlive the request. clock: members may be empty.
  ReplyStream(std::shared_ptr<LiveRequest> live, GenerationRequest request, const ReplyHead& head,
              std::shared_ptr<const void> owner, const text::Tokenizer& tokenizer,
              ReplyClock clock);
  ~ReplyStream();
  ReplyStream(const ReplyStream&) = delete;
  ReplyStream& operator=(const ReplyStream&) = delete;

  LiveRequest& live() { return *live_; }
  bool is_stream() const { return request_.is_stream; }

  // Takes what the engine said since the last call. A stream's frames are appended to `out`, the
  // last one included; an error is appended only when `has_begun`, as before it can have a status.
  void collect(bool has_begun, std::string& out);
  // Answers that ended since the last call and are to be held against their format, each of which
  // waits for its verdict: what FormatCheck::run() says. The next collect() goes on with them.
  std::vector<FormatCheck> take_checks() { return std::exchange(checks_, {}); }
  void take_verdict(int choice, std::string wrong) {
    verdicts_.emplace_back(choice, std::move(wrong));
  }
  // Nothing more will come.
  bool is_over() const { return is_over_; }
  // Set when it ended otherwise than by itself.
  const std::optional<ApiError>& error() const { return error_; }

  // A sign of life while nothing else is to be said: a comment, or progress where it was asked for.
  void append_ping(int64_t now_ns, std::string& out) const;

  // All bytes given out so far reached the socket.
  void confirm_delivery();

  // The body of a reply that is no stream. REQUIRES: is_over() && !error()
  std::string whole_reply();

 private:
  struct Choice {
    explicit Choice(LogprobList list) : logprobs(std::move(list)) {}
    std::string text;                // not given out yet; of a whole reply: all
    std::vector<base::TokenId> ids;  // the same of token_ids
    std::vector<double> times_ms;    // and of token_times_ms
    std::vector<uint8_t> forced;     // and of token_forced, 0 or 1
    LogprobList logprobs;            // of text
    std::vector<TokenEvent> held;    // tokens whose text is not decided
    std::vector<PromptTokenEvent> prompt;
    bool has_begun = false;
    int64_t last_stamp_ns = 0;
    std::string answer;  // with a format: all of the text
    ThinkingReader thinking_reader;
    std::string thinking;  // not given out yet; of a whole reply: all
    std::optional<ToolCallReader> reader;
    std::vector<ToolCall> calls;   // so far
    std::vector<ToolCall> pieces;  // of a stream, not given out yet
    std::string_view note;
    std::optional<engine::Finished> finished;
  };

  void begin(int index, std::string& out);
  void take_token(TokenEvent event);
  void take_end(EndEvent event, std::string& out);
  void settle(int index, std::string& out);
  void release_held(Choice& choice);
  void flush_text(int index, std::string& out);
  void finish_stream(std::string& out);
  void fail(const engine::Finished& finished);
  bool waits_for_check(int index);
  void break_format(const std::string& wrong);
  void add_text(Choice& choice, std::string_view text, bool is_end);
  void add_answer(Choice& choice, std::string_view text, bool is_end);
  void clear_given(Choice& choice);
  void observe(const TokenEvent& event, Choice& choice);
  ChoiceParts parts(int index);
  const std::vector<base::TokenId>& prompt_of(int index) const;
  std::string embeddings() const;
  ReplyUsage usage() const;
  ReplyTimings timings();

  std::shared_ptr<const void> owner_;  // of the tokenizer
  std::shared_ptr<LiveRequest> live_;
  GenerationRequest request_;
  const text::Tokenizer& tokenizer_;
  ReplyJson json_;
  ReplyClock clock_;
  std::vector<Choice> choices_;
  Events events_;
  std::vector<int64_t> gaps_ns_;
  int64_t selected_ = 0;   // tokens taken
  int64_t given_ = 0;      // of these, in frames that were given out
  int64_t confirmed_ = 0;  // of these, delivered
  int64_t prompt_tokens_ = 0;
  std::vector<FormatCheck> checks_;  // not taken yet
  std::vector<std::pair<int, std::string>> verdicts_;
  int ended_ = 0;
  bool has_first_ = false;
  bool is_over_ = false;
  std::optional<ApiError> error_;
};

}  // namespace pawl::server
