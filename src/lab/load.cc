// SPDX-License-Identifier: Apache-2.0
#include "lab/load.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>

#include "lab/stats.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int64_t kTickNs = 10'000'000;
constexpr double kNsPerMs = 1e6;

int64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

// Raises this process's limit of open files where that is allowed: a connection is one.
Result<void> allow_connections(int64_t wanted, bool is_needed) {
  constexpr int64_t kOthers = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const auto files = static_cast<rlim_t>(wanted + kOthers);
  if (limit.rlim_cur >= files) return {};
  const rlim_t hard = limit.rlim_max;
  limit.rlim_cur = std::min(files, hard);
  const bool is_raised = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (is_needed && (!is_raised || hard < files)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} connections at once need {} open files, and {} are allowed",
                             wanted, files, hard),
                 "concurrency"};
  }
  return {};
}

// One run. The thread ticks: what is late for a tick would be late for a stamp.
class LoadRun {
 public:
  LoadRun(OpenAiClient& client, const LoadPlan& plan, const base::Clock& clock,
          const LoadEvents& events)
      : client_(client), plan_(plan), clock_(clock), events_(events) {}

  Result<LoadResult> run() {
    PAWL_TRY_VOID(allow_connections(plan_.max_in_flight.value_or(plan_.requests),
                                    plan_.max_in_flight.has_value()));
    PAWL_TRY_VOID(prepare());
    const int64_t cpu_ns = thread_cpu_ns();
    result_.started_ns = clock_.now_ns();
    tick_ns_ = result_.started_ns + kTickNs;
    while (next_ < questions_.size() || client_.in_flight() > 0) {
      if (events_.should_stop && events_.should_stop()) leave_all();
      tick();
      send_due();
      client_.run(wake_ns());
      PAWL_TRY_VOID(take_records());
    }
    result_.ended_ns = clock_.now_ns();
    result_.client.cpu_share =
        static_cast<double>(thread_cpu_ns() - cpu_ns) /
        std::max(1.0, static_cast<double>(result_.ended_ns - result_.started_ns));
    return std::move(result_);
  }

 private:
  // Before the clock runs: making a prompt may take requests of its own.
  Result<void> prepare() {
    for (int64_t i = 0; i < plan_.requests; ++i) {
      if (plan_.arrivals != nullptr) {
        const auto offset = plan_.arrivals->next_ns();
        if (!offset) break;
        offsets_ns_.push_back(*offset);
      }
      PAWL_TRY(Question question, plan_.question(i));
      questions_.push_back(std::move(question));
      if (events_.should_stop && events_.should_stop()) break;
    }
    return {};
  }

  void tick() {
    const int64_t now = clock_.now_ns();
    if (now < tick_ns_) return;
    result_.client.wake_late_ms.push_back(static_cast<double>(now - tick_ns_) / kNsPerMs);
    tick_ns_ = now + kTickNs;
  }

  bool has_place() const {
    return !plan_.max_in_flight || client_.in_flight() < *plan_.max_in_flight;
  }
  bool is_open_loop() const { return plan_.arrivals != nullptr; }
  int64_t due_ns() const { return result_.started_ns + offsets_ns_[next_]; }

  void send_due() {
    while (next_ < questions_.size()) {
      const int64_t now = clock_.now_ns();
      if (is_open_loop() && due_ns() > now) return;
      if (!has_place()) {
        last_full_ns_ = now;
        return;
      }
      Question& question = questions_[next_];
      if (is_open_loop()) {
        question.scheduled_ns = due_ns();
        if (due_ns() < last_full_ns_) {
          ++result_.client.held_by_cap;
        } else {
          result_.client.send_late_ms.push_back(static_cast<double>(now - due_ns()) / kNsPerMs);
        }
      }
      client_.ask(std::move(question));
      ++next_;
      result_.most_in_flight = std::max(result_.most_in_flight, client_.in_flight());
    }
  }

  int64_t wake_ns() const {
    if (!is_open_loop() || next_ == questions_.size()) return tick_ns_;
    // What is due and has no place waits for an answer's end.
    const bool has_to_wait = due_ns() <= clock_.now_ns() && !has_place();
    return has_to_wait ? tick_ns_ : std::min(tick_ns_, due_ns());
  }

  Result<void> take_records() {
    for (RequestRecord& record : client_.take_finished()) {
      if (events_.record) PAWL_TRY_VOID(events_.record(record));
      result_.records.push_back(std::move(record));
    }
    return {};
  }

  void leave_all() {
    questions_.resize(next_);
    client_.leave_all();
  }

  OpenAiClient& client_;
  const LoadPlan& plan_;
  const base::Clock& clock_;
  const LoadEvents& events_;
  std::vector<Question> questions_;
  std::vector<int64_t> offsets_ns_;
  size_t next_ = 0;
  int64_t last_full_ns_ = 0;  // when one was due last and found no place
  int64_t tick_ns_ = 0;
  LoadResult result_;
};

}  // namespace

Result<LoadResult> run_load(OpenAiClient& client, const LoadPlan& plan, const base::Clock& clock,
                            const LoadEvents& events) {
  return LoadRun(client, plan, clock, events).run();
}

std::optional<std::string> client_fault(const ClientWatch& watch) {
  const auto p99 = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : percentile(values, 99);
  };
  const double wake = p99(watch.wake_late_ms), send = p99(watch.send_late_ms);
  if (wake > kLateLimitMs) {
    return fmt::format("void: this process came late to its own work, p99 {:.1f} ms", wake);
  }
  if (send > kLateLimitMs) {
    return fmt::format("void: requests were sent late by the client, p99 {:.1f} ms", send);
  }
  if (watch.cpu_share > kCpuLimit) {
    return fmt::format("void: the client used {:.0f} % of a processor", watch.cpu_share * 100);
  }
  return std::nullopt;
}

}  // namespace pawl::lab
