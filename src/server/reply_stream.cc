// SPDX-License-Identifier: Apache-2.0
#include "server/reply_stream.h"

#include <utility>

#include "base/utf8.h"
#include "server/api.h"
#include "server/sse_writer.h"

namespace pawl::server {
namespace {

// Tokens of one choice that wait together for a slow reader; from here on they share a chunk.
constexpr size_t kMergeFrom = 64;

}  // namespace

ReplyStream::ReplyStream(std::shared_ptr<LiveRequest> live, GenerationRequest request,
                         const ReplyHead& head, std::shared_ptr<const void> owner,
                         const text::Tokenizer& tokenizer, ReplyClock clock)
    : owner_(std::move(owner)),
      live_(std::move(live)),
      request_(std::move(request)),
      tokenizer_(tokenizer),
      json_(head, request_.wants_usage || request_.wants_continuous_usage),
      clock_(std::move(clock)) {
  const LogprobList list(head.route, tokenizer, request_.policy.top_logprobs > 0,
                         request_.wants_ids);
  choices_.assign(static_cast<size_t>(request_.sequences()), Choice(list));
  for (const auto& prompt : request_.prompts) prompt_tokens_ += static_cast<int64_t>(prompt.size());
}

ReplyStream::~ReplyStream() {
  if (!is_over_) live_->cancel(CancelCause::kClientClosed);
  live_->release();
}

const std::vector<base::TokenId>& ReplyStream::prompt_of(int index) const {
  return request_.prompts[static_cast<size_t>(index / request_.choices)];
}

ChoiceParts ReplyStream::parts(int index) {
  Choice& choice = choices_[static_cast<size_t>(index)];
  ChoiceParts parts;
  parts.index = index;
  if (request_.wants_logprobs) parts.logprobs = &choice.logprobs;
  if (request_.wants_ids) parts.ids = choice.ids;
  if (request_.wants_times) parts.times_ms = choice.times_ms;
  if (request_.wants_times) parts.forced = choice.forced;
  parts.note = choice.note;
  parts.calls = choice.calls;
  if (request_.thinks) parts.thinking = choice.thinking;
  return parts;
}

void ReplyStream::collect(bool has_begun, std::string& out) {
  live_->take(events_);
  for (PromptTokenEvent& event : events_.prompt) {
    choices_[static_cast<size_t>(event.sequence)].prompt.push_back(std::move(event));
  }
  const bool merges = events_.tokens.size() > kMergeFrom * choices_.size();
  for (TokenEvent& event : events_.tokens) {
    const int index = event.sequence;
    begin(index, out);
    take_token(std::move(event));
    if (is_stream() && !merges) flush_text(index, out);
  }
  if (is_stream() && merges) {
    for (int i = 0; i < static_cast<int>(choices_.size()); ++i) flush_text(i, out);
  }
  for (EndEvent& event : events_.ends) take_end(std::move(event), out);
  for (const auto& [index, wrong] : std::exchange(verdicts_, {})) {
    if (!wrong.empty()) break_format(wrong);
    settle(index, out);
  }
  if (is_stream()) given_ = selected_;
  if (ended_ < static_cast<int>(choices_.size()) || is_over_) return;
  is_over_ = true;
  if (!is_stream()) return;
  if (!error_) {
    finish_stream(out);
  } else if (has_begun || !out.empty()) {
    append_event(error_json(*error_), out);
  }
}

// What comes before the first token of a choice: the role, the echoed prompt.
void ReplyStream::begin(int index, std::string& out) {
  Choice& choice = choices_[static_cast<size_t>(index)];
  if (std::exchange(choice.has_begun, true)) return;
  if (request_.wants_echo) {
    const auto& prompt = prompt_of(index);
    const auto text = tokenizer_.decode(prompt);
    if (text.ok()) base::append_valid_utf8(*text, choice.text);
    if (request_.wants_logprobs) {
      choice.logprobs.add(prompt.front(), nullptr, {});
      for (const PromptTokenEvent& event : choice.prompt) {
        choice.logprobs.add(event.id, &event.logprob, event.top);
      }
      choice.prompt = {};
    }
  }
  if (!is_stream()) return;
  if (request_.route == Route::kChat || request_.wants_ids) {
    ChoiceParts first = parts(index);
    first.logprobs = nullptr;
    if (request_.wants_ids) first.prompt_ids = prompt_of(index);
    out += kEventBegin;
    json_.role_chunk(first, out);
    out += kEventEnd;
  }
  if (request_.wants_echo) flush_text(index, out);
}

void ReplyStream::observe(const TokenEvent& event, Choice& choice) {
  if (choice.last_stamp_ns != 0) {
    gaps_ns_.push_back(event.stamp_ns - choice.last_stamp_ns);
    if (clock_.token_gap) clock_.token_gap(gaps_ns_.back());
  }
  choice.last_stamp_ns = event.stamp_ns;
  if (!has_first_ && !event.text.empty()) {
    has_first_ = true;
    if (clock_.first_token) clock_.first_token(event.stamp_ns - live_->received_ns());
  }
}

void ReplyStream::take_token(TokenEvent event) {
  Choice& choice = choices_[static_cast<size_t>(event.sequence)];
  ++selected_;
  observe(event, choice);
  if (request_.wants_ids) choice.ids.push_back(event.id);
  if (request_.wants_times) {
    choice.times_ms.push_back(static_cast<double>(event.stamp_ns - live_->received_ns()) / 1e6);
    choice.forced.push_back(event.is_forced ? 1 : 0);
  }
  add_text(choice, event.text, false);
  // An end token is no part of the text, so none of its log-probabilities either.
  if (!request_.wants_logprobs || tokenizer_.vocab().is_end(event.id)) return;
  const bool has_text = !event.text.empty();
  choice.held.push_back(std::move(event));
  if (has_text) release_held(choice);
}

void ReplyStream::release_held(Choice& choice) {
  for (const TokenEvent& event : choice.held) {
    choice.logprobs.add(event.id, &event.logprob, event.top);
  }
  choice.held.clear();
}

// The chunk of what came since the last one, if that is anything.
void ReplyStream::flush_text(int index, std::string& out) {
  Choice& choice = choices_[static_cast<size_t>(index)];
  const ReplyUsage so_far = usage();
  for (const ToolCall& piece : std::exchange(choice.pieces, {})) {
    out += kEventBegin;
    ChoiceParts of_call = parts(index);
    of_call.logprobs = nullptr;
    of_call.ids.reset();
    of_call.times_ms.reset();
    of_call.forced.reset();
    json_.call_chunk(of_call, piece, request_.wants_continuous_usage ? &so_far : nullptr, out);
    out += kEventEnd;
  }
  if (!choice.thinking.empty()) {
    out += kEventBegin;
    json_.thinking_chunk(parts(index), choice.thinking,
                         request_.wants_continuous_usage ? &so_far : nullptr, out);
    out += kEventEnd;
    choice.thinking.clear();
    clear_given(choice);
  }
  if (choice.text.empty() && choice.logprobs.is_empty() && choice.ids.empty() &&
      choice.times_ms.empty()) {
    return;
  }
  out += kEventBegin;
  json_.text_chunk(parts(index), choice.text, request_.wants_continuous_usage ? &so_far : nullptr,
                   out);
  out += kEventEnd;
  choice.text.clear();
  clear_given(choice);
}

// What a chunk told of its tokens is not told again.
void ReplyStream::clear_given(Choice& choice) {
  choice.ids.clear();
  choice.times_ms.clear();
  choice.forced.clear();
  choice.logprobs.clear();
}

void ReplyStream::take_end(EndEvent event, std::string& out) {
  using engine::FinishReason;
  Choice& choice = choices_[static_cast<size_t>(event.sequence)];
  const FinishReason reason = event.finished.reason;
  const bool is_ordinary = reason == FinishReason::kStop || reason == FinishReason::kLength;
  if (!is_ordinary) fail(event.finished);
  choice.finished = std::move(event.finished);
  if (!is_ordinary && !choice.has_begun) return settle(event.sequence, out);
  begin(event.sequence, out);
  add_text(choice, choice.finished->text, true);
  // What a stop string swallowed is not told in another form.
  if (choice.finished->stop_string.empty()) {
    release_held(choice);
  } else {
    choice.held.clear();
  }
  if (is_stream()) flush_text(event.sequence, out);
  if (!waits_for_check(event.sequence)) settle(event.sequence, out);
}

// The choice is over, whatever became of it.
void ReplyStream::settle(int index, std::string& out) {
  using engine::FinishReason;
  ++ended_;
  const Choice& choice = choices_[static_cast<size_t>(index)];
  const FinishReason reason = choice.finished->reason;
  const bool is_ordinary = reason == FinishReason::kStop || reason == FinishReason::kLength;
  if (!is_stream() || !is_ordinary || error_) return;
  const bool is_last = ended_ == static_cast<int>(choices_.size()) && !request_.wants_usage;
  const ReplyUsage so_far = usage();
  const ReplyTimings times = is_last ? timings() : ReplyTimings();
  out += kEventBegin;
  json_.finish_chunk(parts(index), *choice.finished,
                     request_.wants_continuous_usage ? &so_far : nullptr,
                     is_last ? &times : nullptr, out);
  out += kEventEnd;
}

// Thinking is told apart from what follows it.
void ReplyStream::add_text(Choice& choice, std::string_view text, bool is_end) {
  if (!request_.thinks) return add_answer(choice, text, is_end);
  std::string answer;
  choice.thinking_reader.push(text, choice.thinking, answer);
  if (is_end) choice.thinking_reader.finish(choice.thinking);
  add_answer(choice, answer, is_end);
}

// Text of the answer goes to the message, or to the calls that are found in it.
void ReplyStream::add_answer(Choice& choice, std::string_view text, bool is_end) {
  if (request_.format != nullptr) choice.answer += text;
  if (request_.tool_style == nullptr) {
    choice.text += text;
    return;
  }
  if (!choice.reader) choice.reader.emplace(*request_.tool_style);
  std::vector<ToolEvent> events;
  choice.reader->push(text, events);
  if (is_end) choice.reader->finish(events);
  for (ToolEvent& event : events) {
    ToolCall piece{event.call, {}, {}, {}};
    switch (event.kind) {
      case ToolEvent::Kind::kText:
        choice.text += event.text;
        continue;
      case ToolEvent::Kind::kCall:
        piece.id = "call_" + random_id();
        piece.name = std::move(event.text);
        choice.calls.push_back(piece);
        break;
      case ToolEvent::Kind::kArguments:
        choice.calls.back().arguments += event.text;
        piece.arguments = std::move(event.text);
        break;
    }
    if (is_stream()) choice.pieces.push_back(std::move(piece));
  }
}

// What of an ended answer can be judged is left for a worker.
bool ReplyStream::waits_for_check(int index) {
  using engine::FinishReason;
  Choice& choice = choices_[static_cast<size_t>(index)];
  const engine::Finished& finished = *choice.finished;
  if (request_.format == nullptr) return false;
  if (finished.reason == FinishReason::kLength) {
    choice.note = "the answer ends before what was asked for is complete";
  }
  if (finished.reason != FinishReason::kStop || !finished.stop_string.empty()) return false;
  FormatCheck& check = checks_.emplace_back();
  check.choice = index;
  check.format = request_.format;
  check.answer = std::move(choice.answer);
  check.may_call = choice.reader.has_value();
  check.is_between_calls = !check.may_call || choice.reader->is_between_calls();
  check.calls = choice.calls;
  return true;
}

void ReplyStream::break_format(const std::string& wrong) {
  if (clock_.format_violation) clock_.format_violation();
  if (error_) return;
  error_ = ApiError{
      500, "the answer breaks its format: " + wrong, "server_error", "format_violation", "", 0};
  live_->cancel(CancelCause::kNone);
}

void ReplyStream::finish_stream(std::string& out) {
  if (request_.wants_usage) {
    out += kEventBegin;
    json_.usage_chunk(usage(), timings(), out);
    out += kEventEnd;
  }
  out += kDoneEvent;
}

// One choice that failed fails the reply; the others are not computed for nobody.
void ReplyStream::fail(const engine::Finished& finished) {
  using engine::FinishReason;
  if (error_) return;
  switch (finished.reason) {
    case FinishReason::kDeadline:
      error_ = ended_early(cancel_cause_name(CancelCause::kDeadline));
      break;
    case FinishReason::kShutdown:
      error_ = ended_early(cancel_cause_name(CancelCause::kShutdown));
      break;
    case FinishReason::kCancelled:
      error_ = ended_early(cancel_cause_name(live_->cause()));
      break;
    default:
      error_ = ApiError{500, finished.error, "server_error", "generation_failed", "", 0};
      live_->cancel(CancelCause::kNone);
  }
}

void ReplyStream::append_ping(int64_t now_ns, std::string& out) const {
  if (!request_.wants_progress || has_first_) {
    out += kPing;
    return;
  }
  out += kEventBegin;
  json_.progress_chunk(static_cast<double>(now_ns - live_->received_ns()) / 1e6, prompt_tokens_,
                       out);
  out += kEventEnd;
}

void ReplyStream::confirm_delivery() {
  live_->add_delivered(given_ - confirmed_);
  confirmed_ = given_;
}

}  // namespace pawl::server
