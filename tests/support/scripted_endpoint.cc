// SPDX-License-Identifier: Apache-2.0
#include "support/scripted_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/clock.h"

namespace pawl::tests {
namespace {

int64_t now_ns() {
  return base::SteadyClock().now_ns();
}

void require(bool condition) {
  if (!condition) std::abort();
}

size_t content_length(const std::string& head) {
  std::string lower = head;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const size_t at = lower.find("content-length:");
  return at == std::string::npos ? 0 : std::strtoull(head.c_str() + at + 15, nullptr, 10);
}

}  // namespace

ScriptedEndpoint::ScriptedEndpoint(Answer answer, Options options)
    : answer_(std::move(answer)), options_(std::move(options)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  require(::listen(listener_, 1024) == 0);
  socklen_t size = sizeof(address);
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  epoll_ = ::epoll_create1(0);
  wake_ = ::eventfd(0, EFD_NONBLOCK);
  for (const auto& [socket, id] :
       {std::pair(listener_, int64_t{-1}), std::pair(wake_, int64_t{-2})}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<uint64_t>(id);
    require(::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) == 0);
  }
  thread_ = std::thread([this] { serve(); });
}

ScriptedEndpoint::~ScriptedEndpoint() {
  const uint64_t one = 1;
  require(::write(wake_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  for (auto& [id, connection] : open_) ::close(connection.socket);
  for (const int socket : {listener_, epoll_, wake_}) ::close(socket);
}

std::vector<SeenRequest> ScriptedEndpoint::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}
int64_t ScriptedEndpoint::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}
int64_t ScriptedEndpoint::most_open_requests() const {
  const std::lock_guard lock(mutex_);
  return most_open_;
}

void ScriptedEndpoint::serve() {
  for (;;) {
    constexpr int64_t kIdleCheckNs = 10'000'000;
    int64_t left = kIdleCheckNs;
    if (!due_.empty()) left = std::clamp<int64_t>(due_.top().at_ns - now_ns(), 0, left);
    const timespec patience{0, left};
    pollfd ready{epoll_, POLLIN, 0};
    ::ppoll(&ready, 1, &patience, nullptr);
    do_due();
    std::array<epoll_event, 256> events;
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    // Who has left is seen before who comes, as it happened.
    std::stable_partition(events.begin(), events.begin() + std::max(count, 0),
                          [](const epoll_event& event) {
                            return (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
                          });
    for (int i = 0; i < count; ++i) {
      const auto id = static_cast<int64_t>(events[static_cast<size_t>(i)].data.u64);
      if (id == -2) return;
      if (id == -1) {
        accept_all();
      } else if (const auto found = open_.find(id); found != open_.end()) {
        read_from(found->second);
      }
    }
    if (options_.idle_close_ms > 0) close_idle();
  }
}

void ScriptedEndpoint::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    Connection connection;
    connection.socket = socket;
    {
      const std::lock_guard lock(mutex_);
      connection.id = connections_++;
    }
    connection.idle_since_ns = now_ns();
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = static_cast<uint64_t>(connection.id);
    require(::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) == 0);
    open_.emplace(connection.id, std::move(connection));
  }
}

void ScriptedEndpoint::read_from(Connection& connection) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::recv(connection.socket, buffer.data(), buffer.size(), 0);
    if (count > 0) {
      connection.received.append(buffer.data(), static_cast<size_t>(count));
      continue;
    }
    const bool is_gone = count == 0 || (errno != EAGAIN && errno != EINTR);
    if (is_gone) return close(connection.id, false);
    break;
  }
  if (connection.request < 0) begin_answer(connection);
}

void ScriptedEndpoint::begin_answer(Connection& connection) {
  const size_t blank = connection.received.find("\r\n\r\n");
  if (blank == std::string::npos) return;
  SeenRequest request;
  request.head = connection.received.substr(0, blank + 4);
  const size_t length = content_length(request.head);
  if (connection.received.size() < request.head.size() + length) return;
  request.body = connection.received.substr(request.head.size(), length);
  connection.received.erase(0, request.head.size() + length);
  request.connection = connection.id;
  request.received_ns = now_ns();
  {
    const std::lock_guard lock(mutex_);
    request.index = static_cast<int64_t>(requests_.size());
    requests_.push_back(request);
    most_open_ = std::max(most_open_, ++open_requests_);
  }
  connection.request = request.index;
  connection.steps = answer_(request);
  connection.next = 0;
  for (const Step& step : connection.steps) {
    due_.push({request.received_ns + static_cast<int64_t>(step.at_ms * 1e6), connection.id});
  }
}

void ScriptedEndpoint::do_due() {
  while (!due_.empty() && due_.top().at_ns <= now_ns()) {
    const int64_t id = due_.top().connection;
    due_.pop();
    const auto found = open_.find(id);
    if (found != open_.end() && found->second.next < found->second.steps.size()) {
      do_step(found->second);
    }
  }
}

void ScriptedEndpoint::do_step(Connection& connection) {
  const Step step = connection.steps[connection.next++];
  const bool is_last = connection.next == connection.steps.size();
  const int64_t stamp = now_ns();
  std::string_view bytes = step.bytes;
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd writable{connection.socket, POLLOUT, 0};
      ::poll(&writable, 1, 100);
    } else {
      return close(connection.id, false);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    SeenRequest& request = requests_[static_cast<size_t>(connection.request)];
    request.sent_ns.push_back(stamp);
    if (is_last) {
      request.is_answered = true;
      --open_requests_;
    }
  }
  if (is_last) {
    connection.request = -1;
    connection.idle_since_ns = stamp;
  }
  if (step.after != After::kNothing) return close(connection.id, step.after == After::kReset);
  if (is_last && !connection.received.empty()) begin_answer(connection);
}

void ScriptedEndpoint::close(int64_t id, bool is_reset) {
  Connection& connection = open_.at(id);
  if (is_reset) {
    const linger now{1, 0};
    ::setsockopt(connection.socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }
  SeenRequest gone;
  const bool has_left = connection.request >= 0;
  if (has_left) {
    const std::lock_guard lock(mutex_);
    SeenRequest& request = requests_[static_cast<size_t>(connection.request)];
    if (connection.next < connection.steps.size() && !is_reset) request.left_ns = now_ns();
    --open_requests_;
    gone = request;
  }
  ::close(connection.socket);
  open_.erase(id);
  if (has_left && gone.left_ns != 0 && options_.left) options_.left(gone);
}

void ScriptedEndpoint::close_idle() {
  const int64_t before = now_ns() - static_cast<int64_t>(options_.idle_close_ms * 1e6);
  std::vector<int64_t> idle;
  for (const auto& [id, connection] : open_) {
    if (connection.request < 0 && connection.idle_since_ns < before) idle.push_back(id);
  }
  for (const int64_t id : idle) close(id, false);
}

}  // namespace pawl::tests
