// SPDX-License-Identifier: Apache-2.0
#include "probe/policy_json.h"

#include <limits>
#include <string>

#include "base/utf8.h"

namespace pawl::probe {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using base::TokenId;

namespace {

Json ids_json(const std::vector<TokenId>& ids) {
  return Json::array_of({ids.begin(), ids.end()});
}

Error bad(std::string_view key, std::string_view what) {
  return {ErrorCode::kBadFile, "policy: " + base::quoted_text(key) + " " + std::string(what), ""};
}

Result<TokenId> parse_id(std::string_view key, const Json& json) {
  const auto id = json.to_int64();
  if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) return bad(key, "holds no id");
  return static_cast<TokenId>(*id);
}

Result<std::vector<TokenId>> parse_ids(std::string_view key, const Json& json) {
  const Json::Array* items = json.as_array();
  if (items == nullptr) return bad(key, "is no array");
  std::vector<TokenId> ids;
  for (const Json& item : *items) {
    PAWL_TRY(const TokenId id, parse_id(key, item));
    ids.push_back(id);
  }
  return ids;
}

Result<void> parse_biases(std::string_view key, const Json& json, policy::Policy& policy) {
  const Json::Array* items = json.as_array();
  if (items == nullptr) return bad(key, "is no array");
  for (const Json& item : *items) {
    const Json::Array* pair = item.as_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[1].to_double()) {
      return bad(key, "holds no pair of an id and a number");
    }
    PAWL_TRY(const TokenId id, parse_id(key, (*pair)[0]));
    policy.logit_bias.emplace_back(id, *(*pair)[1].to_double());
  }
  return {};
}

Result<void> parse_samplers(std::string_view key, const Json& json, policy::Policy& policy) {
  const Json::Array* items = json.as_array();
  if (items == nullptr) return bad(key, "is no array");
  std::string names;
  for (const Json& item : *items) {
    if (item.as_string() == nullptr) return bad(key, "holds no name");
    names += (names.empty() ? "" : ",") + *item.as_string();
  }
  auto samplers = policy::parse_samplers(names);
  if (!samplers.ok()) return bad(key, samplers.error().message);
  policy.samplers = std::move(samplers).value();
  return {};
}

Result<void> parse_member(std::string_view key, const Json& value, policy::Policy& policy) {
  if (policy::find_knob(key) != nullptr) {
    if (!value.to_double()) return bad(key, "is no number");
    auto set = policy::set_knob(policy, key, *value.to_double());
    return set.ok() ? Result<void>() : bad(key, set.error().message);
  }
  if (key == "ignore_eos") {
    if (!value.to_bool()) return bad(key, "is neither true nor false");
    policy.ignore_eos = *value.to_bool();
    return {};
  }
  if (key == "logit_bias") return parse_biases(key, value, policy);
  if (key == "samplers") return parse_samplers(key, value, policy);
  if (key == "banned" || key == "allowed") {
    PAWL_TRY((key == "banned" ? policy.banned : policy.allowed), parse_ids(key, value));
    return {};
  }
  if (key == "dry_sequence_breakers") {
    const Json::Array* items = value.as_array();
    if (items == nullptr) return bad(key, "is no array");
    for (const Json& item : *items) {
      PAWL_TRY(auto ids, parse_ids(key, item));
      policy.dry_sequence_breakers.push_back(std::move(ids));
    }
    return {};
  }
  return bad(key, "is no rule that is known here");
}

}  // namespace

Json policy_json(const policy::Policy& policy) {
  Json json = Json::object();
  for (const policy::Knob& knob : policy::knobs()) {
    const double value = knob.get(policy);
    if (value == knob.standard || std::string_view(knob.name) == "top_logprobs") continue;
    json[knob.name] = knob.integer != nullptr ? Json(int64_t{policy.*knob.integer}) : Json(value);
  }
  if (policy.ignore_eos) json["ignore_eos"] = true;
  for (const auto& [id, bias] : policy.logit_bias) {
    json["logit_bias"].push_back(Json::array_of({int64_t{id}, bias}));
  }
  if (!policy.banned.empty()) json["banned"] = ids_json(policy.banned);
  if (!policy.allowed.empty()) json["allowed"] = ids_json(policy.allowed);
  for (const auto& ids : policy.dry_sequence_breakers) {
    json["dry_sequence_breakers"].push_back(ids_json(ids));
  }
  for (const policy::Stage stage : policy.samplers) {
    json["samplers"].push_back(policy::stage_name(stage));
  }
  return json;
}

Result<policy::Policy> parse_policy(const Json& json) {
  const Json::Object* members = json.as_object();
  if (members == nullptr) return Error{ErrorCode::kBadFile, "policy: is no object", ""};
  policy::Policy policy;
  for (const Json::Member& member : *members) {
    PAWL_TRY_VOID(parse_member(member.key, member.value, policy));
  }
  auto valid = policy::validate(policy);
  if (!valid.ok()) return Error{ErrorCode::kBadFile, "policy: " + valid.error().message, ""};
  return policy;
}

}  // namespace pawl::probe
