// SPDX-License-Identifier: Apache-2.0
// A reply while it comes, with the test in the place of the engine: what it says, in which order,
// and who may end it.
#include "server/reply_stream.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "server/test_talk.h"

namespace pawl::server {
namespace {

using base::Json;
using engine::FinishReason;

class Replies : public testing::Test {
 protected:
  void SetUp() override {
    tokenizer_ = small_tokenizer();
    ASSERT_NE(tokenizer_, nullptr);
  }

  // A request lives until its sequences end, as the engine sees to.
  void TearDown() override {
    for (int i = 0; i < static_cast<int>(sinks_.size()); ++i) {
      if (!ended_.contains(i)) end(i, FinishReason::kCancelled);
    }
  }

  void begin(GenerationRequest request) {
    request.prompts = {{1, 2, 3}};
    LedgerRow row;
    row.id = "chatcmpl-test";
    LiveRequest::Ways ways;
    ways.wake_engine = [this] { ++wakes_; };
    ways.post_delivery = [this](std::shared_ptr<LiveRequest> live) { posted_ = std::move(live); };
    ways.on_over = [this](LiveRequest& live) { over_.push_back(live.snapshot()); };
    live_ =
        std::make_shared<LiveRequest>(row, "", request.sequences(), 0, unsent_bytes_, true, ways);
    for (int i = 0; i < request.sequences(); ++i) sinks_.push_back(live_->make_sink(i));
    const ReplyHead head{request.route, row.id, 1, "m", 7, {}};
    stream_ = std::make_unique<ReplyStream>(live_, std::move(request), head, nullptr, *tokenizer_,
                                            ReplyClock());
  }

  void say(int sequence, std::string_view text, base::TokenId id = 65) {
    const policy::TokenLogprob top[] = {{id, -0.5}};
    const policy::Choice choice{.id = id, .logprob = -0.5, .top = top};
    sinks_[static_cast<size_t>(sequence)]->on_delta(
        {.id = id, .text = text, .choice = &choice, .stamp_ns = ++now_});
  }

  void end(int sequence, FinishReason reason, std::string text = {}, std::string stop = {}) {
    ended_.insert(sequence);
    engine::Finished finished;
    finished.reason = reason;
    finished.text = std::move(text);
    finished.stop_string = std::move(stop);
    sinks_[static_cast<size_t>(sequence)]->on_finished(finished);
  }

  // The JSON of all events so far; "[DONE]" stands as a text.
  std::vector<Json> collect(bool has_begun = true) {
    std::string out;
    stream_->collect(has_begun, out);
    std::vector<Json> events;
    while (!out.empty()) {
      EXPECT_TRUE(out.starts_with("data: "));
      const size_t length = out.find("\n\n");
      const std::string data = out.substr(6, length - 6);
      out.erase(0, length + 2);
      auto json = base::parse_json(data);
      events.push_back(json.ok() ? std::move(*json) : Json(data));
    }
    return events;
  }

  static std::string text_of(const std::vector<Json>& events) {
    std::string text;
    for (const Json& event : events) {
      const Json* choices = event.find("choices");
      if (choices == nullptr || choices->as_array()->empty()) continue;
      const Json* delta = choices->as_array()->front().find("delta");
      const Json* content = delta == nullptr ? nullptr : delta->find("content");
      if (content != nullptr) text += *content->as_string();
    }
    return text;
  }

  static GenerationRequest streamed() {
    GenerationRequest request;
    request.is_stream = true;
    return request;
  }

  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::shared_ptr<LiveRequest> live_, posted_;
  std::unique_ptr<ReplyStream> stream_;
  std::vector<engine::EventSink*> sinks_;
  std::set<int> ended_;
  std::vector<LedgerRow> over_;
  size_t unsent_bytes_ = 1 << 20;
  int wakes_ = 0;
  int64_t now_ = 1;
};

TEST_F(Replies, S030_RoleThenTextThenReasonThenDone) {
  begin(streamed());
  say(0, "a");
  say(0, "");
  say(0, "b");
  end(0, FinishReason::kLength, "c");
  const auto events = collect();
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0].find("choices")->as_array()->front().find("delta")->dump(),
            R"({"role": "assistant", "content": ""})");
  EXPECT_EQ(text_of(events), "abc");
  const Json& last = events[4].find("choices")->as_array()->front();
  EXPECT_EQ(last.find("delta")->dump(), "{}");
  EXPECT_EQ(last.find("finish_reason")->dump(), "\"length\"");
  EXPECT_EQ(*events[5].as_string(), "[DONE]");
  EXPECT_TRUE(stream_->is_over());
}

TEST_F(Replies, S029_UsageStandsAloneAndIsNullBefore) {
  auto request = streamed();
  request.wants_usage = true;
  begin(request);
  say(0, "a");
  end(0, FinishReason::kStop);
  const auto events = collect();
  ASSERT_EQ(events.size(), 5u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(events[i].find("usage")->is_null());
  EXPECT_TRUE(events[3].find("choices")->as_array()->empty());
  EXPECT_EQ(events[3].find("usage")->find("completion_tokens")->dump(), "1");
}

TEST_F(Replies, S031_AnErrorIsTheLastEvent) {
  begin(streamed());
  say(0, "a");
  collect();
  end(0, FinishReason::kShutdown);
  const auto events = collect();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].find("error")->find("code")->dump(), "\"shutdown\"");
}

