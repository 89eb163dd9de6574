// SPDX-License-Identifier: Apache-2.0
// libcurl's multi interface in its socket form: epoll says which sockets are ready, so a round
// costs what is ready and not what is open.
#include "lab/http_loop.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "lab/curl_library.h"
#include "lab/header_line.h"
#include "lab/http_transfer.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kLimitCheckNs = 20 * kNsPerMs;

}  // namespace

std::string_view AnswerHead::find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (is_same_word(key, name)) return value;
  }
  return {};
}

class HttpLoop::State {
 public:
  State(const CurlLibrary& curl, const base::Clock& clock) : curl_(curl), clock_(clock) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    for (auto& [id, transfer] : transfers_) release(*transfer);
    if (multi_ != nullptr) curl_.multi_cleanup(multi_);
    if (epoll_ >= 0) ::close(epoll_);
  }

  bool open() {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    multi_ = curl_.multi_init();
    if (epoll_ < 0 || multi_ == nullptr) return false;
    curl_.multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &State::on_socket);
    curl_.multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_.multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &State::on_timer);
    curl_.multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    // Connections that wait for their next request; there is no limit on those in use.
    curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 16'384L);
    return true;
  }

  Id start(HttpRequest request, HttpReader reader) {
    auto transfer = std::make_unique<Transfer>();
    transfer->id = ++last_id_;
    transfer->request = std::move(request);
    transfer->reader = std::move(reader);
    transfer->clock = &clock_;
    transfer->round = &round_;
    transfer->curl = &curl_;
    transfer->started_ns = clock_.now_ns();
    transfer->easy = curl_.easy_init();
    Transfer& placed = *transfer;
    transfers_.emplace(placed.id, std::move(transfer));
    if (placed.easy == nullptr) {
      finish(placed, FailureKind::kConnect, "no memory for a connection");
      return placed.id;
    }
    configure(placed);
    curl_.multi_add_handle(multi_, placed.easy);
    return placed.id;
  }

  void cancel(Id id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end() || found->second->is_over) return;
    found->second->end.is_ours = true;
    finish(*found->second, FailureKind::kNone, "");
  }

  void run(int64_t until_ns) {
    for (;;) {
      if (touched_.empty()) wait(until_ns);
      ++round_;
      act();
      collect_ends();
      check_limits();
      if (give()) return;
      if (clock_.now_ns() >= until_ns) return;
    }
  }

  int64_t in_flight() const { return static_cast<int64_t>(transfers_.size()); }

 private:
  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
    const int epoll = static_cast<State*>(self)->epoll_;
    if (what == CURL_POLL_REMOVE) {
      ::epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
      return 0;
    }
    epoll_event event{};
    event.data.fd = socket;
    event.events =
        ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U);
    if (::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0) {
      ::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
    }
    return 0;
  }

  static int on_timer(CURLM*, long timeout_ms, void* self) {
    auto* state = static_cast<State*>(self);
    state->timer_ns_.reset();
    if (timeout_ms >= 0) state->timer_ns_ = state->clock_.now_ns() + timeout_ms * kNsPerMs;
    return 0;
  }

  void wait(int64_t until_ns) {
    int64_t due = until_ns;
    if (timer_ns_) due = std::min(due, *timer_ns_);
    if (!transfers_.empty()) due = std::min(due, next_check_ns_);
    const int64_t left = std::max<int64_t>(0, due - clock_.now_ns());
    const timespec patience{left / 1'000'000'000, left % 1'000'000'000};
    pollfd ready{epoll_, POLLIN, 0};
    ::ppoll(&ready, 1, &patience, nullptr);
  }

  // Every socket that is ready is read before any reader hears of it.
  void act() {
    int running = 0;
    if (timer_ns_ && clock_.now_ns() >= *timer_ns_) {
      timer_ns_.reset();
      curl_.multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    std::array<epoll_event, 1024> events;
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      int mask = 0;
      if ((event.events & (EPOLLIN | EPOLLHUP)) != 0) mask |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
      if ((event.events & EPOLLERR) != 0) mask |= CURL_CSELECT_ERR;
      curl_.multi_socket_action(multi_, event.data.fd, mask, &running);
    }
    for (auto& [id, transfer] : transfers_) {
      if (transfer->last_round == round_) touch(*transfer);
    }
  }

  void collect_ends() {
    int queued = 0;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &queued)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      const CURLcode code = message->data.result;
      const char* const why = transfer->why.data();
      const FailureKind kind = failure_of(code, *transfer);
      finish(*transfer, kind,
             code == CURLE_OK ? "" : (*why != '\0' ? why : curl_.easy_strerror(code)));
    }
  }

  void check_limits() {
    const int64_t now = clock_.now_ns();
    if (now < next_check_ns_) return;
    next_check_ns_ = now + kLimitCheckNs;
    for (auto& [id, transfer] : transfers_) {
      if (transfer->is_over) continue;
      if (const auto passed = passed_limit(*transfer, now)) {
        finish(*transfer, passed->first, passed->second);
      }
    }
  }

  // The transfer is over; its reader hears of it in give().
  void finish(Transfer& transfer, FailureKind failure, std::string reason) {
    if (transfer.easy != nullptr && transfer.sendings > 0) {
      long connections = 0;
      curl_.easy_getinfo(transfer.easy, CURLINFO_NUM_CONNECTS, &connections);
      transfer.end.is_connection_reused = connections == 0;
    }
    release(transfer);
    transfer.end.failure = failure;
    transfer.end.reason = std::move(reason);
    transfer.end.closed_ns = clock_.now_ns();
    transfer.end.fresh_retries = std::max(0, transfer.sendings - 1);
    transfer.is_over = true;
    touch(transfer);
  }

  // Of a transfer that runs this closes the connection.
  void release(Transfer& transfer) {
    if (transfer.easy != nullptr) {
      curl_.multi_remove_handle(multi_, transfer.easy);
      curl_.easy_cleanup(transfer.easy);
      transfer.easy = nullptr;
    }
    curl_.slist_free_all(transfer.headers);
    transfer.headers = nullptr;
  }

  void touch(Transfer& transfer) {
    if (transfer.is_touched) return;
    transfer.is_touched = true;
    touched_.push_back(transfer.id);
  }

  // True when a reader was called. Readers may start and cancel: what they touch is for the next
  // round.
  bool give() {
    bool was_any = false;
    const std::vector<Id> ids = std::exchange(touched_, {});
    for (const Id id : ids) {
      Transfer& transfer = *transfers_.at(id);
      transfer.is_touched = false;
      was_any = give_one(transfer) || was_any;
      if (transfer.is_over && !transfer.is_touched) transfers_.erase(id);
    }
    return was_any;
  }

  bool give_one(Transfer& transfer) {
    if (!transfer.is_head_given && transfer.is_head_whole) {
      transfer.is_head_given = true;
      if (transfer.reader.head) transfer.reader.head(transfer.head);
    }
    const std::string received = std::exchange(transfer.received, {});
    const std::vector<Piece> pieces = std::exchange(transfer.pieces, {});
    size_t at = 0;
    for (const Piece& piece : pieces) {
      if (transfer.reader.bytes) {
        transfer.reader.bytes(std::string_view(received).substr(at, piece.bytes), piece.stamp);
      }
      at += piece.bytes;
    }
    // A reader that left just now is told in the next round.
    const bool ends = transfer.is_over && !transfer.is_touched;
    if (ends && transfer.reader.end) transfer.reader.end(transfer.end);
    return ends || !pieces.empty();
  }

  const CurlLibrary& curl_;
  const base::Clock& clock_;
  CURLM* multi_ = nullptr;
  int epoll_ = -1;
  std::map<Id, std::unique_ptr<Transfer>> transfers_;
  std::vector<Id> touched_;
  Id last_id_ = 0;
  int64_t round_ = 0;
  int64_t next_check_ns_ = 0;
  std::optional<int64_t> timer_ns_;
};

HttpLoop::HttpLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpLoop::HttpLoop(HttpLoop&&) noexcept = default;
HttpLoop::~HttpLoop() = default;

Result<HttpLoop> HttpLoop::create(const base::Clock& clock) {
  PAWL_TRY(const CurlLibrary* const curl, curl_library());
  auto state = std::make_unique<State>(*curl, clock);
  if (!state->open()) return Error{ErrorCode::kOutOfMemory, "no memory for connections", ""};
  return HttpLoop(std::move(state));
}

HttpLoop::Id HttpLoop::start(HttpRequest request, HttpReader reader) {
  return state_->start(std::move(request), std::move(reader));
}
void HttpLoop::cancel(Id id) {
  state_->cancel(id);
}
void HttpLoop::run(int64_t until_ns) {
  state_->run(until_ns);
}
int64_t HttpLoop::in_flight() const {
  return state_->in_flight();
}

}  // namespace pawl::lab
