// SPDX-License-Identifier: Apache-2.0
// The text format is that of Prometheus' "exposition formats" page, version 0.0.4.
#include "server/metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace pawl::server {
namespace {

const BuildInfo kBuild = {"1.2.3", "a \"quoted\"\nmodel", "avx2"};
const engine::EngineStats kBusy = {
    .running = 3,
    .waiting = 2,
    .kv_blocks = 100,
    .kv_blocks_free = 50,
    .kv_blocks_evictable = 25,
    .prefix_queried_tokens = 900,
    .prefix_hit_tokens = 300,
    .steps = 77,
    .prompt_tokens = 1000,
    .completion_tokens = 100,
    .computed_tokens = 800,
    .preemptions = 4,
    .largest = {.found = 60, .fell_back = 2, .not_tried = 3, .exact_rows = 960}};

// The samples of a page, name with labels → value as written.
std::map<std::string, std::string> samples_of(const std::string& page) {
  std::map<std::string, std::string> samples;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.rfind(' ');
    EXPECT_NE(space, std::string::npos) << line;
    EXPECT_TRUE(samples.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
  }
  return samples;
}

double value_of(const std::string& page, const std::string& name) {
  const auto samples = samples_of(page);
  const auto found = samples.find(name);
  EXPECT_NE(found, samples.end()) << name << " is not in\n" << page;
  return found == samples.end() ? -1 : std::stod(found->second);
}

LedgerRow over(RowState state, CancelCause cause = CancelCause::kNone) {
  LedgerRow row;
  row.prompt_tokens = 107;
  row.cached_tokens = 64;
  row.completion_tokens = 22;
  row.forced_tokens = 3;
  row.accepted_draft_tokens = 4;
  row.delivered_tokens = 20;
  row.queue_ms = 0.5;
  row.prefill_ms = 180;
  row.decode_ms = 400;
  row.total_ms = 581;
  row.state = state;
  row.cause = cause;
  return row;
}

TEST(Metrics, S065_ReadingChangesNothingAndIdleGaugesAreZero) {
  Metrics metrics(kBuild);
  for (int i = 0; i < 100; ++i) metrics.observe_ns(Latency::kInterToken, 19'000'000);
  metrics.count_finished(over(RowState::kStop));
  const engine::EngineStats idle = {.kv_blocks = 100, .kv_blocks_free = 100, .steps = 100};
  const std::string first = metrics.render(idle, {});
  std::vector<std::thread> readers;
  std::atomic<int> equal = 0;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int n = 0; n < 10; ++n) equal += metrics.render(idle, {}) == first ? 1 : 0;
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(equal, 40);
  EXPECT_EQ(value_of(first, "pawl_num_requests_running"), 0);
  EXPECT_EQ(value_of(first, "pawl_num_requests_waiting"), 0);
  EXPECT_EQ(value_of(first, "pawl_kv_cache_usage_perc"), 0);
  EXPECT_EQ(value_of(first, "pawl_inter_token_latency_seconds_count"), 100);
}

