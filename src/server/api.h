// SPDX-License-Identifier: Apache-2.0
// What each path does: requests in, replies out, no sockets. The state of the server (loading,
// ready, draining) and the requests under way are kept here.
//
// Threads: admit() and the cheap routes on the io thread, heavy ones on workers; both at once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/api_error.h"
#include "server/api_keys.h"
#include "server/http_message.h"
#include "server/limits.h"
#include "server/origins.h"
#include "server/reply_stream.h"
#include "server/request_table.h"
#include "server/routes.h"
#include "server/served_model.h"

namespace pawl::server {

// Where what happened is written down; members may be empty. From any thread.
struct Records {
  std::function<bool(LedgerRow)> begin;  // false: no room, the request is refused
  std::function<void(LedgerRow)> end;
  std::function<base::Result<std::optional<LedgerRow>>(std::string_view)> lookup;
  std::function<void(std::string_view route, int status)> response;
  std::function<void(int change)> connections;
  std::function<std::string()> metrics_text;
  ReplyClock clock;
};

struct ApiOptions {
  Limits limits;
  std::vector<std::string> cors_origins;
  bool is_loopback = true;
  std::string model_name;  // until the model is there
  std::string version;
  bool logs_prompts = false;
};

// What a request is answered with: a reply, or one that is still coming.
struct Outcome {
  HttpReply reply;
  std::shared_ptr<ReplyStream> stream;
};

// A request that may go on to its route, or the reply that refuses it.
struct Admission {
  const RouteRow* row = nullptr;
  std::string id;        // of the path
  std::string key_name;  // of the API key
  std::optional<HttpReply> refusal;
};

class Api {
 public:
  // post: runs a function on the io thread, from any thread; it outlives the Api. clock outlives
  // it.
  Api(ApiOptions options, Records records, std::function<void(std::function<void()>)> post,
      const base::Clock& clock);

  // -- any thread
  void set_model(std::shared_ptr<const ServedModel> model);
  void set_failed(std::string why);  // the model could not be loaded
  void set_keys(std::shared_ptr<const ApiKeys> keys);
  void set_draining();

  Admission admit(const HttpRequest& request) const;
  // REQUIRES: admit() gave a row
  Outcome handle(const Admission& admission, const HttpRequest& request);

  // Headers of every reply to this request: its id, and what a page may read.
  Headers common_headers(const HttpRequest& request) const;
  void log_reply(const HttpRequest& request, const Admission& admission, int status,
                 std::string_view reply_id);

  // Ends every request under way.
  void cancel_all(CancelCause cause);
  // Called on the io thread whenever a request is over. Set before any is accepted.
  void set_over_hook(std::function<void()> hook) { over_hook_ = std::move(hook); }
  size_t live_requests() const { return table_.live().size(); }

  const Limits& limits() const { return options_.limits; }
  const Records& records() const { return records_; }
  const base::Clock& clock() const { return clock_; }

 private:
  enum class State { kLoading, kReady, kFailed, kDraining };

  std::shared_ptr<const ServedModel> model() const;
  std::optional<ApiError> state_error() const;
  base::Result<std::optional<std::string>> key_name(const HttpRequest& request) const;

  Outcome generate(const Admission& admission, const HttpRequest& request);
  base::Result<std::shared_ptr<ReplyStream>> start(const Admission& admission,
                                                   const HttpRequest& request,
                                                   GenerationRequest wanted,
                                                   std::shared_ptr<const ServedModel> model);
  HttpReply tokenize(const HttpRequest& request);
  HttpReply detokenize(const HttpRequest& request);
  HttpReply models(const std::string& id, bool is_list) const;
  HttpReply list_requests(const Admission& admission, const HttpRequest& request) const;
  HttpReply show_request(const Admission& admission);
  HttpReply cancel_request(const Admission& admission);
  HttpReply health() const;
  HttpReply ready() const;
  HttpReply metrics() const;
  HttpReply props() const;
  void finish(LiveRequest& request);

  const ApiOptions options_;
  const Origins origins_;
  const Records records_;
  const std::function<void(std::function<void()>)> post_;
  const base::Clock& clock_;
  RequestTable table_;
  std::function<void()> over_hook_;

  mutable std::mutex mutex_;  // of what follows
  State state_ = State::kLoading;
  std::string failure_;
  std::shared_ptr<const ServedModel> model_;
  std::shared_ptr<const ApiKeys> keys_;
};

// The body as an object, under the limits of the server. Errors kBadFile: not UTF-8, not JSON, too
// deep; kInvalidArgument: no object.
base::Result<base::Json> parse_body(std::string_view body, const Limits& limits);

// 24 characters that nobody guesses.
std::string random_id();

}  // namespace pawl::server
