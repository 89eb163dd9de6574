// SPDX-License-Identifier: Apache-2.0
#include "server/live_request.h"

#include <utility>

namespace pawl::server {

// One sequence's way in. It keeps the request alive until its end.
class LiveRequest::Sink final : public engine::EventSink {
 public:
  Sink(std::shared_ptr<LiveRequest> request, int sequence)
      : request_(std::move(request)), sequence_(sequence) {}

  void on_prompt_token(const engine::PromptToken& token) override {
    request_->push_prompt(sequence_, token);
  }
  void on_delta(const engine::Delta& delta) override { request_->push_token(sequence_, delta); }
  void on_finished(const engine::Finished& finished) override {
    const auto request = request_;  // push_end drops this sink
    request->push_end(sequence_, finished);
  }

 private:
  std::shared_ptr<LiveRequest> request_;
  int sequence_;
};

LiveRequest::LiveRequest(LedgerRow row, std::string request_id, int sequences, int64_t received_ns,
                         size_t unsent_bytes, bool keeps_logprobs, Ways ways)
    : row_(std::move(row)),
      request_id_(std::move(request_id)),
      received_ns_(received_ns),
      unsent_limit_(unsent_bytes),
      keeps_logprobs_(keeps_logprobs),
      ways_(std::move(ways)),
      running_(sequences),
      sinks_(static_cast<size_t>(sequences)) {}

engine::EventSink* LiveRequest::make_sink(int sequence) {
  const std::scoped_lock lock(mutex_);
  auto& sink = sinks_[static_cast<size_t>(sequence)];
  sink = std::make_shared<Sink>(shared_from_this(), sequence);
  return sink.get();
}

void LiveRequest::drop_sink(int sequence) {
  const std::scoped_lock lock(mutex_);
  sinks_[static_cast<size_t>(sequence)].reset();
  --running_;
}

bool LiveRequest::stop_for(CancelCause cause) {
  if (over_.load()) return false;
  CancelCause none = CancelCause::kNone;
  if (!cause_.compare_exchange_strong(none, cause)) return false;
  stop_.request_stop();
  return true;
}

bool LiveRequest::cancel(CancelCause cause) {
  const bool is_first = stop_for(cause);
  if (is_first) ways_.wake_engine();
  return is_first;
}

void LiveRequest::push_prompt(int sequence, const engine::PromptToken& token) {
  bool was_posted = false;
  {
    const std::scoped_lock lock(mutex_);
    waiting_.prompt.push_back(
        {sequence, token.position, token.id, token.logprob, {token.top.begin(), token.top.end()}});
    was_posted = std::exchange(is_posted_, true);
  }
  notify(was_posted);
}

void LiveRequest::push_token(int sequence, const engine::Delta& delta) {
  selected_.fetch_add(1, std::memory_order_relaxed);
  int64_t none = 0;
  first_token_ns_.compare_exchange_strong(none, delta.stamp_ns);
  bool was_posted = false;
  bool is_too_much = false;
  {
    const std::scoped_lock lock(mutex_);
    TokenEvent& event = waiting_.tokens.emplace_back();
    event.sequence = sequence;
    event.id = delta.id;
    event.stamp_ns = delta.stamp_ns;
    event.text = delta.text;
    event.is_forced = delta.choice == nullptr;
    if (keeps_logprobs_ && delta.choice != nullptr) {
      event.logprob = delta.choice->logprob;
      event.top.assign(delta.choice->top.begin(), delta.choice->top.end());
    }
    waiting_bytes_ +=
        sizeof(TokenEvent) + event.text.size() + event.top.size() * sizeof(policy::TokenLogprob);
    is_too_much = waiting_bytes_ > unsent_limit_;
    was_posted = std::exchange(is_posted_, true);
  }
  if (is_too_much) stop_for(CancelCause::kSlowReader);  // the engine is awake: this is its thread
  notify(was_posted);
}

void LiveRequest::push_end(int sequence, const engine::Finished& finished) {
  std::shared_ptr<Sink> done;  // let go of after the lock
  bool was_posted = false;
  {
    const std::scoped_lock lock(mutex_);
    waiting_.ends.push_back({sequence, finished});
    finished_.push_back(finished);
    --running_;
    done = std::move(sinks_[static_cast<size_t>(sequence)]);
    was_posted = std::exchange(is_posted_, true);
  }
  notify(was_posted);
}

void LiveRequest::notify(bool was_posted) {
  if (!was_posted) ways_.post_delivery(shared_from_this());
}

void LiveRequest::deliver() {
  {
    const std::scoped_lock lock(mutex_);
    is_posted_ = false;
    is_ended_ = running_ == 0;
  }
  if (is_released_) {
    Events dropped;
    take(dropped);
  } else if (listener_) {
    listener_();
  }  // else the connection has not seen the request yet, and looks as soon as it does
  finish_if_done();
}

void LiveRequest::take(Events& events) {
  events.clear();
  const std::scoped_lock lock(mutex_);
  std::swap(events, waiting_);
  waiting_bytes_ = 0;
}

void LiveRequest::release() {
  is_released_ = true;  // the listener stays: it may be what calls this
  finish_if_done();
}

void LiveRequest::finish_if_done() {
  if (!is_ended_ || !is_released_ || over_.exchange(true)) return;
  ways_.on_over(*this);
}

LedgerRow LiveRequest::snapshot() const {
  LedgerRow row = row_;
  row.http_status = status_.load();
  row.delivered_tokens = delivered_.load();
  const std::scoped_lock lock(mutex_);
  if (running_ == 0 && !finished_.empty()) return ended_row(std::move(row), finished_, cause());
  row.completion_tokens = selected_.load();
  return row;
}

}  // namespace pawl::server
