// SPDX-License-Identifier: Apache-2.0
// What a generating request is answered with: chunks of a stream and whole replies. A stream's
// constant parts are made once; per token only what changes is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/token.h"
#include "engine/event_sink.h"
#include "server/fields.h"
#include "server/logprob_list.h"

namespace pawl::server {

// Of the whole request.
struct ReplyUsage {
  int64_t prompt_tokens = 0;  // each prompt once
  int64_t cached_tokens = 0;
  int64_t completion_tokens = 0;  // of all choices, end tokens included
  int64_t forced_tokens = 0;      // of these, the only way on that a format left
  int64_t truncated_tokens = 0;   // dropped from the prompt because the request asked for it
};

// Milliseconds; nothing where a stage was not reached.
struct ReplyTimings {
  std::optional<double> queue_ms, prefill_ms, decode_ms, total_ms;
  std::optional<double> gap_median_ms, gap_p99_ms;  // between consecutive tokens of one choice
  int64_t cached_tokens = 0;
  int64_t computed_tokens = 0;
  int64_t forward_passes = 0;
  int64_t accepted_draft_tokens = 0;  // completion tokens that a draft had right: no pass each
  std::optional<double> tokens_per_second;
};

struct ReplyHead {
  Route route = Route::kChat;
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;
  uint64_t seed = 0;
  std::vector<std::string> notes;  // of a format: what of it is not enforced
};

// A call of a tool, or in a chunk a piece of one.
struct ToolCall {
  int index = 0;
  std::string id, name;   // of a piece: empty but in the first
  std::string arguments;  // as the model wrote them
};

// What a chunk or a whole choice says of itself, besides its text.
struct ChoiceParts {
  int index = 0;
  const LogprobList* logprobs = nullptr;
  std::optional<std::span<const base::TokenId>> ids;         // token_ids
  std::optional<std::span<const double>> times_ms;           // token_times_ms
  std::optional<std::span<const uint8_t>> forced;            // token_forced, 0 or 1
  std::optional<std::span<const base::TokenId>> prompt_ids;  // prompt_token_ids
  std::string_view note;                                     // to its end, or empty
  std::span<const ToolCall> calls;                           // of a whole reply
  std::optional<std::string_view> thinking;                  // of a whole reply to a chat
};

// "stop" or "length". REQUIRES: reason is one of these two
std::string_view api_finish_reason(engine::FinishReason reason);

class ReplyJson {
 public:
  // usage_in_chunks: every chunk has a member "usage", null but where one is given.
  ReplyJson(ReplyHead head, bool usage_in_chunks);

  // Appends one JSON object.
  // The first chunk of a chat's choice: {"role":"assistant","content":""}.
  void role_chunk(const ChoiceParts& parts, std::string& out) const;
  void text_chunk(const ChoiceParts& parts, std::string_view text, const ReplyUsage* usage,
                  std::string& out) const;
  // A piece of thinking, of a chat.
  void thinking_chunk(const ChoiceParts& parts, std::string_view text, const ReplyUsage* usage,
                      std::string& out) const;
  // A piece of a call of a tool.
  void call_chunk(const ChoiceParts& parts, const ToolCall& call, const ReplyUsage* usage,
                  std::string& out) const;
  // No text: some clients read no further once they see a reason.
  void finish_chunk(const ChoiceParts& parts, const engine::Finished& finished,
                    const ReplyUsage* usage, const ReplyTimings* timings, std::string& out) const;
  void usage_chunk(const ReplyUsage& usage, const ReplyTimings& timings, std::string& out) const;
  // {"waited_ms"} while nothing has come yet.
  void progress_chunk(double waited_ms, int64_t prompt_tokens, std::string& out) const;

  // A whole reply: begin, its choices, end.
  void begin_reply(std::string& out) const;
  void whole_choice(const ChoiceParts& parts, std::string_view text,
                    const engine::Finished& finished, std::string& out) const;
  void end_reply(const ReplyUsage& usage, const ReplyTimings& timings,
                 const std::span<const base::TokenId>* prompt_ids, std::string& out) const;

 private:
  void begin_choice(int index, std::string& out) const;
  void end_choice(const ChoiceParts& parts, const engine::Finished* finished,
                  std::string& out) const;
  void end_chunk(const ReplyUsage* usage, const ReplyTimings* timings, std::string& out) const;
  std::string head_json(std::string_view object) const;

  ReplyHead head_;
  bool usage_in_chunks_;
  std::string chunk_head_;  // up to and with "choices":[
};

void append_usage(const ReplyUsage& usage, std::string& out);

}  // namespace pawl::server
