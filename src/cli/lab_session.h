// SPDX-License-Identifier: Apache-2.0
// What the commands that measure a server share: its flags, the server itself or one of our own,
// what it says of itself, prompts of exact length, and a line of progress.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/command_line.h"
#include "cli/endpoint_flags.h"
#include "cli/loopback.h"
#include "cli/terminal.h"
#include "lab/conditions.h"
#include "lab/openai_client.h"
#include "lab/plan.h"
#include "lab/prompts.h"
#include "lab/recorder.h"
#include "lab/server_facts.h"

namespace pawl::cli {

struct LabFlags {
  EndpointFlags server;
  bool is_self = false;
  std::optional<int64_t> threads;
  int64_t concurrency = 1;
  std::optional<std::string> machine;
  std::optional<uint64_t> seed;
  bool is_json = false, is_quiet = false;

  // `has_concurrency`: whether more than one request at once makes sense.
  void declare(CommandLine& line, bool has_concurrency);
  uint64_t seed_or_default() const { return seed.value_or(1); }
};

// Threads: none; one object, one thread. `flags` and `clock` outlive it.
struct LabSession {
  std::optional<Loopback> self;
  lab::ServerFacts facts;
  lab::Conditions conditions;
  std::unique_ptr<lab::OpenAiClient> client;
  std::unique_ptr<lab::PromptMaker> prompts;

  // With the load of the conditions; `done` records are there already.
  lab::RunOptions run_options(size_t done) const;

  // Error kInvalidArgument where a request of these lengths exceeds the server's context.
  base::Result<void> check_context(int64_t prompt, int64_t output) const;
};

// Starts the server if there is none, asks what it is, and learns how long prompts become. Errors
// name the flag or the server.
base::Result<LabSession> open_lab_session(const LabFlags& flags, const base::Clock& clock,
                                          const InterruptWatch& interrupt);

// Asks what of the plan is left, with a line of progress. Each answer is appended to `records`,
// which may hold some already, and to the recorder where there is one (null: none).
base::Result<void> run_planned(LabSession& session, const std::vector<lab::Planned>& rest,
                               const LabFlags& flags, const base::Clock& clock,
                               const InterruptWatch& interrupt, lab::Recorder* recorder,
                               std::vector<lab::RequestRecord>& records);

// The same for a whole plan, gone on with where `path`, a file of raw records, holds a part of it;
// no path: nothing is kept. `experiment`: what must be equal for that.
base::Result<std::vector<lab::RequestRecord>> run_plan_recorded(
    LabSession& session, const std::vector<lab::Planned>& plan, const LabFlags& flags,
    const base::Clock& clock, const InterruptWatch& interrupt,
    const std::optional<std::string>& path, const base::Json& experiment);

// Of the time an exchange rate of 10 would give: good enough for a first estimate.
std::string human_seconds(double seconds);  // "45 s", "3 min 20 s"
std::string human_ms(double ms);            // "12.3 ms", "1.23 s"

// "32,128,512": ascending, each once, from `least` on. Error kInvalidArgument names the flag.
base::Result<std::vector<int64_t>> parse_list(const CommandLine& line, std::string_view flag,
                                              std::string_view text, int64_t least);

// A whole JSON file. Errors of reading and parsing, `where` the path.
base::Result<base::Json> read_json(const std::string& path);
// Written whole or not at all. Error kIo.
base::Result<void> write_text(const std::string& path, std::string_view text);

}  // namespace pawl::cli
