// SPDX-License-Identifier: Apache-2.0
// The engine's thread and those that talk to it.
#include "engine/service.h"

#include <future>

#include "engine/engine_for_test.h"
#include "support/golden.h"

namespace pawl::engine {
namespace {

using base::ErrorCode;

// Hands its Finished to the thread that waits for it; can hold the engine in a Delta.
class Client final : public EventSink {
 public:
  void on_delta(const Delta& delta) override {
    ids.push_back(delta.id);
    if (ids.size() == 1) {
      started.set_value();
      if (gate.valid()) gate.wait();
    }
  }
  void on_finished(const Finished& f) override { finished.set_value(f); }

  Request request(int kind, int64_t max_tokens) {
    Request r;
    r.prompt = numbered_prompt(20 + 7 * kind, kind);
    r.policy.ignore_eos = true;
    r.stops.max_tokens = max_tokens;
    r.sink = this;
    r.stop_token = source.get_token();
    return r;
  }
  Finished wait() { return finished.get_future().get(); }

  std::vector<base::TokenId> ids;
  std::promise<void> started;
  std::shared_future<void> gate;
  std::promise<Finished> finished;
  std::stop_source source;
};

class ServiceTest : public SmallModelTest {
 protected:
  void SetUp() override { open("llama-spm", 2); }

  void start(const ServiceLimits& limits) {
    auto service = Service::start(*runtime_, limits, clock_);
    ASSERT_TRUE(service.ok());
    service_ = std::move(service).value();
  }
  void submit(Request request) {
    const auto id = service_->submit(std::move(request));
    ASSERT_TRUE(id.ok()) << id.error().message;
  }
  void expect_refused(Request request, ErrorCode code, std::string_view what) {
    const auto id = service_->submit(std::move(request));
    ASSERT_FALSE(id.ok());
    EXPECT_EQ(id.error().code, code);
    EXPECT_NE(id.error().message.find(what), std::string::npos) << id.error().message;
  }

