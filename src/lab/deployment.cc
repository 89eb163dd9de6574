// SPDX-License-Identifier: Apache-2.0
// Deployments that are not here: published sizes and rates, and the times that follow.
#include <fmt/format.h>

#include <cmath>

#include "lab/predict.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Error bad(std::string message, std::string where) {
  return {ErrorCode::kBadFile, std::move(message), std::move(where)};
}

Result<std::optional<double>> number(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr || found->is_null()) return std::optional<double>();
  const auto value = found->to_double();
  if (!value || !std::isfinite(*value) || *value < 0) {
    return bad("is no number from 0 on", std::string(key));
  }
  return value;
}

Result<std::string> text(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr) return std::string("not known");
  if (found->as_string() == nullptr) return bad("is no text", std::string(key));
  return *found->as_string();
}

Result<Interval> share(const Json& object, std::string_view key, Interval otherwise) {
  const Json* found = object.find(key);
  if (found == nullptr) return otherwise;
  const auto* pair = found->as_array();
  if (pair == nullptr || pair->size() != 2) return bad("is no [low, high]", std::string(key));
  const auto low = (*pair)[0].to_double(), high = (*pair)[1].to_double();
  if (!low || !high || !(*low > 0) || *low > *high || *high > 1) {
    return bad("is no [low, high] within (0, 1]", std::string(key));
  }
  return Interval{*low, *high};
}

Result<Deployment> parse_deployment(const Json& json) {
  Deployment deployment;
  const Json* name = json.find("name");
  if (name == nullptr || name->as_string() == nullptr || name->as_string()->empty()) {
    return bad("is missing or no text", "name");
  }
  deployment.name = *name->as_string();
  PAWL_TRY(deployment.model, text(json, "model"));
  PAWL_TRY(deployment.machine, text(json, "machine"));
  PAWL_TRY(deployment.decode_tok_s, number(json, "decode_tok_s"));
  PAWL_TRY(deployment.exchange_rate, number(json, "exchange_rate"));
  PAWL_TRY(deployment.parameters, number(json, "parameters"));
  PAWL_TRY(deployment.read_GBps, number(json, "read_GBps"));
  PAWL_TRY(deployment.TFLOPS, number(json, "TFLOPS"));
  PAWL_TRY(const auto bits, number(json, "weight_bits"));
  PAWL_TRY(const auto kv_bytes, number(json, "kv_bytes"));
  PAWL_TRY(const auto start_ms, number(json, "start_ms"));
  deployment.weight_bits = bits.value_or(16);
  deployment.kv_bytes = kv_bytes.value_or(0);
  deployment.start_ms = start_ms.value_or(0);
  PAWL_TRY(deployment.decode_share, share(json, "decode_share", deployment.decode_share));
  PAWL_TRY(deployment.prefill_share, share(json, "prefill_share", deployment.prefill_share));
  return deployment;
}

// `least` is the time at a share of 1.
Estimate over_shares(double least, const Interval& shares) {
  const double middle = (shares.low + shares.high) / 2;
  return {least / middle, {least / shares.high, least / shares.low}};
}

}  // namespace

Result<std::vector<Deployment>> parse_deployments(const Json& value) {
  const Json* list = value.find("deployments");
  if (list == nullptr || list->as_array() == nullptr)
    return bad("is missing or no list", "deployments");
  std::vector<Deployment> deployments;
  for (const Json& entry : *list->as_array()) {
    auto deployment = parse_deployment(entry);
    if (!deployment.ok()) {
      deployment.error().where =
          fmt::format("deployments[{}].{}", deployments.size(), deployment.error().where);
      return deployment.error();
    }
    deployments.push_back(std::move(deployment).value());
  }
  return deployments;
}

std::optional<Estimate> deployment_output_token_ms(const Deployment& deployment, double context) {
  if (deployment.decode_tok_s && *deployment.decode_tok_s > 0) {
    const double ms = 1000 / *deployment.decode_tok_s;
    return Estimate{ms, {ms, ms}};
  }
  if (!deployment.parameters || deployment.read_GBps.value_or(0) <= 0) return std::nullopt;
  const double bytes =
      *deployment.parameters * deployment.weight_bits / 8 + context * deployment.kv_bytes;
  return over_shares(bytes / (*deployment.read_GBps * 1e9) * 1000, deployment.decode_share);
}

std::optional<Estimate> deployment_prompt_token_ms(const Deployment& deployment) {
  if (deployment.exchange_rate && *deployment.exchange_rate > 0) {
    if (const auto token = deployment_output_token_ms(deployment, 0)) {
      const double rate = *deployment.exchange_rate;
      return Estimate{token->value / rate,
                      {token->interval.low / rate, token->interval.high / rate}};
    }
  }
  if (!deployment.parameters || deployment.TFLOPS.value_or(0) <= 0) return std::nullopt;
  return over_shares(2 * *deployment.parameters / (*deployment.TFLOPS * 1e12) * 1000,
                     deployment.prefill_share);
}

}  // namespace pawl::lab
