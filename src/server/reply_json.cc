// SPDX-License-Identifier: Apache-2.0
#include "server/reply_json.h"

#include <fmt/format.h>

#include <iterator>

#include "server/json_text.h"

namespace pawl::server {
namespace {

void append_ids(std::span<const base::TokenId> ids, std::string& out) {
  out += '[';
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out += ',';
    append_integer(ids[i], out);
  }
  out += ']';
}

void append_times(std::span<const double> times_ms, std::string& out) {
  out += '[';
  for (size_t i = 0; i < times_ms.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{:.3f}", i > 0 ? "," : "", times_ms[i]);
  }
  out += ']';
}

void append_flags(std::span<const uint8_t> flags, std::string& out) {
  out += '[';
  for (size_t i = 0; i < flags.size(); ++i) {
    if (i > 0) out += ',';
    out += flags[i] != 0 ? "true" : "false";
  }
  out += ']';
}

void append_ms(std::string_view name, const std::optional<double>& ms, std::string& out) {
  if (ms) {
    fmt::format_to(std::back_inserter(out), "\"{}\":{:.3f},", name, *ms);
  } else {
    fmt::format_to(std::back_inserter(out), "\"{}\":null,", name);
  }
}

void append_timings(const ReplyTimings& timings, std::string& out) {
  out += "{";
  append_ms("queue_ms", timings.queue_ms, out);
  append_ms("prefill_ms", timings.prefill_ms, out);
  append_ms("decode_ms", timings.decode_ms, out);
  append_ms("total_ms", timings.total_ms, out);
  append_ms("token_gap_median_ms", timings.gap_median_ms, out);
  append_ms("token_gap_p99_ms", timings.gap_p99_ms, out);
  append_ms("tokens_per_second", timings.tokens_per_second, out);
  fmt::format_to(std::back_inserter(out),
                 "\"cached_tokens\":{},\"computed_tokens\":{},\"forward_passes\":{},"
                 "\"accepted_draft_tokens\":{}}}",
                 timings.cached_tokens, timings.computed_tokens, timings.forward_passes,
                 timings.accepted_draft_tokens);
}

// The members of a call behind its index.
void append_call(const ToolCall& call, bool is_begin, std::string& out) {
  if (is_begin) {
    out += ",\"id\":";
    append_quoted(call.id, out);
    out += ",\"type\":\"function\"";
  }
  out += ",\"function\":{";
  if (is_begin) {
    out += "\"name\":";
    append_quoted(call.name, out);
    out += ',';
  }
  out += "\"arguments\":";
  append_quoted(call.arguments, out);
  out += '}';
}

void append_notes(const std::vector<std::string>& notes, std::string& out) {
  if (notes.empty()) return;
  out += ",\"notes\":[";
  for (size_t i = 0; i < notes.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(notes[i], out);
  }
  out += ']';
}

// What ended it, for those who ask: the stop string, the end token's id, or null.
void append_stop_reason(const engine::Finished& finished, std::string& out) {
  out += ",\"stop_reason\":";
  if (!finished.stop_string.empty()) {
    append_quoted(finished.stop_string, out);
  } else if (finished.end_token != policy::kNoToken) {
    append_integer(finished.end_token, out);
  } else {
    out += "null";
  }
}

}  // namespace

std::string_view api_finish_reason(engine::FinishReason reason) {
  return reason == engine::FinishReason::kStop ? "stop" : "length";
}

void append_usage(const ReplyUsage& usage, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{},"
                 "\"prompt_tokens_details\":{{\"cached_tokens\":{}}}",
                 usage.prompt_tokens, usage.completion_tokens,
                 usage.prompt_tokens + usage.completion_tokens, usage.cached_tokens);
  if (usage.forced_tokens > 0) {
    fmt::format_to(std::back_inserter(out),
                   ",\"completion_tokens_details\":{{\"forced_tokens\":{}}}", usage.forced_tokens);
  }
  if (usage.truncated_tokens > 0) {
    fmt::format_to(std::back_inserter(out), ",\"truncated\":{}", usage.truncated_tokens);
  }
  out += '}';
}