  base::SteadyClock clock_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, ManyThreadsGetTheAnswersOfARunAlone) {
  constexpr int kThreads = 4, kEach = 10;
  std::vector<Recorder> alone(kEach);
  for (int i = 0; i < kEach; ++i) {
    Client client;
    Recorder& recorder = alone[static_cast<size_t>(i)];
    run_alone(*runtime_, client.request(i, 20), recorder);
  }
  start({.engine = {.context = 256, .kv_positions = 400, .max_sequences = 4}});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        Client client;
        submit(client.request(i, 20));
        EXPECT_LE(service_->stats().running, 4);
        EXPECT_EQ(client.wait().reason, FinishReason::kLength);
        EXPECT_EQ(client.ids, alone[static_cast<size_t>(i)].ids);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(service_->wait_until_idle(std::chrono::seconds(60)));
  const ServiceStats stats = service_->stats();
  EXPECT_EQ(stats.completion_tokens, kThreads * kEach * 20);
  EXPECT_EQ(stats.kv_blocks_free + stats.kv_blocks_evictable, stats.kv_blocks);
}

TEST_F(ServiceTest, OnlyThoseThatWaitCountAgainstTheBound) {
  start({.engine = {.context = 256, .max_sequences = 1}, .max_waiting = 2});
  std::promise<void> gate;
  Client runs, first, second, third;
  runs.gate = gate.get_future().share();
  submit(runs.request(0, 5));
  runs.started.get_future().wait();  // the engine stands in a step from here on
  submit(first.request(1, 5));
  submit(second.request(2, 5));
  expect_refused(third.request(3, 5), ErrorCode::kOverloaded, "2 requests are waiting");
  EXPECT_EQ(service_->stats().running + service_->stats().waiting, 3);
  gate.set_value();
  for (Client* client : {&runs, &first, &second})
    EXPECT_EQ(client->wait().reason, FinishReason::kLength);
  ASSERT_TRUE(service_->wait_until_idle(std::chrono::seconds(60)));
  submit(third.request(3, 5));
  EXPECT_EQ(third.wait().reason, FinishReason::kLength);
}

TEST_F(ServiceTest, WithNoRoomToWaitAnIdleEngineStillAccepts) {
  start({.engine = {.context = 256, .max_sequences = 1}, .max_waiting = 0});
  for (int i = 0; i < 20; ++i) {
    Client client;
    submit(client.request(i % 4, 3));
    EXPECT_EQ(client.wait().reason, FinishReason::kLength);  // from then on there is room
  }
}

TEST_F(ServiceTest, AWrongRequestIsRefusedWhileTheEngineIsBusy) {
  start({.engine = {.context = 256}});
  std::promise<void> gate;
  Client runs, wrong;
  runs.gate = gate.get_future().share();
  submit(runs.request(0, 5));
  runs.started.get_future().wait();
  Request r = wrong.request(0, 5);
  r.prompt = {};
  expect_refused(std::move(r), ErrorCode::kInvalidArgument, "prompt is empty");
  r = wrong.request(0, 5);
  r.policy.top_p = -1;
  expect_refused(std::move(r), ErrorCode::kInvalidArgument, "top_p");
  gate.set_value();
  EXPECT_EQ(runs.wait().reason, FinishReason::kLength);
}

TEST_F(ServiceTest, DrainingFinishesWhatWasAccepted) {
  start({.engine = {.context = 256, .max_sequences = 1}});
  Client first, second, late;
  submit(first.request(0, 30));
  submit(second.request(1, 30));
  service_->drain();
  expect_refused(late.request(2, 5), ErrorCode::kUnavailable, "shutting down");
  EXPECT_EQ(first.wait().reason, FinishReason::kLength);
  EXPECT_EQ(second.wait().reason, FinishReason::kLength);
  EXPECT_EQ(second.ids.size(), 30u);
  EXPECT_TRUE(service_->wait_until_idle(std::chrono::seconds(60)));
}

TEST_F(ServiceTest, StoppingEndsEveryoneOnceAndTheThread) {
  for (int round = 0; round < 20; ++round) {
    start({.engine = {.context = 256, .max_sequences = 2}});
    std::vector<Client> clients(5);
    for (size_t i = 0; i < 5; ++i) submit(clients[i].request(static_cast<int>(i), 200));
    if (round % 2 == 0) clients[0].started.get_future().wait();
    service_->stop();
    service_->stop();
    for (Client& client : clients) EXPECT_EQ(client.wait().reason, FinishReason::kShutdown);
    Client late;
    expect_refused(late.request(2, 5), ErrorCode::kUnavailable, "shutting down");
    const ServiceStats stats = service_->stats();
    EXPECT_EQ(stats.running + stats.waiting, 0);
    EXPECT_EQ(stats.kv_blocks_free + stats.kv_blocks_evictable, stats.kv_blocks);
  }
}

TEST_F(ServiceTest, S053_OneSlotAnswersFourInOrderOfArrival) {
  start({.engine = {.context = 256, .max_sequences = 1}});
  std::vector<Recorder> alone(4);
  for (int i = 0; i < 4; ++i) {
    Client client;
    run_alone(*runtime_, client.request(i, 6), alone[static_cast<size_t>(i)]);
  }
  for (int round = 0; round < 100; ++round) {
    std::vector<Client> clients(4);
    std::vector<int64_t> ends;
    for (int i = 0; i < 4; ++i) submit(clients[static_cast<size_t>(i)].request(i, 6));
    for (size_t i = 0; i < 4; ++i) {
      ends.push_back(clients[i].wait().timeline.finished_ns);
      EXPECT_EQ(clients[i].ids, alone[i].ids);
    }
    EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
  }
}

TEST_F(ServiceTest, AStopIsSeenWithinAStepFromAnyThread) {
  start({.engine = {.context = 512, .max_sequences = 2}});
  for (int round = 0; round < 50; ++round) {
    Client client;
    submit(client.request(round % 5, 400));
    if (round % 2 == 0) client.started.get_future().wait();
    client.source.request_stop();
    service_->wake();
    const Finished finished = client.wait();
    EXPECT_EQ(finished.reason, FinishReason::kCancelled);
    EXPECT_LT(client.ids.size(), 400u);
  }
}

}  // namespace
}  // namespace pawl::engine
