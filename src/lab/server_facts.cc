// SPDX-License-Identifier: Apache-2.0
#include "lab/server_facts.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "lab/http_client.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

HttpRequest request_to(const Endpoint& endpoint, std::string_view path) {
  HttpRequest request;
  request.method = "GET";
  request.url = endpoint.url(path);
  request.headers = endpoint.all_headers();
  request.limits = endpoint.limits;
  request.ca_file = endpoint.ca_file;
  // Nothing asked here takes long; a stuck server is not waited for.
  request.limits.first_byte_ms = 30'000;
  return request;
}

// The JSON of an answer with status 200; nothing for another status or no JSON.
Result<std::optional<Json>> ask_json(const HttpRequest& request, const base::Clock& clock) {
  PAWL_TRY(const WholeAnswer answer, fetch_whole(request, clock));
  if (answer.head.status != 200) return std::optional<Json>();
  auto json = base::parse_json(answer.body);
  if (!json.ok() || json->as_object() == nullptr) return std::optional<Json>();
  return std::optional<Json>(std::move(json).value());
}

std::string text_member(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  return member != nullptr && member->as_string() != nullptr ? *member->as_string() : "";
}

std::optional<int64_t> count_member(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  const auto value = member != nullptr ? member->to_int64() : std::nullopt;
  return value && *value >= 0 ? value : std::nullopt;
}

Result<std::optional<Json>> post_tokenize(const Endpoint& endpoint, const ServerFacts& facts,
                                          std::string_view text, bool as_chat, bool adds_special,
                                          const base::Clock& clock) {
  Json body;
  if (!facts.model.empty()) body["model"] = facts.model;
  if (as_chat) {
    Json message;
    message["role"] = "user";
    message["content"] = text;
    body["messages"] = Json::array_of({std::move(message)});
  } else if (facts.tokenize == TokenizeWay::kText) {
    body["content"] = text;
    body["add_special"] = adds_special;
  } else {
    body["prompt"] = text;
    body["add_special_tokens"] = adds_special;
  }
  HttpRequest request = request_to(endpoint, "/tokenize");
  request.method = "POST";
  request.body = body.dump();
  return ask_json(request, clock);
}

// {"tokens": […]}, of ids or of {"id": …}; a "count" beside it where the server gives one.
std::optional<CountedPrompt> read_tokens(const std::optional<Json>& json) {
  const Json* tokens = json ? json->find("tokens") : nullptr;
  if (tokens == nullptr || tokens->as_array() == nullptr) return std::nullopt;
  CountedPrompt counted;
  for (const Json& token : *tokens->as_array()) {
    const Json* id = token.as_object() != nullptr ? token.find("id") : &token;
    if (id == nullptr || !id->to_int64()) return std::nullopt;
    counted.ids.push_back(*id->to_int64());
  }
  counted.tokens = static_cast<int64_t>(counted.ids.size());
  return counted;
}

Result<TokenizeWay> find_tokenize(const Endpoint& endpoint, ServerFacts facts,
                                  const base::Clock& clock) {
  for (const auto& [way, as_chat] :
       {std::pair(TokenizeWay::kChat, true), std::pair(TokenizeWay::kChat, false),
        std::pair(TokenizeWay::kText, false)}) {
    // A completion needs no template: a server that has none counts its prompts all the same.
    if (way == TokenizeWay::kChat && as_chat != endpoint.is_chat) continue;
    facts.tokenize = way;
    PAWL_TRY(const auto json,
             post_tokenize(endpoint, facts, "one two three four five", as_chat, true, clock));
    const auto counted = read_tokens(json);
    if (counted && counted->tokens > 1) return way;
  }
  return TokenizeWay::kNone;
}

