// SPDX-License-Identifier: Apache-2.0
#include "cli/phases_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal.h"
#include "cli/version.h"

namespace pawl::cli {

using base::Json;
using probe::CostLine;
using probe::Estimate;
using probe::PhaseFigures;
using probe::PhasesRow;

namespace {

double ridge_of(const probe::MachineLimits& limits) {
  return limits.int8_operations_per_s / limits.read_bytes_per_s;
}

Json estimate_json(const Estimate& estimate) {
  Json json;
  json["value"] = estimate.value;
  json["low"] = estimate.interval ? Json(estimate.interval->low) : Json();
  json["high"] = estimate.interval ? Json(estimate.interval->high) : Json();
  return json;
}

Json figures_json(const PhaseFigures& figures) {
  Json json;
  json["tok_s"] = figures.tokens_per_s;
  json["bytes_per_token"] = figures.bytes_per_token;
  json["operations_per_token"] = figures.operations_per_token;
  json["intensity"] = figures.intensity();
  json["GBps"] = figures.bytes_per_s * 1e-9;
  json["GOPS"] = figures.operations_per_s * 1e-9;
  json["of_read"] = estimate_json(figures.of_read);
  json["of_int8"] = estimate_json(figures.of_int8);
  json["doubling"] = estimate_json(figures.doubling);
  json["bound"]["by_roofline"] = probe::bound_name(figures.by_roofline);
  json["bound"]["by_time"] = probe::bound_name(figures.by_time);
  json["bound"]["verdict"] = probe::bound_name(figures.bound);
  return json;
}

Json limits_json(const probe::MachineLimits& limits) {
  Json json;
  json["read_GBps"] = limits.read_bytes_per_s * 1e-9;
  json["int8_GOPS"] = limits.int8_operations_per_s * 1e-9;
  json["ridge"] = ridge_of(limits);
  return json;
}

Json row_json(const PhasesRow& row, const probe::PhasesLength& length) {
  Json json;
  json["prompt"] = row.prompt;
  json["limits"] = limits_json(row.limits);
  json["prefill"] = figures_json(row.prefill);
  json["decode"] = figures_json(row.decode);
  json["prefill_ms"] = estimate_json(row.prefill_ms);
  json["token_ms"]["cached"] = estimate_json(row.decode_ms);
  json["token_ms"]["uncached"] = estimate_json(row.uncached_ms);
  json["exchange"] = estimate_json(row.exchange);
  json["holds"] = row.holds();
  json["rounds"] = Json::array();
  for (const probe::PhasesRound& round : length.rounds) {
    Json sample;
    sample["cores_had"] = round.cores;
    sample["read_GBps"] = round.limits.read_bytes_per_s * 1e-9;
    sample["int8_GOPS"] = round.limits.int8_operations_per_s * 1e-9;
    sample["prefill_ms"] = round.prefill_s * 1e3;
    sample["pass_ms"] = round.pass_s * 1e3;
    sample["half_pass_ms"] = round.half_pass_s * 1e3;
    sample["decode_ms"] = round.decode_s * 1e3;
    sample["double_decode_ms"] = round.double_decode_s * 1e3;
    sample["uncached_ms"] = round.uncached_s * 1e3;
    json["rounds"].push_back(std::move(sample));
  }
  return json;
}

Json line_json(const std::optional<CostLine>& line) {
  if (!line) return {};
  Json json;
  json["base_ms"] = estimate_json(line->base_ms);
  json["us_per_position"] = estimate_json(line->us_per_position);
  json["growth"] = estimate_json(line->growth);
  json["worst_residual"] = line->worst_residual;
  json["shape"] = probe::shape_name(line->shape);
  return json;
}

Json conditions_json(const PhasesReport& report) {
  engine::Runtime& runtime = *report.session.runtime;
  Json json;
  json["pawl"] = kVersion;
  json["cpu"] = probe::cpu_name();
  json["isa"] = runtime.kernels().name;
  json["threads"] = runtime.pool().threads();
  json["precision"] = "fast";
  json["kv_type"] = kernels::kv_type_name(runtime.kv_type());
  json["adapters"] = report.session.adapters_json();
  json["step_tokens"] = report.samples.step_tokens;
  json["rounds"] = report.options.rounds;
  json["decode_steps"] = report.options.steps;
  json["seed"] = report.options.seed;
  json["cores_had"] = report.analysis.cores;
  json["float_weights"] = report.samples.has_float_weights;
  return json;
}

// Ten cells for a share of 1.
std::string bar_of(double share) {
  constexpr int kCells = 10;
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kCells));
  std::string bar;
  for (int i = 0; i < kCells; ++i) bar += i < full ? "█" : "░";
  return bar;
}

std::string interval_text(const Estimate& estimate, int decimals) {
  if (!estimate.interval) return "";
  return fmt::format("[{:.{}f}, {:.{}f}]", estimate.low(), decimals, estimate.high(), decimals);
}

