// SPDX-License-Identifier: Apache-2.0
// pawl serve: listens at once, loads the model beside that, and ends in good order when asked to.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/log.h"
#include "cli/command.h"
#include "cli/serve_model.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "kernels/kernels.h"
#include "server/recorder.h"
#include "server/server.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

const CommandHelp kServeHelp = {"serve", "Serves a model over HTTP, in the manner of OpenAI's API.",
                                "pawl serve --port 8080", "[options]"};

namespace {

struct ServeFlags {
  ServeModelOptions model;
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  std::optional<std::string> key_file;
  std::vector<std::string> cors_origins;
  double drain_s = 4;
  std::optional<std::string> ledger;
  bool has_no_ledger = false;
  bool logs_prompts = false;
  int64_t max_connections = 1024;
  std::string json_whitespace = "none";
  int64_t ping_ms = 2000;

  void declare(CommandLine& line) {
    line.group("Network");
    line.text({"--host", "ADDRESS",
               "the interface to listen on; others than 127.0.0.1 let other "
               "machines in"},
              host);
    line.integer({"--port", "N", "0 takes any that is free and tells it"}, port, 0, 65535);
    line.text({"--api-key-file", "FILE", "one key a line, 'name: key'; SIGHUP reads it again"},
              key_file);
    line.texts({"--cors-origin", "ORIGIN", "web pages of it may use the server; repeatable"},
               cors_origins);
    line.integer({"--max-connections", "N", "open at once"}, max_connections, 1, 1 << 20);
    line.integer({"--ping-ms", "MS", "silence after which a stream carries a comment"}, ping_ms, 10,
                 3'600'000);
    line.number({"--drain-timeout", "S", "seconds that replies have to end when asked to stop"},
                drain_s, 0, 86'400);
    line.group("Engine");
    line.text({"--alias", "NAME", "the model's name for clients"}, model.alias);
    line.text({"--chat-template", "FILE", "in place of the model's own; a file or a name"},
              model.chat_template);
    line.integer({"--context", "N", "positions of one request: prompt and completion",
                  "the model's, at most 4096"},
                 model.context, 2, 1 << 24);
    line.integer({"--parallel", "N", "sequences that run at once"}, model.max_sequences, 1, 256);
    line.integer({"--max-waiting", "N", "more that wait; beyond them the answer is 429"},
                 model.max_waiting, 0, 1 << 20);
    line.integer({"--kv-positions", "N", "of all sequences together", "4 contexts"},
                 model.kv_positions, 2, int64_t{1} << 32);
    line.group("Structured answers");
    line.text({"--json-whitespace", "none|any", "between the lexemes of JSON that obeys a schema"},
              json_whitespace);
    line.group("Records");
    line.text({"--ledger", "FILE", "one row for each request", "$PAWL_HOME/usage.db"}, ledger);
    line.flag({"--no-ledger", "", "nothing is recorded"}, has_no_ledger);
    line.flag({"--log-prompts", "", "the log holds bodies of requests too"}, logs_prompts);
    model.model.declare(line);
    add_common_options(line, model.common, "drawn for each request");
  }

  Result<std::unique_ptr<server::Ledger>> open_ledger() const {
    if (has_no_ledger) return std::unique_ptr<server::Ledger>();
    if (ledger) return server::Ledger::open(*ledger);
    PAWL_TRY(const auto path, server::default_ledger_path());
    return server::Ledger::open(path);
  }

  server::ServerOptions server_options() const {
    server::ServerOptions options;
    options.host = host;
    options.port = static_cast<uint16_t>(port);
    options.key_file = key_file.value_or("");
    options.drain_ms = static_cast<int64_t>(drain_s * 1000);
    options.api.cors_origins = cors_origins;
    options.api.is_loopback = server::is_loopback_address(host);
    options.api.version = kVersion;
    options.api.logs_prompts = logs_prompts;
    options.api.limits.connections = static_cast<int>(max_connections);
    options.api.limits.ping_ms = ping_ms;
    return options;
  }
};

// The kernel variant that a model will run with: $PAWL_ISA, else the best of this machine.
Result<std::string> kernel_variant() {
  const char* forced = std::getenv("PAWL_ISA");
  PAWL_TRY(const kernels::Table* table, kernels::choose_table(forced == nullptr ? "" : forced));
  return std::string(table->name);
}

// How the model came to be there, or why not: the loading thread's until `is_done`.
struct Loading {
  std::shared_ptr<const server::ServedModel> model;
  std::optional<Error> error;
  std::stop_source stop;
  std::atomic<bool> is_done{false};
};

void print_ready(const server::Server& server, const server::ServedModel& model) {
  const bool is_chat = static_cast<bool>(model.render);
  const std::string body = is_chat
                               ? R"({"messages":[{"role":"user","content":"Hello"}],"stream":true})"
                               : R"({"prompt":"The sea is","max_tokens":32,"stream":true})";
  fmt::print("{} is ready at {} - try: curl -N {}/v1/{} -d '{}'\n", model.name, server.url(),
             server.url(), is_chat ? "chat/completions" : "completions", body);
  std::fflush(stdout);
}

void load(const ServeFlags& flags, server::Server& server, server::Recorder& recorder,
          const base::Clock& clock, Loading& loading) {
  auto model =
      open_served_model(flags.model, clock, recorder.step_observer(), loading.stop.get_token());
  if (model.ok()) {
    loading.model = *model;
    recorder.set_engine_stats(loading.model->stats);
    loading.is_done = true;
    server.api().set_model(loading.model);
    print_ready(server, *loading.model);
  } else {
    loading.error = model.error();
    loading.is_done = true;
    server.api().set_failed(loading.error->message);
    server.drain();
  }
}

}  // namespace

Result<ExitStatus> serve_command(const Arguments& arguments) {
  CommandLine line(kServeHelp);
  ServeFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (flags.json_whitespace != "none" && flags.json_whitespace != "any") {
    return line.wrong("--json-whitespace is none or any");
  }
  if (flags.json_whitespace == "any") flags.model.json_whitespace = grammar::Whitespace::kAny;
  if (!flags.model.common.is_quiet) base::set_log_level(base::LogLevel::kInfo);

  const base::SteadyClock clock;
  PAWL_TRY(const std::string variant, kernel_variant());
  PAWL_TRY(auto ledger, flags.open_ledger());
  server::Recorder recorder(std::move(ledger), {kVersion, served_name(flags.model), variant});
  PAWL_TRY(const auto server,
           server::Server::listen(flags.server_options(), recorder.records(), clock));
  note(flags.model.common.is_quiet, "listening on " + server->url() + ", loading the model");

  Loading loading;
  std::thread loader([&] { load(flags, *server, recorder, clock, loading); });
  server->run();

  loading.stop.request_stop();
  if (!loading.is_done) {
    // Reading a model cannot be interrupted, and nothing of it needs an orderly end.
    std::fflush(stdout);
    std::_Exit(static_cast<int>(ExitStatus::kDone));
  }
  loader.join();
  if (loading.error) return *loading.error;
  loading.model->stop();
  server->settle();
  recorder.set_engine_stats({});
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