TEST(Metrics, CountsFromManyThreadsAreExact) {
  Metrics metrics(kBuild);
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        metrics.observe_ns(Latency::kTimeToFirstToken, 1'000'000'000);
        metrics.count_response("/health", 200);
        metrics.count_finished(over(RowState::kLength));
        if (n % 100 == 0) metrics.render({}, {});
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string page = metrics.render({}, {});
  EXPECT_EQ(value_of(page, "pawl_time_to_first_token_seconds_count"), 2000);
  EXPECT_EQ(value_of(page, "pawl_time_to_first_token_seconds_sum"), 2000);
  EXPECT_EQ(value_of(page, "pawl_http_responses_total{code=\"200\",route=\"/health\"}"), 2000);
  EXPECT_EQ(value_of(page, "pawl_requests_finished_total{finished_reason=\"length\"}"), 2000);
}

TEST(Metrics, TheEngineIsShownAsItStands) {
  Metrics metrics(kBuild);
  const std::string page = metrics.render(kBusy, {.connections = 7, .ledger_rows_waiting = 1});
  EXPECT_EQ(value_of(page, "pawl_num_requests_running"), 3);
  EXPECT_EQ(value_of(page, "pawl_num_requests_waiting"), 2);
  EXPECT_EQ(value_of(page, "pawl_kv_blocks_used"), 25);  // 100 - 50 free - 25 only cached
  EXPECT_EQ(value_of(page, "pawl_kv_blocks_cached"), 25);
  EXPECT_EQ(value_of(page, "pawl_kv_cache_usage_perc"), 0.25);
  EXPECT_EQ(value_of(page, "pawl_prefix_cache_queries_total"), 900);
  EXPECT_EQ(value_of(page, "pawl_prefix_cache_hits_total"), 300);
  EXPECT_EQ(value_of(page, "pawl_prompt_tokens_total"), 1000);
  EXPECT_EQ(value_of(page, "pawl_computed_tokens_total"), 800);
  EXPECT_EQ(value_of(page, "pawl_generation_tokens_total"), 100);
  EXPECT_EQ(value_of(page, "pawl_num_preemptions_total"), 4);
  EXPECT_EQ(value_of(page, "pawl_engine_steps_total"), 77);
  EXPECT_EQ(value_of(page, "pawl_greedy_shortcuts_total"), 60);
  EXPECT_EQ(value_of(page, "pawl_greedy_fallbacks_total"), 5);
  EXPECT_EQ(value_of(page, "pawl_greedy_exact_logits_total"), 960);
  EXPECT_EQ(value_of(page, "pawl_http_connections"), 7);
  EXPECT_EQ(value_of(page, "pawl_ledger_rows_waiting"), 1);
}

TEST(Metrics, CancelledRequestsAreCountedAndStayOutOfTheLatencies) {
  Metrics metrics(kBuild);
  metrics.count_finished(over(RowState::kStop));
  LedgerRow queued = over(RowState::kCancelled, CancelCause::kClientClosed);
  queued.completion_tokens = queued.delivered_tokens = 0;
  queued.queue_ms = queued.prefill_ms = queued.decode_ms = std::nullopt;
  metrics.count_finished(queued);
  metrics.count_finished(over(RowState::kCancelled, CancelCause::kClientClosed));
  const std::string page = metrics.render({}, {});
  EXPECT_EQ(value_of(page, "pawl_requests_finished_total{finished_reason=\"stop\"}"), 1);
  EXPECT_EQ(value_of(page, "pawl_requests_finished_total{finished_reason=\"cancelled\"}"), 2);
  EXPECT_EQ(value_of(page, "pawl_requests_cancelled_total{cause=\"client_closed\"}"), 2);
  EXPECT_EQ(value_of(page, "pawl_requests_cancelled_total{cause=\"deadline\"}"), 0);
  EXPECT_EQ(value_of(page, "pawl_generation_tokens_cancelled_total"), 22);
  EXPECT_EQ(value_of(page, "pawl_generation_tokens_undelivered_total"), 4);
  EXPECT_EQ(value_of(page, "pawl_request_queue_time_seconds_count"), 2);
  EXPECT_EQ(value_of(page, "pawl_request_prefill_time_seconds_count"), 2);
  EXPECT_EQ(value_of(page, "pawl_e2e_request_latency_seconds_count"), 1);
  EXPECT_EQ(value_of(page, "pawl_request_generation_tokens_count"), 1);
  EXPECT_EQ(value_of(page, "pawl_request_prompt_tokens_count"), 3);
  EXPECT_DOUBLE_EQ(value_of(page, "pawl_e2e_request_latency_seconds_sum"), 0.581);
}

TEST(Metrics, StepsAreMeasured) {
  Metrics metrics(kBuild);
  const std::vector<base::TokenId> prompt(40), token(1);
  std::vector<engine::StepRow> rows(2);
  rows[0].inputs = prompt;
  rows[1].inputs = token;
  metrics.step_observer()->on_step(
      {.step = 0, .forward_ns = 28'000'000, .policy_ns = 2'000'000, .rows = rows});
  const std::string page = metrics.render({}, {});
  EXPECT_DOUBLE_EQ(value_of(page, "pawl_engine_step_time_seconds_sum"), 0.03);
  EXPECT_EQ(value_of(page, "pawl_iteration_tokens_total_sum"), 41);
  EXPECT_EQ(value_of(page, "pawl_iteration_tokens_total_bucket{le=\"64\"}"), 1);
  EXPECT_EQ(value_of(page, "pawl_iteration_tokens_total_bucket{le=\"32\"}"), 0);
}

// A page holds each metric of the table, announced as what it is, and no other.
TEST(Metrics, ThePageIsTheTable) {
  Metrics metrics(kBuild);
  metrics.count_response("/v1/requests/{id}", 404);
  const std::string page = metrics.render(kBusy, {});
  std::map<std::string, std::string> kinds, helps;
  std::istringstream lines(page);
  const std::regex sample(
      R"rx(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? [-+0-9.eEInf]+)rx");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, rest;
    words >> hash >> what >> name >> std::ws;
    std::getline(words, rest);
    if (hash != "#") {
      EXPECT_TRUE(std::regex_match(line, sample)) << line;
    } else {
      ASSERT_TRUE((what == "TYPE" ? kinds : helps).emplace(name, rest).second) << line;
    }
  }
  for (const MetricRow& row : metric_table()) {
    EXPECT_EQ(kinds[std::string(row.name)], metric_kind_name(row.kind)) << row.name;
    EXPECT_EQ(helps[std::string(row.name)], row.help) << row.name;
  }
  EXPECT_EQ(kinds.size(), metric_table().size());
  EXPECT_NE(
      page.find(R"(pawl_build_info{isa="avx2",model="a \"quoted\"\nmodel",version="1.2.3"} 1)"),
      std::string::npos)
      << page;
}