void read_names(const std::optional<Json>& props, const std::optional<Json>& version,
                std::string_view server_header, ServerFacts& facts) {
  const std::string build = props ? text_member(*props, "build_info") : "";
  if (!build.empty()) {
    facts.server = "llama.cpp";
    facts.version = build;
  } else if (props && props->find("vocabulary") != nullptr) {
    facts.server = "pawl";
    facts.version = text_member(*props, "version");
  } else if (version && !text_member(*version, "version").empty()) {
    facts.server = "vLLM";
    facts.version = text_member(*version, "version");
  } else {
    facts.server = server_header;
  }
  if (props) {
    facts.context = count_member(*props, "context");
    if (const Json* defaults = props->find("default_generation_settings")) {
      facts.context = count_member(*defaults, "n_ctx");
    }
  }
}

constexpr std::array<std::string_view, 4> kGenerated = {
    "pawl_generation_tokens_total", "vllm:generation_tokens_total",
    "llamacpp:tokens_predicted_total", "sglang:generation_tokens_total"};
constexpr std::array<std::string_view, 4> kRunning = {
    "pawl_num_requests_running", "vllm:num_requests_running", "llamacpp:requests_processing",
    "sglang:num_running_reqs"};

}  // namespace

Result<ServerFacts> read_server_facts(const Endpoint& endpoint, const base::Clock& clock) {
  ServerFacts facts;
  facts.model = endpoint.model;
  PAWL_TRY(const WholeAnswer models, fetch_whole(request_to(endpoint, "/v1/models"), clock));
  const auto list = base::parse_json(models.body);
  if (facts.model.empty() && models.head.status == 200 && list.ok()) {
    const Json* data = list->find("data");
    if (data != nullptr && data->as_array() != nullptr && !data->as_array()->empty()) {
      facts.model = text_member(data->as_array()->front(), "id");
    }
  }
  PAWL_TRY(const auto props, ask_json(request_to(endpoint, "/props"), clock));
  PAWL_TRY(const auto version, ask_json(request_to(endpoint, "/version"), clock));
  read_names(props, version, models.head.find("server"), facts);
  PAWL_TRY(facts.tokenize, find_tokenize(endpoint, facts, clock));
  facts.has_request_records = facts.server == "pawl";
  PAWL_TRY(const ServerCounters counters, read_counters(endpoint, clock));
  facts.has_metrics = counters.generated_tokens.has_value();
  return facts;
}

Result<std::optional<bool>> has_chat_template(const Endpoint& endpoint, const base::Clock& clock) {
  PAWL_TRY(const auto props, ask_json(request_to(endpoint, "/props"), clock));
  const Json* told = props ? props->find("has_chat_template") : nullptr;
  return told != nullptr ? told->to_bool() : std::nullopt;
}

void describe(const Endpoint& endpoint, const ServerFacts& facts, Conditions& conditions) {
  conditions.endpoint = shown_url(endpoint.base_url);
  conditions.api = endpoint.is_chat ? "chat" : "completions";
  conditions.model = endpoint.model;
  conditions.answered_model = facts.model;
  conditions.server = facts.server;
  conditions.server_version = facts.version;
}

Result<CountedPrompt> count_prompt(const Endpoint& endpoint, const ServerFacts& facts,
                                   std::string_view prompt, const base::Clock& clock) {
  const std::string where = shown_url(endpoint.url("/tokenize"));
  if (facts.tokenize == TokenizeWay::kNone) {
    return Error{ErrorCode::kUnsupported, "the server does not count tokens", where};
  }
  const bool as_chat = endpoint.is_chat && facts.tokenize == TokenizeWay::kChat;
  PAWL_TRY(const auto json, post_tokenize(endpoint, facts, prompt, as_chat, true, clock));
  auto counted = read_tokens(json);
  if (!counted) return Error{ErrorCode::kNetwork, "no token ids in the answer", where};
  counted->has_template = as_chat || !endpoint.is_chat;
  return *std::move(counted);
}