ReplyJson::ReplyJson(ReplyHead head, bool usage_in_chunks)
    : head_(std::move(head)), usage_in_chunks_(usage_in_chunks) {
  const bool is_chat = head_.route == Route::kChat;
  chunk_head_ = head_json(is_chat ? "chat.completion.chunk" : "text_completion");
}

std::string ReplyJson::head_json(std::string_view object) const {
  std::string out = "{\"id\":";
  append_quoted(head_.id, out);
  fmt::format_to(std::back_inserter(out), ",\"object\":\"{}\",\"created\":{},\"model\":", object,
                 head_.created);
  append_quoted(head_.model, out);
  out += ",\"choices\":[";
  return out;
}

void ReplyJson::begin_choice(int index, std::string& out) const {
  out += "{\"index\":";
  append_integer(index, out);
}

void ReplyJson::end_choice(const ChoiceParts& parts, const engine::Finished* finished,
                           std::string& out) const {
  out += ",\"logprobs\":";
  if (parts.logprobs != nullptr && !(parts.logprobs->is_empty() && finished == nullptr)) {
    parts.logprobs->append_json(out);
  } else {
    out += "null";
  }
  if (parts.ids) {
    out += ",\"token_ids\":";
    append_ids(*parts.ids, out);
  }
  if (parts.times_ms) {
    out += ",\"token_times_ms\":";
    append_times(*parts.times_ms, out);
  }
  if (parts.forced) {
    out += ",\"token_forced\":";
    append_flags(*parts.forced, out);
  }
  if (parts.prompt_ids) {
    out += ",\"prompt_token_ids\":";
    append_ids(*parts.prompt_ids, out);
  }
  if (finished == nullptr) {
    out += ",\"finish_reason\":null}";
    return;
  }
  out += ",\"finish_reason\":\"";
  const bool is_call = !parts.calls.empty() && finished->reason == engine::FinishReason::kStop;
  out += is_call ? "tool_calls" : api_finish_reason(finished->reason);
  out += '"';
  append_stop_reason(*finished, out);
  if (!parts.note.empty()) {
    out += ",\"note\":";
    append_quoted(parts.note, out);
  }
  out += '}';
}

void ReplyJson::end_chunk(const ReplyUsage* usage, const ReplyTimings* timings,
                          std::string& out) const {
  out += ']';
  if (usage != nullptr) {
    out += ",\"usage\":";
    append_usage(*usage, out);
  } else if (usage_in_chunks_) {
    out += ",\"usage\":null";
  }
  if (timings != nullptr) {
    out += ",\"timings\":";
    append_timings(*timings, out);
    out += ",\"seed\":";
    out += std::to_string(head_.seed);
    append_notes(head_.notes, out);
  }
  out += '}';
}

void ReplyJson::role_chunk(const ChoiceParts& parts, std::string& out) const {
  out += chunk_head_;
  begin_choice(parts.index, out);
  if (head_.route == Route::kChat) {
    out += ",\"delta\":{\"role\":\"assistant\",\"content\":\"\"}";
  } else {
    out += ",\"text\":\"\"";
  }
  end_choice(parts, nullptr, out);
  end_chunk(nullptr, nullptr, out);
}

void ReplyJson::text_chunk(const ChoiceParts& parts, std::string_view text, const ReplyUsage* usage,
                           std::string& out) const {
  out += chunk_head_;
  begin_choice(parts.index, out);
  if (head_.route == Route::kChat) {
    out += ",\"delta\":{\"content\":";
    append_quoted(text, out);
    out += '}';
  } else {
    out += ",\"text\":";
    append_quoted(text, out);
  }
  end_choice(parts, nullptr, out);
  end_chunk(usage, nullptr, out);
}