void print_phase(const PhasesReport& report, PhaseFigures PhasesRow::*phase) {
  // The headings of the bars are as wide as the bars in cells of the terminal.
  fmt::print(
      " prompt   tokens/s  MB/token  MOP/token  op/byte  of arithmetic     of bandwidth      "
      "2× takes  bound by\n");
  for (const PhasesRow& row : report.analysis.rows) {
    const PhaseFigures& figures = row.*phase;
    fmt::print(
        "{:>7} {:>10.1f} {:>9.2f} {:>10.1f} {:>8.1f}  {} {:>3.0f} %  {} {:>3.0f} %  {:>7.2f}×  "
        "{}\n",
        grouped(row.prompt), figures.tokens_per_s, figures.bytes_per_token * 1e-6,
        figures.operations_per_token * 1e-6, figures.intensity(), bar_of(figures.of_int8.value),
        figures.of_int8.value * 100, bar_of(figures.of_read.value), figures.of_read.value * 100,
        1 + figures.doubling.value, probe::bound_name(figures.bound));
  }
}

void print_line(const char* name, const CostLine& line) {
  fmt::print("  {:9} {:.2f} ms {:+.2f} µs per position {} · {}\n", name, line.base_ms.value,
             line.us_per_position.value, interval_text(line.us_per_position, 2),
             probe::shape_name(line.shape));
}

void print_cache(const PhasesReport& report) {
  fmt::print("\none output token, by its position: keys and values kept, or all passes again\n");
  fmt::print("{:>7} {:>10} {:>12}   {}\n", "prompt", "kept, ms", "not kept, ms",
             "prompt tokens one output token is worth");
  for (const PhasesRow& row : report.analysis.rows) {
    fmt::print("{:>7} {:>10.2f} {:>12.2f}   {:>6.1f}  {}\n", grouped(row.prompt),
               row.decode_ms.value, row.uncached_ms.value, row.exchange.value,
               interval_text(row.exchange, 1));
  }
  if (report.analysis.cached) print_line("kept:", *report.analysis.cached);
  if (report.analysis.uncached) print_line("not kept:", *report.analysis.uncached);
}

std::string crossing_text(const PhasesReport& report) {
  const auto counted =
      probe::crossing_of(*report.session.runtime, ridge_of(report.analysis.limits));
  const std::string roofline =
      counted ? fmt::format("from {} tokens in a pass", *counted)
              : fmt::format("at no length, as a pass holds {} tokens", report.samples.step_tokens);
  const auto measured = report.analysis.measured_crossing;
  return fmt::format("prefill is bound by arithmetic {} by the roofline, {} by the clock", roofline,
                     measured ? fmt::format("from {} or less", grouped(*measured))
                              : std::string("at no length tested"));
}

}  // namespace

Json phases_json(const PhasesReport& report) {
  const probe::PhasesAnalysis& analysis = report.analysis;
  Json document;
  document["kind"] = "phases";
  document["model"] = report.session.name;
  document["conditions"] = conditions_json(report);
  document["limits"] = limits_json(analysis.limits);
  document["lengths"] = Json::array();
  for (size_t i = 0; i < analysis.rows.size(); ++i) {
    document["lengths"].push_back(row_json(analysis.rows[i], report.samples.lengths[i]));
  }
  document["crossing"]["by_roofline"] =
      probe::crossing_of(*report.session.runtime, ridge_of(analysis.limits));
  document["crossing"]["by_time"] = analysis.measured_crossing;
  document["token_cost"]["cached"] = line_json(analysis.cached);
  document["token_cost"]["uncached"] = line_json(analysis.uncached);
  document["verdicts"] = Json::array();
  for (const probe::PhasesVerdict& verdict : analysis.verdicts) {
    Json json;
    json["name"] = verdict.name;
    json["holds"] = verdict.holds;
    json["reason"] = verdict.reason;
    document["verdicts"].push_back(std::move(json));
  }
  document["holds"] = analysis.holds();
  return document;
}

void print_phases(const PhasesReport& report) {
  const probe::PhasesAnalysis& analysis = report.analysis;
  fmt::print("{} · {} · {} threads · {}\n", report.session.name,
             probe::cpu_name().value_or("a processor without a name"),
             report.session.runtime->pool().threads(), report.session.runtime->kernels().name);
  fmt::print(
      "measured just before each: reads {:.1f} GB/s · int8 {:.0f} GOP/s · ridge at {:.1f} "
      "operations per byte\n",
      analysis.limits.read_bytes_per_s * 1e-9, analysis.limits.int8_operations_per_s * 1e-9,
      ridge_of(analysis.limits));
  fmt::print("\nprefill: all of the prompt, up to {} tokens in a pass\n",
             report.samples.step_tokens);
  print_phase(report, &PhasesRow::prefill);
  fmt::print("\ndecode: one token behind the prompt\n");
  print_phase(report, &PhasesRow::decode);
  print_cache(report);
  fmt::print("\n{}\n", crossing_text(report));
  if (analysis.cores < probe::kQuietCores) {
    fmt::print("beside others: the threads had {:.0f} % of the time they took\n",
               analysis.cores * 100);
  }
  if (report.samples.has_float_weights) {
    fmt::print("the weights are floats: no code can reach the int8 limit with them\n");
  }
  fmt::print("\n");
  for (const probe::PhasesVerdict& verdict : analysis.verdicts) {
    const char* outcome = !verdict.holds ? "open " : *verdict.holds ? "holds" : "fails";
    fmt::print("{}  {:9} {}\n", outcome, verdict.name, verdict.reason);
  }
}

}  // namespace pawl::cli