Result<int64_t> count_text(const Endpoint& endpoint, const ServerFacts& facts,
                           std::string_view text, const base::Clock& clock) {
  const std::string where = shown_url(endpoint.url("/tokenize"));
  if (facts.tokenize == TokenizeWay::kNone) {
    return Error{ErrorCode::kUnsupported, "the server does not count tokens", where};
  }
  PAWL_TRY(const auto json, post_tokenize(endpoint, facts, text, false, false, clock));
  const auto counted = read_tokens(json);
  if (!counted) return Error{ErrorCode::kNetwork, "no token ids in the answer", where};
  return counted->tokens;
}

Result<std::string> detokenize(const Endpoint& endpoint, const ServerFacts& facts,
                               const std::vector<int64_t>& ids, const base::Clock& clock) {
  Json body;
  if (!facts.model.empty()) body["model"] = facts.model;
  body["tokens"] = Json::array_of({ids.begin(), ids.end()});
  HttpRequest request = request_to(endpoint, "/detokenize");
  request.method = "POST";
  request.body = body.dump();
  PAWL_TRY(const auto json, ask_json(request, clock));
  for (const std::string_view key : {"prompt", "content", "text"}) {
    const Json* text = json ? json->find(key) : nullptr;
    if (text != nullptr && text->as_string() != nullptr) return *text->as_string();
  }
  return Error{ErrorCode::kNetwork, "no text in the answer", shown_url(request.url)};
}

Result<std::optional<RequestFacts>> read_request(const Endpoint& endpoint, const std::string& id,
                                                 const base::Clock& clock) {
  PAWL_TRY(const auto json, ask_json(request_to(endpoint, "/v1/requests/" + id), clock));
  if (!json || json->find("state") == nullptr) return std::optional<RequestFacts>();
  RequestFacts facts;
  facts.state = text_member(*json, "state");
  facts.cause = text_member(*json, "cause");
  facts.is_over = facts.state != "running";
  facts.prompt_tokens = count_member(*json, "prompt_tokens");
  facts.cached_tokens = count_member(*json, "cached_tokens");
  facts.computed_tokens = count_member(*json, "computed_tokens");
  facts.completion_tokens = count_member(*json, "completion_tokens");
  facts.delivered_tokens = count_member(*json, "delivered_tokens");
  facts.forward_passes = count_member(*json, "forward_passes");
  const Json* decode = json->find("decode_ms");
  if (decode != nullptr) facts.decode_ms = decode->to_double();
  return std::optional(facts);
}

Result<ServerCounters> read_counters(const Endpoint& endpoint, const base::Clock& clock) {
  PAWL_TRY(const WholeAnswer answer, fetch_whole(request_to(endpoint, "/metrics"), clock));
  ServerCounters counters;
  if (answer.head.status != 200) return counters;
  for (const std::string_view name : kGenerated) {
    if (const auto sum = metric_sum(answer.body, name)) counters.generated_tokens = sum;
  }
  for (const std::string_view name : kRunning) {
    if (const auto sum = metric_sum(answer.body, name)) counters.running_requests = sum;
  }
  return counters;
}

std::optional<double> metric_sum(std::string_view exposition, std::string_view name) {
  std::optional<double> sum;
  while (!exposition.empty()) {
    const size_t end = std::min(exposition.find('\n'), exposition.size());
    std::string_view line = exposition.substr(0, end);
    exposition.remove_prefix(std::min(end + 1, exposition.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with('{')) {
      // A label's value may hold a brace in quotes.
      bool is_quoted = false;
      size_t at = 1;
      for (; at < line.size() && (is_quoted || line[at] != '}'); ++at) {
        if (line[at] == '\\')
          ++at;
        else if (line[at] == '"')
          is_quoted = !is_quoted;
      }
      line.remove_prefix(std::min(at + 1, line.size()));
    }
    if (!line.starts_with(' ')) continue;  // another metric whose name begins alike
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) continue;
    double value = 0;
    const auto [stop, failure] =
        std::from_chars(line.data() + first, line.data() + line.size(), value);
    if (failure == std::errc() && std::isfinite(value)) sum = sum.value_or(0) + value;
  }
  return sum;
}

}  // namespace pawl::lab
