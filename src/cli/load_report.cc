// SPDX-License-Identifier: Apache-2.0
#include "cli/load_report.h"

#include <fmt/format.h>

#include "cli/sweep_report.h"
#include "cli/text_table.h"

namespace pawl::cli {

using base::Json;

namespace {

std::string number(const Json* value, int decimals = 1) {
  const auto read = value != nullptr ? value->to_double() : std::nullopt;
  return read ? fmt::format("{:.{}f}", *read, decimals) : "-";
}

void put_row(TextTable& table, const Json& from, const Json& samples, std::string_view title,
             std::string_view name) {
  const auto at = [&](std::string_view statistic) {
    return number(from.find(fmt::format("{}_{}_ms", statistic, name)));
  };
  const Json* const sample = samples.find(name);
  const Json* const n = sample != nullptr ? sample->find("n") : nullptr;
  const Json* const few = sample != nullptr ? sample->find("p99_of_few") : nullptr;
  const bool is_few = few != nullptr && few->to_bool() == true;
  table.rows.push_back({std::string(title), number(n, 0), at("mean"), at("median"), at("p90"),
                        at("p95"), at("p99") + (is_few ? " *" : "")});
}

void print_times(const Json& document, bool has_schedule) {
  TextTable table;
  table.columns = {{"ms", false}, {"n", true},   {"mean", true}, {"median", true},
                   {"p90", true}, {"p95", true}, {"p99", true}};
  const Json& samples = *document.find("samples");
  put_row(table, document, samples, "first text", "ttft");
  put_row(table, document, samples, "token to token", "itl");
  put_row(table, document, samples, "per output token", "tpot");
  put_row(table, document, samples, "last text", "e2el");
  if (has_schedule) {
    const Json& scheduled = *document.find("scheduled");
    put_row(table, scheduled, samples, "first text, from the schedule", "ttft");
    put_row(table, scheduled, samples, "last text, from the schedule", "e2el");
  }
  fmt::print("{}* of fewer than 100 values\n\n", table_text(table));
}

void print_states(const lab::LoadResult& result) {
  const lab::StateCounts counts = lab::count_states(result.records);
  fmt::print("{} sent: {} succeeded, {} failed, {} cut off, {} left by us", counts.sent,
             counts.success, counts.failed, counts.truncated, counts.cancelled);
  if (counts.empty > 0) fmt::print("; {} without any text", counts.empty);
  if (counts.no_answer_budget > 0) {
    fmt::print("; {} had no answer: thinking took all of their tokens", counts.no_answer_budget);
  }
  fmt::print("\n");
}

}  // namespace

void print_load(const lab::LoadResult& result, const lab::Conditions& conditions,
                const std::optional<lab::Goodput>& goodput,
                const std::vector<lab::LoadLimit>& limits) {
  const Json document = lab::load_json(result, conditions, goodput, limits);
  fmt::print("{}\n\n", shown_conditions(conditions));
  const lab::LoadWindow window = lab::window_of(result);
  print_states(result);
  fmt::print(
      "sent in {:.2f} s ({} per second), the last answer {:.2f} s later; at most {} at once\n",
      window.send_s, window.send_rate ? fmt::format("{:.3g}", *window.send_rate) : "-",
      window.drain_s, result.most_in_flight);
  fmt::print("{} answers and {} output tokens per second over all of it\n",
             number(document.find("request_throughput"), 2),
             number(document.find("output_throughput")));
  if (goodput) {
    fmt::print("{} answers per second kept every limit\n",
               number(document.find("request_goodput"), 2));
  }
  fmt::print("\n");
  print_times(document, !result.records.empty() && result.records.front().scheduled_ns);
  for (const lab::LimitVerdict& verdict : lab::judge_limits(result, limits)) {
    const std::string_view mark = !verdict.holds ? "?" : *verdict.holds ? "✓" : "✗";
    fmt::print("{} {} p{:g} {} ms, limit {:g} ms, n = {}\n", mark, verdict.limit.name,
               verdict.limit.percent,
               verdict.value_ms
                   ? fmt::format("{:.1f}", *verdict.value_ms)
                   : std::string(verdict.holds ? "never: requests failed" : "no value,"),
               verdict.limit.limit_ms, verdict.n);
  }
  if (const auto fault = lab::client_fault(result.client)) fmt::print("✗ {}\n", *fault);
}

}  // namespace pawl::cli