void ReplyJson::thinking_chunk(const ChoiceParts& parts, std::string_view text,
                               const ReplyUsage* usage, std::string& out) const {
  out += chunk_head_;
  begin_choice(parts.index, out);
  out += ",\"delta\":{\"reasoning_content\":";
  append_quoted(text, out);
  out += '}';
  end_choice(parts, nullptr, out);
  end_chunk(usage, nullptr, out);
}

void ReplyJson::call_chunk(const ChoiceParts& parts, const ToolCall& call, const ReplyUsage* usage,
                           std::string& out) const {
  out += chunk_head_;
  begin_choice(parts.index, out);
  out += ",\"delta\":{\"tool_calls\":[{\"index\":";
  append_integer(call.index, out);
  append_call(call, !call.name.empty(), out);
  out += "}]}";
  end_choice(parts, nullptr, out);
  end_chunk(usage, nullptr, out);
}

void ReplyJson::finish_chunk(const ChoiceParts& parts, const engine::Finished& finished,
                             const ReplyUsage* usage, const ReplyTimings* timings,
                             std::string& out) const {
  out += chunk_head_;
  begin_choice(parts.index, out);
  out += head_.route == Route::kChat ? ",\"delta\":{}" : ",\"text\":\"\"";
  ChoiceParts last = parts;
  last.logprobs = nullptr;
  end_choice(last, &finished, out);
  end_chunk(usage, timings, out);
}

void ReplyJson::usage_chunk(const ReplyUsage& usage, const ReplyTimings& timings,
                            std::string& out) const {
  out += chunk_head_;
  end_chunk(&usage, &timings, out);
}

void ReplyJson::progress_chunk(double waited_ms, int64_t prompt_tokens, std::string& out) const {
  out += chunk_head_;
  out += ']';
  if (usage_in_chunks_) out += ",\"usage\":null";
  fmt::format_to(std::back_inserter(out),
                 ",\"progress\":{{\"waited_ms\":{:.0f},\"prompt_tokens\":{}}}}}", waited_ms,
                 prompt_tokens);
}

void ReplyJson::begin_reply(std::string& out) const {
  out += head_json(head_.route == Route::kChat ? "chat.completion" : "text_completion");
}

void ReplyJson::whole_choice(const ChoiceParts& parts, std::string_view text,
                             const engine::Finished& finished, std::string& out) const {
  if (out.back() != '[') out += ',';
  begin_choice(parts.index, out);
  if (head_.route == Route::kChat) {
    out += ",\"message\":{\"role\":\"assistant\",\"content\":";
    if (text.empty() && !parts.calls.empty()) {
      out += "null";
    } else {
      append_quoted(text, out);
    }
    if (parts.thinking) {
      out += ",\"reasoning_content\":";
      append_quoted(*parts.thinking, out);
    }
    out += ",\"refusal\":null";
    for (size_t i = 0; i < parts.calls.size(); ++i) {
      out += i == 0 ? ",\"tool_calls\":[{\"index\":" : ",{\"index\":";
      append_integer(parts.calls[i].index, out);
      append_call(parts.calls[i], true, out);
      out += i + 1 == parts.calls.size() ? "}]" : "}";
    }
    out += '}';
  } else {
    out += ",\"text\":";
    append_quoted(text, out);
  }
  end_choice(parts, &finished, out);
}

void ReplyJson::end_reply(const ReplyUsage& usage, const ReplyTimings& timings,
                          const std::span<const base::TokenId>* prompt_ids,
                          std::string& out) const {
  out += ']';
  out += ",\"usage\":";
  append_usage(usage, out);
  out += ",\"timings\":";
  append_timings(timings, out);
  if (prompt_ids != nullptr) {
    out += ",\"prompt_token_ids\":";
    append_ids(*prompt_ids, out);
  }
  out += ",\"seed\":";
  out += std::to_string(head_.seed);
  append_notes(head_.notes, out);
  out += '}';
}

}  // namespace pawl::server
