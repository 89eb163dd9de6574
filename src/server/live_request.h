// SPDX-License-Identifier: Apache-2.0
// A request between its acceptance and its row in the ledger: what the engine says of it waits
// here, and everybody who may end it does so here. It outlives the connection, because what was
// computed is recorded whether or not anybody listened.
//
// Threads: the engine's thread puts events in; the io thread takes them out; cancel() and
// snapshot() from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/event_sink.h"
#include "server/ledger_row.h"

namespace pawl::server {

struct TokenEvent {
  int sequence = 0;
  base::TokenId id = 0;
  int64_t stamp_ns = 0;
  double logprob = 0;
  bool is_forced = false;  // the only way on that a constraint left: nothing was chosen
  std::string text;
  std::vector<policy::TokenLogprob> top;
};

struct PromptTokenEvent {
  int sequence = 0;
  int64_t position = 0;
  base::TokenId id = 0;
  double logprob = 0;
  std::vector<policy::TokenLogprob> top;
};

struct EndEvent {
  int sequence = 0;
  engine::Finished finished;
};

// In this order: a sequence's tokens come before its end.
struct Events {
  std::vector<PromptTokenEvent> prompt;
  std::vector<TokenEvent> tokens;
  std::vector<EndEvent> ends;

  void clear() {
    prompt.clear();
    tokens.clear();
    ends.clear();
  }
};

class LiveRequest : public std::enable_shared_from_this<LiveRequest> {
 public:
  struct Ways {
    std::function<void()> wake_engine;
    // Asks the io thread to call deliver(); any thread.
    std::function<void(std::shared_ptr<LiveRequest>)> post_delivery;
    // The request is over and nobody has to do with it any more. On the io thread, once.
    std::function<void(LiveRequest&)> on_over;
  };

  // row: what is known at the start; its prompt_tokens are those of all prompts.
  LiveRequest(LedgerRow row, std::string request_id, int sequences, int64_t received_ns,
              size_t unsent_bytes, bool keeps_logprobs, Ways ways);

  const std::string& id() const { return row_.id; }
  const std::string& request_id() const { return request_id_; }  // the x-request-id of its reply
  const LedgerRow& row() const { return row_; }
  int64_t received_ns() const { return received_ns_; }

  // A sink for one sequence; it lives until its on_finished, or until drop_sink().
  engine::EventSink* make_sink(int sequence);
  void drop_sink(int sequence);  // the engine did not accept it: it has no end to wait for

  std::stop_token stop_token() const { return stop_.get_token(); }

  // Ends it. The first cause stands; later ones and a request that is over change nothing. True
  // when this call was the first.
  bool cancel(CancelCause cause);
  CancelCause cause() const { return cause_.load(); }

  // -- io thread
  void set_listener(std::function<void()> listener) { listener_ = std::move(listener); }
  void deliver();
  void take(Events& events);  // cleared and filled
  void add_delivered(int64_t tokens) { delivered_ += tokens; }
  void set_status(int status) { status_ = status; }
  // The reply is over, or there was nobody to give it to.
  void release();

  // The ledger's row: of the end when it is over, else as it stands.
  LedgerRow snapshot() const;
  bool is_over() const { return over_.load(); }

 private:
  class Sink;
  void push_prompt(int sequence, const engine::PromptToken& token);
  void push_token(int sequence, const engine::Delta& delta);
  void push_end(int sequence, const engine::Finished& finished);
  void notify(bool was_posted);
  bool stop_for(CancelCause cause);
  void finish_if_done();

  const LedgerRow row_;
  const std::string request_id_;
  const int64_t received_ns_;
  const size_t unsent_limit_;
  const bool keeps_logprobs_;
  const Ways ways_;

  std::stop_source stop_;
  std::atomic<CancelCause> cause_{CancelCause::kNone};
  std::atomic<bool> over_{false};
  std::atomic<int64_t> selected_{0}, delivered_{0};
  std::atomic<int64_t> first_token_ns_{0};
  std::atomic<int> status_{0};

  mutable std::mutex mutex_;  // of what follows
  Events waiting_;
  size_t waiting_bytes_ = 0;
  bool is_posted_ = false;
  std::vector<engine::Finished> finished_;
  int running_;
  std::vector<std::shared_ptr<Sink>> sinks_;  // [sequences], null once finished

  // The io thread's.
  std::function<void()> listener_;
  bool is_released_ = false;
  bool is_ended_ = false;
};

}  // namespace pawl::server
