// SPDX-License-Identifier: Apache-2.0
#include "lab/conditions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>

namespace pawl::lab {
namespace {

using base::Json;

struct TextRow {
  std::string_view name;
  std::string Conditions::*member;
  bool decides;  // whether times may be compared
};
constexpr std::array<TextRow, 14> kTexts = {{
    {"endpoint", &Conditions::endpoint, false},
    {"api", &Conditions::api, true},
    {"model", &Conditions::model, false},
    {"answered_model", &Conditions::answered_model, true},
    {"server", &Conditions::server, true},
    {"server_version", &Conditions::server_version, true},
    {"server_machine", &Conditions::server_machine, true},
    {"client_machine", &Conditions::client_machine, false},
    {"cache", &Conditions::cache, true},
    {"sampling", &Conditions::sampling, true},
    {"prompt_counting", &Conditions::prompt_counting, false},
    {"output_counting", &Conditions::output_counting, false},
    {"date", &Conditions::date, false},
    {"client_version", &Conditions::client_version, false},
}};

// Loads are compared as one condition: "4 at once", "2.5 per second".
std::string load_text(const Conditions& conditions) {
  if (conditions.rate) {
    const std::string cap = conditions.max_in_flight
                                ? fmt::format(", at most {} at once", *conditions.max_in_flight)
                                : "";
    return fmt::format("{} per second{}", *conditions.rate, cap);
  }
  return conditions.concurrency ? fmt::format("{} at once", *conditions.concurrency) : "";
}

std::string threads_text(const Conditions& conditions) {
  return conditions.server_threads ? fmt::format("{}", *conditions.server_threads) : "";
}

base::Error wrong_kind(std::string_view name) {
  return {base::ErrorCode::kBadFile, fmt::format("condition '{}' is of another kind", name), ""};
}

template <typename Value, typename Read>
base::Result<void> read_number(const Json& json, std::string_view name, std::optional<Value>& value,
                               Read read) {
  const Json* member = json.find(name);
  if (member == nullptr || member->is_null()) return {};
  value = read(*member);
  if (!value) return wrong_kind(name);
  return {};
}

}  // namespace

Json conditions_json(const Conditions& conditions) {
  Json json;
  for (const TextRow& row : kTexts) {
    const std::string& text = conditions.*row.member;
    json[row.name] = text.empty() ? Json() : Json(text);
  }
  json["server_threads"] = conditions.server_threads;
  json["concurrency"] = conditions.concurrency;
  json["rate"] = conditions.rate;
  json["max_in_flight"] = conditions.max_in_flight;
  json["seed"] = conditions.seed;
  return json;
}

base::Result<Conditions> parse_conditions(const Json& value) {
  if (value.as_object() == nullptr) return wrong_kind("conditions");
  Conditions conditions;
  for (const TextRow& row : kTexts) {
    const Json* member = value.find(row.name);
    if (member == nullptr || member->is_null()) continue;
    if (member->as_string() == nullptr) return wrong_kind(row.name);
    conditions.*row.member = *member->as_string();
  }
  const auto integer = [](const Json& json) { return json.to_int64(); };
  const auto number = [](const Json& json) { return json.to_double(); };
  const auto natural = [](const Json& json) { return json.to_uint64(); };
  PAWL_TRY_VOID(read_number(value, "server_threads", conditions.server_threads, integer));
  PAWL_TRY_VOID(read_number(value, "concurrency", conditions.concurrency, integer));
  PAWL_TRY_VOID(read_number(value, "rate", conditions.rate, number));
  PAWL_TRY_VOID(read_number(value, "max_in_flight", conditions.max_in_flight, integer));
  PAWL_TRY_VOID(read_number(value, "seed", conditions.seed, natural));
  return conditions;
}

std::vector<Difference> differences(const Conditions& a, const Conditions& b) {
  std::vector<Difference> found;
  const auto compare = [&](std::string_view name, const std::string& left,
                           const std::string& right) {
    if (!left.empty() && left == right) return;
    const auto shown = [](const std::string& text) { return text.empty() ? "not known" : text; };
    found.push_back({std::string(name), shown(left), shown(right)});
  };
  for (const TextRow& row : kTexts) {
    if (row.decides) compare(row.name, a.*row.member, b.*row.member);
  }
  compare("server_threads", threads_text(a), threads_text(b));
  compare("load", load_text(a), load_text(b));
  return found;
}

std::string client_machine() {
  std::ifstream processors("/proc/cpuinfo");
  std::string name = "unknown processor";
  for (std::string line; std::getline(processors, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      name = line.substr(colon + 2);
      break;
    }
  }
  return fmt::format("{}, {} CPUs", name, ::sysconf(_SC_NPROCESSORS_ONLN));
}

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace pawl::lab