TEST(Metrics, EveryMetricIsDocumented) {
  std::ifstream page(PAWL_SOURCE_DIR "/docs/metrics.md");
  ASSERT_TRUE(page) << "docs/metrics.md is not here";
  std::vector<std::string> documented, defined;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `pawl_")) documented.push_back(line);
  }
  for (const MetricRow& row : metric_table()) {
    defined.push_back(fmt::format("| `{}` | {} | {} | {} | {} |", row.name,
                                  metric_kind_name(row.kind), row.unit,
                                  row.labels.empty() ? "-" : row.labels, row.help));
  }
  std::sort(documented.begin(), documented.end());
  std::sort(defined.begin(), defined.end());
  EXPECT_EQ(documented, defined);
}

// The fastest of many rounds: what the machine does beside it is not the code's.
double fastest_ns(int rounds, const std::function<void()>& work) {
  const base::SteadyClock clock;
  int64_t best = INT64_MAX;
  for (int i = 0; i < rounds; ++i) {
    const int64_t start = clock.now_ns();
    work();
    best = std::min(best, clock.now_ns() - start);
  }
  return static_cast<double>(best);
}

TEST(Metrics, ObservingAndReadingAreCheap) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "times mean nothing under a sanitizer";
#endif
  Metrics metrics(kBuild);
  for (int i = 0; i < 30; ++i) {
    metrics.count_response(fmt::format("/v1/route{}", i), 200);
  }
  const double observe = fastest_ns(50, [&] {
    for (int i = 0; i < 1000; ++i) metrics.observe_ns(Latency::kInterToken, i * 100'000);
  });
  const double read = fastest_ns(20, [&] { metrics.render(kBusy, {}); });
  fmt::print("one observation {:.0f} ns, one page {:.0f} us\n", observe / 1000, read / 1000);
  EXPECT_LT(observe / 1000, 200);
  EXPECT_LT(read, 5e6);
}

}  // namespace
}  // namespace pawl::server
