// SPDX-License-Identifier: Apache-2.0
// The whole server on real sockets, with a thread of the test in the place of the engine: many
// clients at once, some of which leave.
#include "server/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <thread>

#include "server/test_talk.h"

namespace pawl::server {
namespace {

constexpr int kTokens = 40;

// Says "a" for each request in turn until it has said enough or is told to stop.
class OneLetterEngine {
 public:
  OneLetterEngine() : thread_([this] { run(); }) {}
  ~OneLetterEngine() { stop(); }

  base::Result<int64_t> submit(engine::Request request) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back({std::move(request), 0});
    arrived_.notify_one();
    return ++accepted_;
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
      arrived_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Live {
    engine::Request request;
    int said;
  };

  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Live live = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      if (step(live)) continue;
      lock.lock();
      waiting_.push_back(std::move(live));
    }
  }

  // True when the request is over.
  bool step(Live& live) {
    engine::Finished finished;
    finished.reason = engine::FinishReason::kCancelled;
    if (!live.request.stop_token.stop_requested()) {
      if (live.said++ < kTokens) {
        live.request.sink->on_delta(
            {.id = 65, .text = "a", .choice = nullptr, .stamp_ns = live.said});
        return false;
      }
      finished.reason = engine::FinishReason::kLength;
    }
    live.request.sink->on_finished(finished);
    return true;
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Live> waiting_;
  bool is_stopping_ = false;
  int64_t accepted_ = 0;
  std::thread thread_;
};

TEST(Server, S042_S043_ManyClientsAtOnceAndEachIsRecordedOnce) {
  const auto tokenizer = small_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  OneLetterEngine letters;
  std::atomic<int> begun{0}, ended{0}, cancelled{0};
  Records records;
  records.begin = [&](LedgerRow) { return ++begun > 0; };
  records.end = [&](const LedgerRow& row) {
    ++ended;
    if (row.state == RowState::kCancelled) ++cancelled;
  };
  const base::SteadyClock clock;
  ServerOptions options;
  options.port = 0;
  auto server = Server::listen(options, records, clock);
  ASSERT_TRUE(server.ok());
  auto model = std::make_shared<ServedModel>();
  model->name = "letters";
  model->context = 1000;
  model->tokenizer = tokenizer.get();
  model->submit = [&](engine::Request request) { return letters.submit(std::move(request)); };
  model->wake = [] {};
  (*server)->api().set_model(model);
  const uint16_t port = (*server)->port();
  std::thread io([&] { (*server)->run(); });

  constexpr int kClients = 6, kRounds = 8;
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      for (int round = 0; round < kRounds; ++round) {
        const bool leaves = (client + round) % 3 == 0;
        const std::string body =
            R"({"prompt":[5,6],"n":2,"stream":)" + std::string(round % 2 ? "true" : "false") + "}";
        const std::string answer = ask(port, completion_request(body), leaves ? 1 : SIZE_MAX);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer.substr(0, 200);
        if (!leaves && round % 2 != 0) {
          EXPECT_NE(answer.find("data: [DONE]"), std::string::npos);
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  (*server)->drain();
  io.join();
  letters.stop();
  (*server)->settle();
  EXPECT_EQ(begun, kClients * kRounds);
  EXPECT_EQ(ended, begun);
  EXPECT_LE(cancelled, kClients * kRounds / 3);
}

}  // namespace
}  // namespace pawl::server
