// SPDX-License-Identifier: Apache-2.0
#include "lab/profile.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

Error bad(std::string message, std::string where) {
  return {ErrorCode::kBadFile, std::move(message), std::move(where)};
}

Result<const Json*> member(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr) return bad("is missing", std::string(key));
  return found;
}

Result<int64_t> whole(const Json& object, std::string_view key) {
  PAWL_TRY(const Json* found, member(object, key));
  const auto value = found->to_int64();
  if (!value || *value < 0) return bad("is no whole number from 0 on", std::string(key));
  return *value;
}

Result<double> time(const Json& object, std::string_view key) {
  PAWL_TRY(const Json* found, member(object, key));
  const auto value = found->to_double();
  if (!value || !std::isfinite(*value) || *value < 0) {
    return bad("is no time in milliseconds", std::string(key));
  }
  return *value;
}

Json point_json(const Point& point) {
  Json json;
  json["arm"] = point.arm;
  json["record"] = point.record;
  json["repetition"] = point.repetition;
  json["prompt_asked"] = point.prompt_asked;
  json["output_asked"] = point.output_asked;
  json["prompt_tokens"] = point.prompt;
  json["output_tokens"] = point.output;
  json["is_estimated"] = point.is_estimated;
  json["cached_tokens"] = point.cached;
  json["ttft_ms"] = point.ttft_ms;
  json["tpot_ms"] = point.tpot_ms;
  json["e2e_ms"] = point.e2e_ms;
  return json;
}

Result<Point> parse_point(const Json& json) {
  Point point;
  PAWL_TRY(const Json* arm, member(json, "arm"));
  if (arm->as_string() == nullptr) return bad("is no text", "arm");
  point.arm = *arm->as_string();
  PAWL_TRY(point.record, whole(json, "record"));
  PAWL_TRY(point.repetition, whole(json, "repetition"));
  PAWL_TRY(point.prompt_asked, whole(json, "prompt_asked"));
  PAWL_TRY(point.output_asked, whole(json, "output_asked"));
  PAWL_TRY(point.prompt, whole(json, "prompt_tokens"));
  PAWL_TRY(point.output, whole(json, "output_tokens"));
  PAWL_TRY(point.ttft_ms, time(json, "ttft_ms"));
  PAWL_TRY(point.e2e_ms, time(json, "e2e_ms"));
  if (const Json* found = json.find("is_estimated")) {
    point.is_estimated = found->to_bool().value_or(true);
  }
  if (const Json* found = json.find("cached_tokens"); found != nullptr && !found->is_null()) {
    PAWL_TRY(point.cached, whole(json, "cached_tokens"));
  }
  if (const Json* found = json.find("tpot_ms"); found != nullptr && !found->is_null()) {
    PAWL_TRY(point.tpot_ms, time(json, "tpot_ms"));
  }
  return point;
}

}  // namespace

std::optional<Point> point_of(const RequestRecord& record) {
  if (record.asked.is_warm_up || record.state != RequestState::kSuccess) return std::nullopt;
  const auto prompt = best_count(record.prompt), output = best_count(record.output);
  const auto first = ttft_ms(record), last = e2e_ms(record);
  if (!prompt || !output || !first || !last || *first <= 0) return std::nullopt;
  Point point;
  point.arm = record.asked.arm;
  point.record = record.index;
  point.repetition = record.asked.repetition;
  point.prompt_asked = record.asked.prompt_tokens.value_or(prompt->count);
  point.output_asked = record.asked.output_tokens.value_or(output->count);
  point.prompt = prompt->count;
  point.output = output->count;
  point.is_estimated = prompt->is_estimated || output->is_estimated;
  point.cached = record.cached_tokens;
  point.ttft_ms = *first;
  point.tpot_ms = tpot_ms(record);
  point.e2e_ms = *last;
  return point;
}

std::vector<Point> points_of(std::span<const RequestRecord> records) {
  std::vector<Point> points;
  for (const RequestRecord& record : records) {
    if (auto point = point_of(record)) points.push_back(*std::move(point));
  }
  return points;
}

int64_t shared_head(std::span<const Point> points) {
  std::map<int64_t, int64_t> counts;
  std::map<int64_t, std::set<int64_t>> lengths;
  int64_t told = 0;
  for (const Point& point : points) {
    if (!point.cached) continue;
    ++told;
    ++counts[*point.cached];
    lengths[*point.cached].insert(point.prompt);
  }
  for (const auto& [cached, n] : counts) {
    if (n * 10 >= told * 8 && lengths[cached].size() >= 2) return cached;
  }
  return 0;
}

Json profile_json(const Profile& profile) {
  Json json;
  json["pawl_profile"] = kProfileSchema;
  json["conditions"] = conditions_json(profile.conditions);
  json["seed"] = profile.seed;
  json["void_because"] = Json::array();
  for (const std::string& reason : profile.void_because) json["void_because"].push_back(reason);
  json["points"] = Json::array();
  for (const Point& point : profile.points) json["points"].push_back(point_json(point));
  return json;
}

Result<Profile> parse_profile(const Json& value) {
  PAWL_TRY(const int64_t schema, whole(value, "pawl_profile"));
  if (schema != kProfileSchema) {
    return bad(fmt::format("is {}, this program reads {}", schema, kProfileSchema), "pawl_profile");
  }
  Profile profile;
  PAWL_TRY(const Json* conditions, member(value, "conditions"));
  PAWL_TRY(profile.conditions, parse_conditions(*conditions));
  PAWL_TRY(const Json* seed, member(value, "seed"));
  const auto number = seed->to_uint64();
  if (!number) return bad("is no whole number from 0 on", "seed");
  profile.seed = *number;
  PAWL_TRY(const Json* reasons, member(value, "void_because"));
  if (reasons->as_array() == nullptr) return bad("is no list", "void_because");
  for (const Json& reason : *reasons->as_array()) {
    if (reason.as_string() == nullptr) return bad("holds what is no text", "void_because");
    profile.void_because.push_back(*reason.as_string());
  }
  PAWL_TRY(const Json* points, member(value, "points"));
  if (points->as_array() == nullptr) return bad("is no list", "points");
  for (const Json& entry : *points->as_array()) {
    auto point = parse_point(entry);
    if (!point.ok()) {
      point.error().where =
          fmt::format("points[{}].{}", profile.points.size(), point.error().where);
      return point.error();
    }
    profile.points.push_back(std::move(point).value());
  }
  return profile;
}

}  // namespace pawl::lab
