// SPDX-License-Identifier: Apache-2.0
// A finished answer is judged by a worker: its reply waits for the verdict, nobody else does.
#include "server/format_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "server/server.h"
#include "server/test_talk.h"

namespace pawl::server {
namespace {

using base::Json;
using engine::FinishReason;

class Checked : public testing::Test {
 protected:
  void SetUp() override {
    tokenizer_ = small_tokenizer();
    ASSERT_NE(tokenizer_, nullptr);
    auto compiler = grammar::Compiler::create(*tokenizer_, grammar::Whitespace::kNone);
    ASSERT_TRUE(compiler.ok());
    compiler_ = std::move(*compiler);
  }

  std::shared_ptr<const grammar::Compiled> compile(std::string schema) {
    auto compiled = compiler_->compile({.source = std::move(schema)});
    EXPECT_TRUE(compiled.ok()) << compiled.error().message;
    return *compiled;
  }

  // A streamed chat whose choices have said `answers` and ended.
  void answer(std::string schema, const std::vector<std::string>& answers, FinishReason reason) {
    GenerationRequest request;
    request.is_stream = true;
    request.choices = static_cast<int>(answers.size());
    request.prompts = {{1, 2, 3}};
    request.format = compile(std::move(schema));
    LedgerRow row;
    LiveRequest::Ways ways;
    ways.wake_engine = [] {};
    ways.post_delivery = [](const std::shared_ptr<LiveRequest>&) {};
    ways.on_over = [](LiveRequest&) {};
    live_ = std::make_shared<LiveRequest>(row, "", request.choices, 0, 1 << 20, false, ways);
    ReplyClock clock;
    clock.format_violation = [this] { ++violations_; };
    const ReplyHead head{Route::kChat, "id", 1, "m", 7, {}};
    stream_ = std::make_unique<ReplyStream>(live_, std::move(request), head, nullptr, *tokenizer_,
                                            std::move(clock));
    for (size_t i = 0; i < answers.size(); ++i) {
      engine::EventSink* sink = live_->make_sink(static_cast<int>(i));
      sink->on_delta({.id = 65, .text = answers[i], .choice = nullptr, .stamp_ns = 1});
      engine::Finished finished;
      finished.reason = reason;
      sink->on_finished(finished);
    }
  }

  std::string collect() {
    std::string out;
    stream_->collect(true, out);
    return out;
  }

  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<grammar::Compiler> compiler_;
  std::shared_ptr<LiveRequest> live_;
  std::unique_ptr<ReplyStream> stream_;
  int violations_ = 0;
};

TEST_F(Checked, TheEndOfAnAnswerWaitsForItsVerdict) {
  answer(R"({"type":"integer"})", {"12", "7"}, FinishReason::kStop);
  std::string out = collect();
  EXPECT_NE(out.find("12"), std::string::npos) << "the text itself is not held back";
  EXPECT_EQ(out.find("\"finish_reason\":\"stop\""), std::string::npos);
  std::vector<FormatCheck> checks = stream_->take_checks();
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_TRUE(stream_->take_checks().empty());
  for (FormatCheck& check : checks) {
    EXPECT_EQ(check.run(), "");
    EXPECT_EQ(collect(), "") << "nothing follows before the verdict";
    EXPECT_FALSE(stream_->is_over());
    stream_->take_verdict(check.choice, "");
    out = collect();
    EXPECT_NE(out.find("\"finish_reason\":\"stop\""), std::string::npos);
  }
  EXPECT_TRUE(stream_->is_over());
  EXPECT_NE(out.find("[DONE]"), std::string::npos);
  EXPECT_EQ(violations_, 0);
}

TEST_F(Checked, AnAnswerThatBreaksItsFormatIsAnErrorAndCounted) {
  answer(R"({"type":"integer","maximum":10})", {"12"}, FinishReason::kStop);
  collect();
  std::vector<FormatCheck> checks = stream_->take_checks();
  ASSERT_EQ(checks.size(), 1u);
  const std::string wrong = checks.front().run();
  EXPECT_NE(wrong, "");
  stream_->take_verdict(0, wrong);
  const std::string out = collect();
  EXPECT_NE(out.find("format_violation"), std::string::npos) << out;
  EXPECT_EQ(out.find("[DONE]"), std::string::npos);
  EXPECT_EQ(violations_, 1);
  EXPECT_TRUE(stream_->is_over());
}

TEST_F(Checked, WhatWasCutIsNotJudged) {
  answer(R"({"type":"integer"})", {"12"}, FinishReason::kLength);
  const std::string out = collect();
  EXPECT_TRUE(stream_->take_checks().empty());
  EXPECT_NE(out.find("\"note\""), std::string::npos);
  EXPECT_TRUE(stream_->is_over());
}

// The more of them, the longer the judge looks: each item is tried against all that it may be.
std::string long_list(int items) {
  std::string text = "[399";
  for (int i = 1; i < items; ++i) text += ",399";
  return text + "]";
}

TEST_F(Checked, OthersAreAnsweredWhileALongAnswerIsJudged) {
  std::string schema = R"({"type":"array","items":{"anyOf":[{"const":0})";
  for (int i = 1; i < 400; ++i) schema += R"(,{"const":)" + std::to_string(i) + "}";
  schema += "]}}";
  const auto compiled = compile(schema);
  std::string said;
  double seconds = 0;
  for (int items = 4000; items < 500'000 && seconds < 0.2; items *= 2) {
    said = long_list(items);
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(*compiled->check(said), "");
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  ASSERT_GE(seconds, 0.2) << "the check is too quick to see anything beside it";

  const base::SteadyClock clock;
  ServerOptions options;
  options.port = 0;
  auto server = Server::listen(options, {}, clock);
  ASSERT_TRUE(server.ok());
  auto model = std::make_shared<ServedModel>();
  model->name = "list";
  model->context = 1000;
  model->tokenizer = tokenizer_.get();
  model->wake = [] {};
  model->compile = [this](const grammar::Description& wanted) {
    return compiler_->compile(wanted);
  };
  std::atomic<bool> is_said{false}, is_answered{false};
  model->submit = [&](engine::Request request) -> base::Result<int64_t> {
    request.sink->on_delta({.id = 65, .text = said, .choice = nullptr, .stamp_ns = 1});
    request.sink->on_finished({});
    is_said = true;
    return 1;
  };
  (*server)->api().set_model(model);
  const uint16_t port = (*server)->port();
  std::thread io([&] { (*server)->run(); });

  std::string reply;
  std::thread client([&] {
    const std::string body = R"({"prompt":[5],"json_schema":)" + schema + "}";
    reply = ask(port, completion_request(body));
    is_answered = true;
  });
  int beside = 0;
  while (!is_answered) {
    const std::string health =
        ask(port, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(health.starts_with("HTTP/1.1 200")) << health;
    if (is_said && !is_answered) ++beside;
    std::this_thread::yield();
  }
  client.join();
  (*server)->drain();
  io.join();
  (*server)->settle();
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200")) << reply.substr(0, 300);
  EXPECT_NE(reply.find("399"), std::string::npos);
  EXPECT_GT(beside, 20) << "replies of /health within " << seconds << " s";
}

}  // namespace
}  // namespace pawl::server
