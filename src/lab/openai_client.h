// SPDX-License-Identifier: Apache-2.0
// Questions to an OpenAI-compatible server, several at once on one thread, each answered by a raw
// record. Every question is sent once. The one exception is told in the record: a server that
// refuses `stream_options` is asked again without, and its later answers have no usage.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "lab/answer_reader.h"
#include "lab/http_loop.h"
#include "lab/record.h"

namespace pawl::lab {

struct Endpoint {
  std::string base_url;              // "http://127.0.0.1:8080", with or without "/v1" at its end
  std::string model;                 // sent as "model"; empty: not sent
  bool is_chat = true;               // else /v1/completions
  std::string api_key;               // empty: no Authorization header
  std::vector<std::string> headers;  // "Name: value", with every request
  base::Json fields;                 // members of every body, an object or null: temperature, …
  bool forces_length = true;  // asks for ignore_eos and min_tokens where output_tokens is set
  bool asks_usage = true;     // stream_options.include_usage
  HttpLimits limits;
  std::string ca_file;  // as in HttpRequest

  // The URL of "/v1/models" or, without "v1" in front, of "/tokenize".
  std::string url(std::string_view path) const;
  // What every request carries.
  std::vector<std::string> all_headers() const;
};

// From a flag's value: http or https, a host. The key comes from the environment variable
// `key_variable`, absent: none. Error kInvalidArgument.
base::Result<Endpoint> make_endpoint(const std::string& url, const std::string& key_variable);

struct Question {
  Asked asked;
  std::string prompt;
  std::optional<int64_t> scheduled_ns;
  base::Json fields;        // members of this body, over those of the endpoint
  bool keeps_text = false;  // in the record
};

// The body that asks it.
base::Json question_body(const Endpoint& endpoint, const Question& question);

// Threads: none of its own; one at a time.
class OpenAiClient {
 public:
  using Id = int64_t;  // of a question: the index of its record

  // clock: outlives it. Errors as HttpLoop::create.
  static base::Result<std::unique_ptr<OpenAiClient>> create(Endpoint endpoint,
                                                            const base::Clock& clock);
  OpenAiClient(const OpenAiClient&) = delete;
  OpenAiClient& operator=(const OpenAiClient&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }

  // Sends. Indices of records count from 0 in this order.
  Id ask(Question question);
  // Leaves; the record ends as cancelled, or as it ended before.
  void leave(Id id);
  void leave_all();
  // As HttpLoop::run.
  void run(int64_t until_ns);
  int64_t in_flight() const { return static_cast<int64_t>(running_.size()); }
  bool is_running(Id id) const { return running_.contains(id); }
  // What the record of a running request holds so far: tokens seen, and its id at the server.
  int64_t landed_tokens(Id id) const;
  std::string request_id(Id id) const;

  // Records that are complete, in the order of their ends; each is given once.
  std::vector<RequestRecord> take_finished();

  // One question alone, to its end. `stop`: leaves when asked to.
  RequestRecord ask_alone(Question question, const std::function<bool()>& stop = {});

 private:
  struct Running {
    RequestRecord record;
    std::unique_ptr<AnswerReader> reader;
    HttpLoop::Id transfer = 0;
    Question question;  // for asking it again
    bool asks_usage = false;
  };
  OpenAiClient(Endpoint endpoint, const base::Clock& clock, HttpLoop loop);
  void send(Id id, std::unique_ptr<Running> running);
  void take_head(Running& running, const AnswerHead& head);
  void take_bytes(Running& running, std::string_view bytes, ReadStamp stamp);
  void take_end(Id id, const ExchangeEnd& end);

  Endpoint endpoint_;
  const base::Clock& clock_;
  HttpLoop loop_;
  std::map<Id, std::unique_ptr<Running>> running_;
  std::vector<RequestRecord> finished_;
  Id asked_ = 0;
};

}  // namespace pawl::lab
