// SPDX-License-Identifier: Apache-2.0
// What the lab's tests share: a question to a scripted answer, and comparisons of times that a busy
// machine may disturb but a wrong definition cannot pass.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lab/openai_client.h"
#include "lab/record.h"
#include "support/scripted_endpoint.h"
#include "support/sse_script.h"

namespace pawl::lab::testing {

inline constexpr bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

// Processor time of this thread.
inline int64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

inline Endpoint endpoint_at(const std::string& url) {
  auto endpoint = make_endpoint(url, "PAWL_TEST_NO_SUCH_KEY");
  EXPECT_TRUE(endpoint.ok());
  endpoint->model = "m";
  return *endpoint;
}

inline std::unique_ptr<OpenAiClient> client_at(const std::string& url, HttpLimits limits = {}) {
  static const base::SteadyClock clock;
  Endpoint endpoint = endpoint_at(url);
  endpoint.limits = limits;
  auto client = OpenAiClient::create(endpoint, clock);
  EXPECT_TRUE(client.ok());
  return std::move(client).value();
}

inline Question question(std::string prompt = "Say hi") {
  Question asked;
  asked.prompt = std::move(prompt);
  asked.keeps_text = true;
  return asked;
}

// One question, one scripted answer; what both sides saw of it.
struct Exchange {
  RequestRecord record;
  tests::SeenRequest seen;
  // Milliseconds from the request to step `i`, by the endpoint's log.
  double sent_ms(size_t i) const {
    return static_cast<double>(seen.sent_ns.at(i) - seen.received_ns) / 1e6;
  }
  double lateness_ms = 0;  // of the endpoint itself: sent behind the script, the most
};
inline Exchange exchange(const std::vector<tests::Step>& steps, Question asked = question(),
                         HttpLimits limits = {}) {
  tests::ScriptedEndpoint server([&](const tests::SeenRequest&) { return steps; });
  Exchange both;
  both.record = client_at(server.url(), limits)->ask_alone(std::move(asked));
  both.seen = server.requests().at(0);
  for (size_t i = 0; i < both.seen.sent_ns.size(); ++i) {
    both.lateness_ms = std::max(both.lateness_ms, both.sent_ms(i) - steps[i].at_ms);
  }
  return both;
}

// A time that was measured beside what it should be, both in ms.
struct Compared {
  std::string name;
  std::optional<double> measured;
  double expected = 0;
  double tolerance = 2;
};

// Measures up to five times and is content with once: another process may take the processor for
// a while, but a wrong definition is wrong each time. Prints the last. Nothing under sanitizers.
inline void expect_times(const std::function<std::vector<Compared>()>& measure) {
  if (is_sanitized()) {
    measure();
    return;
  }
  std::vector<Compared> last;
  const auto holds = [](const Compared& one) {
    return one.measured && std::abs(*one.measured - one.expected) <= one.tolerance;
  };
  for (int turn = 0; turn < 5; ++turn) {
    last = measure();
    if (std::all_of(last.begin(), last.end(), holds)) break;
  }
  for (const Compared& one : last) {
    fmt::print("    {:24} {:9.3f} ms, expected {:9.3f} ± {}\n", one.name,
               one.measured.value_or(std::nan("")), one.expected, one.tolerance);
    EXPECT_TRUE(holds(one)) << one.name;
  }
}

}  // namespace pawl::lab::testing
