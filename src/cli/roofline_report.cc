// SPDX-License-Identifier: Apache-2.0
#include "cli/roofline_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal.h"

namespace pawl::cli {

using base::Json;
using probe::Bound;
using probe::Deployment;
using probe::Hardware;
using probe::Roofline;

namespace {

constexpr double kNominalWeightBits = 16;

Deployment with_prompt(Deployment deployment, int64_t prompt) {
  deployment.prompt = prompt;
  return deployment;
}

bool point_holds(const Roofline& roofline) {
  return roofline.prefill.bound == Bound::kCompute && roofline.decode.bound == Bound::kBandwidth;
}

// What prefill share over decode share gives `exchange`, all else as it is.
double share_ratio_for(double exchange, const Roofline& at, const Deployment& deployment) {
  return exchange / at.exchange * deployment.prefill_share / deployment.decode_share;
}

std::string_view beside_claim(double exchange) {
  if (exchange < kClaimedExchangeLow) return "below";
  return exchange > kClaimedExchangeHigh ? "above" : "agrees";
}

// One assumption with other values in its place.
struct Variation {
  const char* name;
  std::vector<double> values;
  void (*set)(Deployment&, double);
};

const std::vector<Variation>& variations() {
  static const std::vector<Variation> kVariations = {
      {"prefill share",
       {0.3, 0.4, 0.5, 0.6, 0.7},
       [](Deployment& d, double x) { d.prefill_share = x; }},
      {"decode share", {0.5, 0.6, 0.75, 0.9}, [](Deployment& d, double x) { d.decode_share = x; }},
      {"weight bits", {16, 8, 4}, [](Deployment& d, double x) { d.weight_bits = x; }},
      {"batch", {1, 4, 16, 64}, [](Deployment& d, double x) { d.batch = static_cast<int64_t>(x); }},
      {"prompt",
       {128, 1024, 8192, 32768},
       [](Deployment& d, double x) { d.prompt = static_cast<int64_t>(x); }},
  };
  return kVariations;
}

double varied(const Hardware& machine, Deployment deployment, const Variation& variation,
              double value) {
  variation.set(deployment, value);
  return probe::evaluate(machine, deployment).exchange;
}

Json pass_json(const probe::RooflinePass& pass, double tokens_per_s) {
  Json json;
  json["tok_s"] = tokens_per_s;
  json["intensity"] = pass.intensity();
  json["bound"] = probe::bound_name(pass.bound);
  json["ms"] = pass.seconds * 1e3;
  return json;
}

Json machine_json(const Hardware& machine, const RooflineReport& report) {
  Json json;
  json["name"] = machine.name;
  json["read_GBps"] = machine.bytes_per_s * 1e-9;
  json["TFLOPS"] = machine.operations_per_s * 1e-12;
  json["ridge"] = machine.ridge();
  json["arithmetic"] = machine.arithmetic;
  json["source"] = machine.source;
  json["lengths"] = Json::array();
  for (const int64_t prompt : report.prompts) {
    const Deployment deployment = with_prompt(report.deployment, prompt);
    const Roofline at = probe::evaluate(machine, deployment);
    Json row;
    row["prompt"] = prompt;
    row["prefill"] = pass_json(at.prefill, at.prefill_tokens_per_s);
    row["decode"] = pass_json(at.decode, at.decode_tokens_per_s);
    row["exchange"] = at.exchange;
    row["claim"] = beside_claim(at.exchange);
    row["share_ratio_for_claim"]["low"] = share_ratio_for(kClaimedExchangeLow, at, deployment);
    row["share_ratio_for_claim"]["high"] = share_ratio_for(kClaimedExchangeHigh, at, deployment);
    row["holds"] = point_holds(at);
    json["lengths"].push_back(std::move(row));
  }
  json["hangs_on"] = Json::array();
  const Deployment deployment = with_prompt(report.deployment, report.prompts.back());
  for (const Variation& variation : variations()) {
    for (const double value : variation.values) {
      Json entry;
      entry["assumption"] = variation.name;
      entry["value"] = value;
      entry["exchange"] = varied(machine, deployment, variation, value);
      json["hangs_on"].push_back(std::move(entry));
    }
  }
  return json;
}

void print_table(const RooflineReport& report) {
  fmt::print("{:12} {:>9} {:>7} {:>11} {:>10}   {:8} {:>8}   {:6}   {}\n", "machine", "FLOP/byte",
             "prompt", "prefill t/s", "decode t/s", "bound by", "exchange", "claim",
             "prefill ÷ decode share for it");
  for (const Hardware& machine : report.machines) {
    for (const int64_t prompt : report.prompts) {
      const Deployment deployment = with_prompt(report.deployment, prompt);
      const Roofline at = probe::evaluate(machine, deployment);
      fmt::print(
          "{:12} {:>9.1f} {:>7} {:>11.0f} {:>10.1f}   {}, {}     {:>8.1f}   {:6}   {:.2f} to "
          "{:.2f}\n",
          machine.name, machine.ridge(), grouped(prompt), at.prefill_tokens_per_s,
          at.decode_tokens_per_s, at.prefill.bound == Bound::kCompute ? "C" : "B",
          at.decode.bound == Bound::kCompute ? "C" : "B", at.exchange, beside_claim(at.exchange),
          share_ratio_for(kClaimedExchangeLow, at, deployment),
          share_ratio_for(kClaimedExchangeHigh, at, deployment));
    }
  }
}

void print_variations(const RooflineReport& report) {
  const Deployment deployment = with_prompt(report.deployment, report.prompts.back());
  fmt::print("\nwhat it hangs on: the exchange with one assumption changed at a time\n{:30}", "");
  for (const Hardware& machine : report.machines) fmt::print("{:>12}", machine.name);
  fmt::print("\n");
  for (const Variation& variation : variations()) {
    for (const double& value : variation.values) {
      fmt::print("  {:18}{:>10}", &value == variation.values.data() ? variation.name : "", value);
      for (const Hardware& machine : report.machines) {
        fmt::print("{:>12.1f}", varied(machine, deployment, variation, value));
      }
      fmt::print("\n");
    }
  }
}

}  // namespace

bool roofline_holds(const RooflineReport& report) {
  return std::all_of(report.machines.begin(), report.machines.end(), [&](const Hardware& machine) {
    return point_holds(
        probe::evaluate(machine, with_prompt(report.deployment, report.prompts.back())));
  });
}

Json roofline_json(const RooflineReport& report) {
  const Deployment& assumed = report.deployment;
  Json document;
  Json& json = document["assumed"];
  json["parameters"] = assumed.parameters;
  json["weight_bits"] = assumed.weight_bits;
  json["kv_bytes"] = assumed.kv_bytes;
  json["batch"] = assumed.batch;
  json["prefill_share"] = assumed.prefill_share;
  json["decode_share"] = assumed.decode_share;
  document["claim"]["low"] = kClaimedExchangeLow;
  document["claim"]["high"] = kClaimedExchangeHigh;
  document["hardware"] = Json::array();
  for (const Hardware& machine : report.machines) {
    document["hardware"].push_back(machine_json(machine, report));
  }
  document["holds"] = roofline_holds(report);
  return document;
}

void print_roofline(const RooflineReport& report) {
  const Deployment& assumed = report.deployment;
  fmt::print(
      "{:.3g} billion parameters of {:g} bits · keys and values {} a position · batch {}\n"
      "assumed: prefill reaches {:.0f} % of the arithmetic, decode {:.0f} % of the bandwidth\n\n",
      assumed.parameters * 1e-9, assumed.weight_bits,
      human_bytes(static_cast<int64_t>(assumed.kv_bytes)), assumed.batch,
      assumed.prefill_share * 100, assumed.decode_share * 100);
  print_table(report);
  fmt::print(
      "\nbound by: C arithmetic, B bandwidth; prefill first, then decode\n"
      "exchange: prompt tokens that take the machine as long as one output token; where prefill is "
      "C "
      "and decode is B it is\n  FLOP/byte × bytes of a weight ÷ 2 × (prefill share ÷ decode share) "
      "÷ "
      "batch, and more with the context that decode reads\n"
      "claim: {:.0f} to {:.0f}, told of one request with {:g}-bit weights\n",
      kClaimedExchangeLow, kClaimedExchangeHigh, kNominalWeightBits);
  print_variations(report);
  fmt::print("\nfigures of the machines\n");
  for (const Hardware& machine : report.machines) {
    fmt::print("  {:12} {:>7.1f} GB/s, {:.4g} TFLOP/s {}: {}\n", machine.name,
               machine.bytes_per_s * 1e-9, machine.operations_per_s * 1e-12, machine.arithmetic,
               machine.source);
  }
  fmt::print("\n{}  prefill is bound by arithmetic and decode by bandwidth, on {} at {} tokens\n",
             roofline_holds(report) ? "holds" : "fails",
             report.machines.size() == 1 ? report.machines.front().name : "each of these",
             grouped(report.prompts.back()));
}

}  // namespace pawl::cli
