// SPDX-License-Identifier: Apache-2.0
// The second half of a reply: what is known once all of it is there, sums and whole bodies.
#include <algorithm>

#include "server/embedding_request.h"
#include "server/reply_stream.h"

namespace pawl::server {
namespace {

std::optional<double> ms_between(int64_t from_ns, int64_t to_ns) {
  if (from_ns == 0 || to_ns == 0) return std::nullopt;
  return static_cast<double>(to_ns - from_ns) / 1e6;
}

void keep_earliest(int64_t stamp, int64_t& earliest) {
  if (stamp != 0 && (earliest == 0 || stamp < earliest)) earliest = stamp;
}

std::optional<double> percentile_ms(std::vector<int64_t>& sorted, double share) {
  if (sorted.empty()) return std::nullopt;
  const auto last = static_cast<double>(sorted.size() - 1);
  return static_cast<double>(sorted[static_cast<size_t>(last * share + 0.5)]) / 1e6;
}

}  // namespace

std::string ReplyStream::embeddings() const {
  std::vector<std::span<const float>> vectors;
  for (const Choice& choice : choices_) vectors.emplace_back(choice.finished->embedding);
  return embeddings_reply(live_->row().model, request_.embedding->is_base64, vectors,
                          prompt_tokens_);
}

std::string ReplyStream::whole_reply() {
  if (request_.embedding) return embeddings();
  std::string body;
  json_.begin_reply(body);
  const bool is_chat = request_.route == Route::kChat;
  for (int i = 0; i < static_cast<int>(choices_.size()); ++i) {
    const Choice& choice = choices_[static_cast<size_t>(i)];
    ChoiceParts whole = parts(i);
    if (request_.wants_ids && !is_chat) whole.prompt_ids = prompt_of(i);
    json_.whole_choice(whole, choice.text, *choice.finished, body);
  }
  const std::span<const base::TokenId> prompt(request_.prompts.front());
  json_.end_reply(usage(), timings(), request_.wants_ids && is_chat ? &prompt : nullptr, body);
  given_ = selected_;
  return body;
}

ReplyUsage ReplyStream::usage() const {
  ReplyUsage usage;
  usage.prompt_tokens = prompt_tokens_;
  usage.completion_tokens = selected_;
  usage.truncated_tokens = request_.truncated_tokens;
  for (const Choice& choice : choices_) {
    if (choice.finished) usage.forced_tokens += choice.finished->usage.forced_tokens;
  }
  // Of the first choice of each prompt: more than the prompt cannot be cached.
  for (size_t i = 0; i < choices_.size(); i += static_cast<size_t>(request_.choices)) {
    if (choices_[i].finished) usage.cached_tokens += choices_[i].finished->usage.cached_tokens;
  }
  return usage;
}

ReplyTimings ReplyStream::timings() {
  ReplyTimings times;
  engine::Timeline all;
  int64_t decoded = 0;
  for (const Choice& choice : choices_) {
    if (!choice.finished) continue;
    const engine::Timeline& line = choice.finished->timeline;
    const engine::Usage& usage = choice.finished->usage;
    keep_earliest(line.scheduled_ns, all.scheduled_ns);
    keep_earliest(line.first_token_ns, all.first_token_ns);
    all.last_token_ns = std::max(all.last_token_ns, line.last_token_ns);
    all.finished_ns = std::max(all.finished_ns, line.finished_ns);
    times.cached_tokens += usage.cached_tokens;
    times.computed_tokens += usage.computed_tokens;
    times.forward_passes += usage.forward_passes;
    times.accepted_draft_tokens += usage.accepted_draft_tokens;
    decoded += std::max<int64_t>(usage.completion_tokens - 1, 0);
  }
  times.queue_ms = ms_between(live_->received_ns(), all.scheduled_ns);
  times.prefill_ms = ms_between(all.scheduled_ns, all.first_token_ns);
  times.decode_ms = ms_between(all.first_token_ns, all.last_token_ns);
  times.total_ms = ms_between(live_->received_ns(), all.finished_ns);
  if (decoded > 0 && times.decode_ms && *times.decode_ms > 0) {
    times.tokens_per_second = static_cast<double>(decoded) * 1000 / *times.decode_ms;
  }
  std::sort(gaps_ns_.begin(), gaps_ns_.end());
  times.gap_median_ms = percentile_ms(gaps_ns_, 0.5);
  times.gap_p99_ms = percentile_ms(gaps_ns_, 0.99);
  return times;
}

}  // namespace pawl::server
