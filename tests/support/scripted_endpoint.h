// SPDX-License-Identifier: Apache-2.0
// A TCP server that sends exact bytes at exact times and keeps a log: what the lab is measured
// against. It knows of HTTP only where a request ends; every byte of an answer is the script's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace pawl::tests {

enum class After { kNothing, kClose, kReset };  // what happens once a step's bytes are sent

struct Step {
  double at_ms = 0;  // after the request was received
  std::string bytes;
  After after = After::kNothing;
};

struct SeenRequest {
  int64_t index = 0;
  int64_t connection = 0;
  std::string head;  // to the blank line
  std::string body;
  int64_t received_ns = 0;       // its last byte was read
  std::vector<int64_t> sent_ns;  // of each step, taken just before its bytes were handed over
  int64_t left_ns = 0;           // the client closed before the last step; 0: it did not
  bool is_answered = false;
};

// Threads: one of its own, which calls `answer` and `left`. The log may be read from any.
class ScriptedEndpoint {
 public:
  // The steps that answer a request, their times not falling.
  using Answer = std::function<std::vector<Step>(const SeenRequest&)>;
  // The client of a request went away before its answer was over.
  using Left = std::function<void(const SeenRequest&)>;

  struct Options {
    double idle_close_ms = 0;  // closes a connection that waits for a request so long; 0: never
    Left left;
  };

  explicit ScriptedEndpoint(Answer answer) : ScriptedEndpoint(std::move(answer), Options{}) {}
  ScriptedEndpoint(Answer answer, Options options);
  ~ScriptedEndpoint();
  ScriptedEndpoint(const ScriptedEndpoint&) = delete;
  ScriptedEndpoint& operator=(const ScriptedEndpoint&) = delete;

  const std::string& url() const { return url_; }
  std::vector<SeenRequest> requests() const;
  int64_t connections() const;
  int64_t most_open_requests() const;  // at one time: received, and not answered to the end

 private:
  struct Connection {
    int socket = -1;
    int64_t id = 0;
    std::string received;
    int64_t request = -1;  // index of the one being answered; -1: none
    std::vector<Step> steps;
    size_t next = 0;
    int64_t idle_since_ns = 0;
  };
  struct Due {
    int64_t at_ns;
    int64_t connection;
    bool operator>(const Due& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : connection > other.connection;
    }
  };

  void serve();
  void accept_all();
  void read_from(Connection& connection);
  void begin_answer(Connection& connection);
  void do_due();
  void do_step(Connection& connection);
  void close(int64_t id, bool is_reset);
  void close_idle();

  Answer answer_;
  Options options_;
  int listener_ = -1, epoll_ = -1, wake_ = -1;
  std::string url_;
  std::map<int64_t, Connection> open_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  mutable std::mutex mutex_;  // the log
  std::vector<SeenRequest> requests_;
  int64_t connections_ = 0, open_requests_ = 0, most_open_ = 0;
  std::thread thread_;
};

}  // namespace pawl::tests
