// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <csignal>
#include <unordered_set>

#include "base/log.h"
#include "base/utf8.h"
#include "server/connection.h"

namespace pawl::server {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Error;
using base::ErrorCode;
using base::Result;
using Code = boost::system::error_code;

namespace {

constexpr int64_t kForceMs = 1000;  // after replies were told to end, until connections are cut
constexpr int64_t kRetryMs = 100;   // after an accept that failed: descriptors may be used up

}  // namespace

struct Server::State {
  State(ServerOptions given, Records records, const base::Clock& clock)
      : options(std::move(given)),
        workers(static_cast<size_t>(options.workers)),
        acceptor(io),
        signals(io),
        timer(io),
        retry(io),
        api(
            options.api, std::move(records),
            [this](std::function<void()> work) { asio::post(io, std::move(work)); }, clock) {}

  Result<void> bind();
  Result<void> load_keys();
  void accept();
  void take(tcp::socket socket);
  void wait_for_signal();
  void drain();
  void end_replies();
  void end_if_done();
  void end();

  ServerOptions options;
  asio::io_context io{1};
  asio::thread_pool workers;
  tcp::acceptor acceptor;
  tcp::endpoint bound;  // where it listens; any thread may ask, also when it has ended
  asio::signal_set signals;
  asio::steady_timer timer, retry;
  Api api;
  std::unordered_set<Connection*> open;  // each lives while it is in here
  bool is_draining = false;
};

Result<void> Server::State::bind() {
  Code failure;
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  const auto address = asio::ip::make_address(host, failure);
  if (failure) {
    return Error{ErrorCode::kInvalidArgument,
                 base::quoted_text(host) + " is no address of a network interface", "--host"};
  }
  const tcp::endpoint endpoint(address, options.port);
  const auto failed = [&](std::string_view what) {
    return Error{ErrorCode::kIo, fmt::format("cannot {}: {}", what, failure.message()),
                 fmt::format("{}:{}", host, options.port)};
  };
  acceptor.open(endpoint.protocol(), failure);
  if (failure) return failed("open a socket");
  acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
  acceptor.bind(endpoint, failure);
  if (failure) return failed("bind");
  acceptor.listen(asio::socket_base::max_listen_connections, failure);
  if (failure) return failed("listen");
  bound = acceptor.local_endpoint(failure);
  if (failure) return failed("listen");
  return {};
}

Result<void> Server::State::load_keys() {
  if (options.key_file.empty()) return {};
  PAWL_TRY(ApiKeys keys, ApiKeys::load(options.key_file));
  api.set_keys(std::make_shared<const ApiKeys>(std::move(keys)));
  return {};
}

void Server::State::accept() {
  acceptor.async_accept([this](Code failure, tcp::socket socket) {
    if (is_draining || failure == asio::error::operation_aborted) return;
    if (!failure) {
      take(std::move(socket));
      return accept();
    }
    base::log_warning("cannot accept a connection: " + failure.message());
    retry.expires_after(std::chrono::milliseconds(kRetryMs));
    retry.async_wait([this](Code stopped) {
      if (!stopped) accept();
    });
  });
}

void Server::State::take(tcp::socket socket) {
  const size_t limit = static_cast<size_t>(options.api.limits.connections);
  if (open.size() >= 2 * limit) return;  // too many even to be told so
  Connection::Ways ways;
  ways.api = &api;
  ways.on_worker = [this](std::function<void()> work) { asio::post(workers, std::move(work)); };
  ways.on_closed = [this](Connection& connection) {
    open.erase(&connection);
    if (api.records().connections) api.records().connections(-1);
    if (is_draining) asio::post(io, [this] { end_if_done(); });
  };
  const auto connection = std::make_shared<Connection>(std::move(socket), std::move(ways));
  open.insert(connection.get());
  if (api.records().connections) api.records().connections(1);
  if (open.size() > limit) {
    return connection->turn_away(unavailable(
        fmt::format("{} connections are open, as many as allowed", limit), "connections"));
  }
  connection->start();
}

void Server::State::wait_for_signal() {
  signals.async_wait([this](Code failure, int number) {
    if (failure) return;
    if (number == SIGHUP) {
      const auto loaded = load_keys();
      if (loaded.ok()) {
        base::log_info("the API keys were read again");
      } else {
        base::log_warning("the API keys stay as they were: " + loaded.error().message);
      }
    } else if (is_draining) {
      return end();
    } else {
      drain();
    }
    wait_for_signal();
  });
}

void Server::State::drain() {
  if (is_draining) return;
  is_draining = true;
  api.set_draining();
  Code ignored;
  acceptor.close(ignored);
  retry.cancel();
  const std::unordered_set<Connection*> all = open;  // drain() may close, and so erase
  for (Connection* connection : all) connection->drain();
  timer.expires_after(std::chrono::milliseconds(options.drain_ms));
  timer.async_wait([this](Code failure) {
    if (!failure) end_replies();
  });
  end_if_done();
}

// Time is up: what still runs ends with an error its client can read.
void Server::State::end_replies() {
  api.cancel_all(CancelCause::kShutdown);
  timer.expires_after(std::chrono::milliseconds(kForceMs));
  timer.async_wait([this](Code failure) {
    if (!failure) end();
  });
}

// Requests outlive their connections until the engine has ended them and they are recorded.
void Server::State::end_if_done() {
  if (open.empty() && api.live_requests() == 0) end();
}

void Server::State::end() {
  is_draining = true;
  const std::unordered_set<Connection*> all = open;
  for (Connection* connection : all) connection->close();
  Code ignored;
  signals.cancel(ignored);
  io.stop();
}

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, Records records,
                                               const base::Clock& clock) {
  auto state = std::make_unique<State>(options, std::move(records), clock);
  PAWL_TRY_VOID(state->load_keys());
  PAWL_TRY_VOID(state->bind());
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  settle();
}

void Server::settle() {
  state_->workers.join();
  state_->io.restart();
  state_->io.poll();
}

uint16_t Server::port() const {
  return state_->bound.port();
}

std::string Server::url() const {
  const tcp::endpoint& endpoint = state_->bound;
  const bool is_v6 = endpoint.address().is_v6();
  return fmt::format("http://{}{}{}:{}", is_v6 ? "[" : "", endpoint.address().to_string(),
                     is_v6 ? "]" : "", endpoint.port());
}

Api& Server::api() {
  return state_->api;
}

void Server::run() {
  state_->api.set_over_hook([state = state_.get()] {
    if (state->is_draining) state->end_if_done();
  });
  Code ignored;
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) state_->signals.add(number, ignored);
  state_->wait_for_signal();
  state_->accept();
  auto keep_alive = asio::make_work_guard(state_->io);
  state_->io.run();
}

void Server::drain() {
  asio::post(state_->io, [this] { state_->drain(); });
}

}  // namespace pawl::server
