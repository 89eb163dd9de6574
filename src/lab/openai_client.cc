// SPDX-License-Identifier: Apache-2.0
#include "lab/openai_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/digest.h"
#include "lab/header_line.h"
#include "lab/http_client.h"

namespace pawl::lab {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

constexpr std::string_view kUsageMember = "stream_options";

// `has_usage`: whether a member that asks for usage may be among them.
void put_members(const Json& fields, bool has_usage, Json& body) {
  if (const auto* members = fields.as_object()) {
    for (const auto& [key, value] : *members) {
      if (has_usage || key != kUsageMember) body[key] = value;
    }
  }
}

bool is_usage_refused(const RequestRecord& record) {
  return record.state == RequestState::kFailed && record.http_status == 400 &&
         record.error.find(kUsageMember) != std::string::npos;
}

// A line end would begin a header of its own.
bool is_header_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

std::string Endpoint::url(std::string_view path) const {
  std::string_view base = base_url;
  while (base.ends_with('/')) base.remove_suffix(1);
  if (base.ends_with("/v1")) base.remove_suffix(3);
  return fmt::format("{}{}", base, path);
}

std::vector<std::string> Endpoint::all_headers() const {
  std::vector<std::string> all = {"Content-Type: application/json"};
  if (!api_key.empty()) all.push_back("Authorization: Bearer " + api_key);
  all.insert(all.end(), headers.begin(), headers.end());
  return all;
}

Result<Endpoint> make_endpoint(const std::string& url, const std::string& key_variable) {
  const size_t scheme = url.find("://");
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  if (!is_http || scheme + 3 >= url.size() || !is_header_text(url)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' is no http or https URL", shown_url(url)), "--url"};
  }
  Endpoint endpoint;
  endpoint.base_url = url;
  if (const char* key = std::getenv(key_variable.c_str())) endpoint.api_key = key;
  if (!is_header_text(endpoint.api_key)) {
    return Error{ErrorCode::kInvalidArgument, "the API key has control characters", key_variable};
  }
  return endpoint;
}

Json question_body(const Endpoint& endpoint, const Question& question) {
  Json body;
  if (!endpoint.model.empty()) body["model"] = endpoint.model;
  if (endpoint.is_chat) {
    Json message;
    message["role"] = "user";
    message["content"] = question.prompt;
    body["messages"] = Json::array_of({std::move(message)});
  } else {
    body["prompt"] = question.prompt;
  }
  body["stream"] = question.asked.is_stream;
  if (question.asked.is_stream && endpoint.asks_usage) {
    Json options;
    options["include_usage"] = true;
    body[kUsageMember] = std::move(options);
  }
  if (question.asked.output_tokens) {
    body["max_tokens"] = *question.asked.output_tokens;
    if (endpoint.forces_length) {
      body["min_tokens"] = *question.asked.output_tokens;
      body["ignore_eos"] = true;
    }
  }
  put_members(endpoint.fields, endpoint.asks_usage, body);
  put_members(question.fields, endpoint.asks_usage, body);
  return body;
}

OpenAiClient::OpenAiClient(Endpoint endpoint, const base::Clock& clock, HttpLoop loop)
    : endpoint_(std::move(endpoint)), clock_(clock), loop_(std::move(loop)) {}

Result<std::unique_ptr<OpenAiClient>> OpenAiClient::create(Endpoint endpoint,
                                                           const base::Clock& clock) {
  PAWL_TRY(HttpLoop loop, HttpLoop::create(clock));
  return std::unique_ptr<OpenAiClient>(
      new OpenAiClient(std::move(endpoint), clock, std::move(loop)));
}

OpenAiClient::Id OpenAiClient::ask(Question question) {
  auto running = std::make_unique<Running>();
  const Id id = asked_++;
  const std::span<const char> prompt(question.prompt);
  question.asked.prompt_digest = base::xxh3_128(std::as_bytes(prompt));
  running->question = std::move(question);
  send(id, std::move(running));
  return id;
}

void OpenAiClient::send(Id id, std::unique_ptr<Running> running) {
  const Question& question = running->question;
  RequestRecord& record = running->record;
  record = {};
  record.index = id;
  record.asked = question.asked;
  record.scheduled_ns = question.scheduled_ns;
  running->asks_usage = question.asked.is_stream && endpoint_.asks_usage;
  running->reader = std::make_unique<AnswerReader>(record, question.keeps_text);

  HttpRequest request;
  request.url = endpoint_.url(endpoint_.is_chat ? "/v1/chat/completions" : "/v1/completions");
  request.body = question_body(endpoint_, question).dump();
  request.headers = endpoint_.all_headers();
  request.limits = endpoint_.limits;
  request.ca_file = endpoint_.ca_file;
  record.started_ns = clock_.now_ns();
  Running& placed = *running;
  HttpReader reader;
  reader.head = [this, &placed](const AnswerHead& head) { take_head(placed, head); };
  reader.bytes = [this, &placed](std::string_view bytes, ReadStamp stamp) {
    take_bytes(placed, bytes, stamp);
  };
  reader.end = [this, id](const ExchangeEnd& end) { take_end(id, end); };
  placed.transfer = loop_.start(std::move(request), std::move(reader));
  running_.emplace(id, std::move(running));
}

void OpenAiClient::take_head(Running& running, const AnswerHead& head) {
  RequestRecord& record = running.record;
  record.http_status = head.status;
  const std::string_view encoding = head.find("content-encoding");
  if (!encoding.empty() && !is_same_word(encoding, "identity")) {
    record.content_encoding = encoding;
    record.notes.push_back(
        "compressed, though it was asked not to be: times may be those of "
        "the compressor");
  }
  if (const auto seconds = parse_count(head.find("retry-after"))) {
    record.retry_after_s = static_cast<double>(*seconds);
  }
}

void OpenAiClient::take_bytes(Running& running, std::string_view bytes, ReadStamp stamp) {
  running.reader->feed(bytes, stamp);
  const auto& leave_after = running.record.asked.cancel_after;
  if (leave_after && running.reader->landed_tokens() >= *leave_after) {
    loop_.cancel(running.transfer);
  }
}

void OpenAiClient::take_end(Id id, const ExchangeEnd& end) {
  const auto found = running_.find(id);
  RequestRecord& record = found->second->record;
  record.sent_ns = end.sent_ns;
  record.closed_ns = end.closed_ns;
  record.is_connection_reused = end.is_connection_reused;
  record.fresh_retries = end.fresh_retries;
  found->second->reader->end({end.failure, end.reason, end.is_ours});
  if (found->second->asks_usage && is_usage_refused(record)) {
    endpoint_.asks_usage = false;
    std::unique_ptr<Running> again = std::move(found->second);
    running_.erase(found);
    send(id, std::move(again));
    return;
  }
  if (record.asked.is_stream && !endpoint_.asks_usage && !found->second->asks_usage) {
    record.notes.push_back("asked without stream_options: counts are not the server's");
  }
  finished_.push_back(std::move(record));
  running_.erase(found);
}

void OpenAiClient::leave(Id id) {
  loop_.cancel(id);
}

void OpenAiClient::leave_all() {
  for (const auto& [id, running] : running_) loop_.cancel(running->transfer);
}

void OpenAiClient::run(int64_t until_ns) {
  loop_.run(until_ns);
}

int64_t OpenAiClient::landed_tokens(Id id) const {
  const auto found = running_.find(id);
  return found == running_.end() ? 0 : found->second->reader->landed_tokens();
}

std::string OpenAiClient::request_id(Id id) const {
  const auto found = running_.find(id);
  return found == running_.end() ? "" : found->second->record.id;
}

std::vector<RequestRecord> OpenAiClient::take_finished() {
  return std::exchange(finished_, {});
}

RequestRecord OpenAiClient::ask_alone(Question question, const std::function<bool()>& stop) {
  constexpr int64_t kPatienceNs = 50'000'000;  // so that a stop is noticed
  const Id id = ask(std::move(question));
  bool has_left = false;
  while (running_.contains(id)) {
    if (stop && !has_left && stop()) {
      has_left = true;
      leave(id);
    }
    run(clock_.now_ns() + kPatienceNs);
  }
  const auto found = std::find_if(finished_.begin(), finished_.end(),
                                  [&](const auto& record) { return record.index == id; });
  RequestRecord record = std::move(*found);
  finished_.erase(found);
  return record;
}

}  // namespace pawl::lab
