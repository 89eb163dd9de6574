// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_report.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "cli/terminal.h"
#include "cli/text_table.h"
#include "lab/stats.h"

namespace pawl::cli {

namespace {

// Told elsewhere of prompt tokens for one output token, for a sanity check.
constexpr double kCpuLow = 1.5, kCpuHigh = 15, kCloudLow = 60, kCloudHigh = 250;

std::string_view mark_of(const lab::Verdict& verdict) {
  if (verdict.finding == lab::Finding::kClear) return "✓";
  if (verdict.finding == lab::Finding::kUnclear) return "?";
  return verdict.voids_split ? "✗" : "!";
}

void print_shapes(const lab::SweepResult& result) {
  std::map<std::tuple<std::string, int64_t, int64_t>, std::vector<const lab::Point*>> shapes;
  for (const lab::Point& point : result.points) {
    shapes[{point.arm, point.prompt_asked, point.output_asked}].push_back(&point);
  }
  TextTable table;
  table.columns = {{"arm", false},   {"prompt", true},  {"output", true},       {"n", true},
                   {"got", true},    {"TTFT ms", true}, {"per token ms", true}, {"end ms", true},
                   {"fit ms", true}, {"residual", true}};
  for (const auto& [key, members] : shapes) {
    std::vector<double> first, token, end;
    double prompt = 0, output = 0;
    for (const lab::Point* point : members) {
      first.push_back(point->ttft_ms);
      end.push_back(point->e2e_ms);
      if (point->tpot_ms) token.push_back(*point->tpot_ms);
      prompt += static_cast<double>(point->prompt) / static_cast<double>(members.size());
      output += static_cast<double>(point->output) / static_cast<double>(members.size());
    }
    std::string fit = "-", residual = "-";
    if (result.split.is_usable()) {
      const double expected = result.split.mean_request_ms(prompt, output).value;
      fit = fmt::format("{:.1f}", expected);
      residual = fmt::format("{:+.1f} %", 100 * (lab::mean_of(end) / expected - 1));
    }
    table.rows.push_back({std::get<0>(key), grouped(std::get<1>(key)), grouped(std::get<2>(key)),
                          std::to_string(members.size()),
                          fmt::format("{:.0f}/{:.0f}", prompt, output),
                          fmt::format("{:.1f}", lab::median_of(first)),
                          token.empty() ? "-" : fmt::format("{:.2f}", lab::median_of(token)),
                          fmt::format("{:.1f}", lab::median_of(end)), fit, residual});
  }
  fmt::print("{}", table_text(table));
}

void print_fit(const lab::Split& split) {
  for (const lab::Symptom& symptom : split.symptoms()) {
    fmt::print("{} {}: {}\n", symptom.refuses ? "✗" : "!", lab::symptom_name(symptom.kind),
               symptom.text);
  }
  if (!split.is_usable()) {
    fmt::print("no fit is given\n");
    return;
  }
  const lab::Interval prompts = split.prompt_range();
  fmt::print("time to first token   {} ms + {} ms per prompt token",
             shown_estimate(split.start_up_coefficient(0)),
             shown_estimate(split.start_up_coefficient(1)));
  if (split.start_up()->coefficient(2) != 0) {
    fmt::print(" + {} ns per square",
               shown_estimate({split.start_up_coefficient(2).value * 1e6,
                               {split.start_up_coefficient(2).interval.low * 1e6,
                                split.start_up_coefficient(2).interval.high * 1e6}}));
  }
  fmt::print("\ntime per output token {} ms", shown_estimate(split.per_token_coefficient(0)));
  if (split.per_token()->coefficient(1) != 0) {
    fmt::print(" + {} µs per token of context",
               shown_estimate({split.per_token_coefficient(1).value * 1e3,
                               {split.per_token_coefficient(1).interval.low * 1e3,
                                split.per_token_coefficient(1).interval.high * 1e3}}));
  }
  fmt::print("\nR² {:.4f} and {:.4f}, which prove nothing alone\n\n", split.start_up()->r2,
             split.per_token()->r2);
  for (const double prompt : {prompts.low, prompts.high}) {
    fmt::print(
        "one output token takes as long as {} prompt tokens, at a prompt and context of {:.0f}\n",
        shown_estimate(split.exchange_rate(prompt, prompt)), prompt);
  }
  fmt::print("  told elsewhere: {} to {} on CPUs, {} to {} of data-centre services\n", kCpuLow,
             kCpuHigh, kCloudLow, kCloudHigh);
}

}  // namespace

std::string shown_estimate(const lab::Estimate& estimate, int digits) {
  return fmt::format("{:.{}g} ({:.{}g} to {:.{}g})", estimate.value, digits, estimate.interval.low,
                     digits, estimate.interval.high, digits);
}

std::string shown_conditions(const lab::Conditions& conditions) {
  const auto known = [](const std::string& text) { return text.empty() ? "not known" : text; };
  return fmt::format(
      "{} on {} {} at {} · machine {} · {} at once · {} · prompts {} · {}",
      known(conditions.answered_model.empty() ? conditions.model : conditions.answered_model),
      known(conditions.server), conditions.server_version, conditions.endpoint,
      known(conditions.server_machine), conditions.concurrency.value_or(1), conditions.cache,
      conditions.prompt_counting, conditions.date);
}

void print_sweep(const lab::SweepResult& result) {
  fmt::print("{}\n\n", shown_conditions(result.profile.conditions));
  print_shapes(result);
  if (result.failed > 0) fmt::print("{} of {} requests failed\n", result.failed, result.requests);
  fmt::print("\n");
  print_fit(result.split);
  fmt::print("\n");
  if (result.held_out) {
    fmt::print(
        "held out: {} requests with both long, {:.1f} % off in the median, {} inside their 95 % "
        "interval\n",
        result.held_out->n, 100 * result.held_out->median_error, result.held_out->covered);
  }
  if (result.streaming) {
    const lab::Streaming& streaming = *result.streaming;
    fmt::print(
        "{} streaming: first text after {}, the end after {} streamed and {} not ({} times)\n",
        !streaming.holds
            ? "✗"
            : (streaming.ratio.interval.high - streaming.ratio.interval.low > 0.5 ? "?" : "✓"),
        streaming.streamed_first_ms < 1000
            ? fmt::format("{:.1f} ms", streaming.streamed_first_ms)
            : fmt::format("{:.2f} s", streaming.streamed_first_ms / 1000),
        fmt::format("{:.1f} ms", streaming.streamed_end_ms),
        fmt::format("{:.1f} ms", streaming.whole_end_ms), shown_estimate(streaming.ratio));
  }
  if (result.probe) fmt::print("  cache of the server: {}\n", result.probe->text);
  for (const lab::Verdict& verdict : result.verdicts) {
    fmt::print("{} {:15} {:11} {}\n", mark_of(verdict), verdict.name,
               lab::finding_name(verdict.finding), verdict.text);
  }
  fmt::print("\n");
  if (result.profile.void_because.empty()) {
    fmt::print("holds  start-up and tail are two clocks here\n");
  } else {
    fmt::print("void   {}\n", result.profile.void_because.front());
  }
}

}  // namespace pawl::cli
