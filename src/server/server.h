// SPDX-License-Identifier: Apache-2.0
// The HTTP server: listens before the model is there, answers, and ends in good order. One io
// thread, the caller of run(), and a few workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "server/api.h"

namespace pawl::server {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address, or localhost
  uint16_t port = 8080;            // 0: any that is free
  std::string key_file;            // empty: everybody may
  int64_t drain_ms = 4000;         // after a request to end, for the replies under way
  int workers = 2;
  ApiOptions api;
};

class Server {
 public:
  // Listens. Errors: kInvalidArgument for a host that is no address, kIo when the port cannot be
  // had, those of the key file.
  static base::Result<std::unique_ptr<Server>> listen(const ServerOptions& options, Records records,
                                                      const base::Clock& clock);
  ~Server();

  uint16_t port() const;
  std::string url() const;  // "http://127.0.0.1:8080"
  Api& api();

  // Accepts and answers until drain() or a signal: SIGTERM and SIGINT drain, the second of them
  // ends at once; SIGHUP reads the keys again.
  void run();

  // After the engine has ended: the ends of its last requests are taken and recorded. On the thread
  // of run(), after it.
  void settle();

  // From any thread: accepts nothing more, lets replies end for drain_ms, then ends them with an
  // error; run() returns after that.
  void drain();

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl::server