TEST_F(Replies, AnErrorBeforeTheStatusIsNoEvent) {
  begin(streamed());
  end(0, FinishReason::kDeadline);
  EXPECT_TRUE(collect(false).empty());
  ASSERT_TRUE(stream_->error().has_value());
  EXPECT_EQ(stream_->error()->status, 408);
}

TEST_F(Replies, OneChoiceThatFailsEndsTheOthers) {
  auto request = streamed();
  request.choices = 2;
  begin(request);
  say(0, "a");
  end(1, FinishReason::kError);
  collect();
  EXPECT_TRUE(live_->stop_token().stop_requested());
  EXPECT_FALSE(stream_->is_over());
  end(0, FinishReason::kCancelled);
  EXPECT_EQ(collect().back().find("error")->find("code")->dump(), "\"generation_failed\"");
}

TEST_F(Replies, S021_LogprobsOfWhatAStopStringSwallowedAreNotTold) {
  auto request = streamed();
  request.wants_logprobs = true;
  begin(request);
  say(0, "x");
  say(0, "");  // held back: it may begin the stop string
  end(0, FinishReason::kStop, "", "stop");
  int tokens = 0;
  for (const Json& event : collect()) {
    const Json* choices = event.find("choices");
    const Json* logprobs =
        choices == nullptr ? nullptr : choices->as_array()->front().find("logprobs");
    if (logprobs == nullptr || logprobs->is_null()) continue;
    tokens += static_cast<int>(logprobs->find("content")->as_array()->size());
  }
  EXPECT_EQ(tokens, 1);
}

TEST_F(Replies, S039_WhoLetsGoOfTheReplyCancelsAndTheEndIsStillRecorded) {
  begin(streamed());
  say(0, "a");
  collect();
  stream_.reset();
  EXPECT_TRUE(live_->stop_token().stop_requested());
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(over_.empty());
  end(0, FinishReason::kCancelled);
  posted_->deliver();
  ASSERT_EQ(over_.size(), 1u);
  EXPECT_EQ(over_[0].state, RowState::kCancelled);
  EXPECT_EQ(over_[0].cause, CancelCause::kClientClosed);
  EXPECT_EQ(over_[0].delivered_tokens, 0);
}

TEST_F(Replies, S043_AnOrdinaryEndCancelsNothing) {
  begin(streamed());
  say(0, "a");
  end(0, FinishReason::kStop);
  collect();
  posted_->deliver();
  stream_->confirm_delivery();
  stream_.reset();
  EXPECT_FALSE(live_->stop_token().stop_requested());
  ASSERT_EQ(over_.size(), 1u);
  EXPECT_EQ(over_[0].state, RowState::kStop);
  EXPECT_EQ(over_[0].delivered_tokens, 1);
}

TEST_F(Replies, ASlowReaderIsCancelledAtTheByteLimit) {
  unsent_bytes_ = 4096;
  begin(streamed());
  for (int i = 0; i < 10; ++i) say(0, "a");
  EXPECT_EQ(live_->cause(), CancelCause::kNone);
  for (int i = 0; i < 100; ++i) say(0, "a");
  EXPECT_EQ(live_->cause(), CancelCause::kSlowReader);
  EXPECT_EQ(wakes_, 0) << "a sink may not call the engine";
}

TEST_F(Replies, TokensThatWaitTogetherShareAChunk) {
  begin(streamed());
  for (int i = 0; i < 100; ++i) say(0, "a");
  const auto events = collect();
  EXPECT_EQ(events.size(), 2u);
  EXPECT_EQ(text_of(events), std::string(100, 'a'));
}

TEST_F(Replies, S035_AWholeReplyHoldsAllChoices) {
  GenerationRequest request;
  request.choices = 3;
  begin(request);
  for (int i = 2; i >= 0; --i) {
    say(i, std::string(1, static_cast<char>('a' + i)));
    end(i, FinishReason::kStop);
  }
  std::string out;
  stream_->collect(false, out);
  EXPECT_EQ(out, "");
  const auto reply = base::parse_json(stream_->whole_reply());
  ASSERT_TRUE(reply.ok());
  const auto& choices = *reply->find("choices")->as_array();
  ASSERT_EQ(choices.size(), 3u);
  for (int64_t i = 0; i < 3; ++i) {
    const Json& choice = choices[static_cast<size_t>(i)];
    EXPECT_EQ(choice.find("index")->to_int64(), i);
    EXPECT_EQ(*choice.find("message")->find("content")->as_string(),
              std::string(1, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(reply->find("usage")->find("prompt_tokens")->to_int64(), 3);
  EXPECT_EQ(reply->find("usage")->find("completion_tokens")->to_int64(), 3);
}

}  // namespace
}  // namespace pawl::server
