// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/json.h"
#include "base/pending_file.h"
#include "cli/lab_progress.h"
#include "cli/model_store.h"
#include "cli/prompt_input.h"
#include "cli/version.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Heads of prompts must differ from those of every earlier run against the same server, whatever
// --seed says: that one orders the requests and draws the intervals.
uint64_t fresh_salt() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) ^
         (static_cast<uint64_t>(::getpid()) << 40);
}

bool knows_cache_salt(const lab::ServerFacts& facts) {
  return facts.server == "pawl" || facts.server == "vLLM";
}

bool is_local(std::string_view url) {
  return url.find("//127.") != std::string_view::npos ||
         url.find("//localhost") != std::string_view::npos ||
         url.find("//[::1]") != std::string_view::npos;
}

// Two prompts of different length teach what a word costs where the server does not count.
Result<void> learn_lengths(LabSession& session, const std::function<bool()>& should_stop) {
  // Short ones: a server that cuts long prompts would teach a wrong length.
  constexpr int64_t kWords[] = {16, 96};
  std::optional<int64_t> tokens[2];
  for (int i = 0; i < 2; ++i) {
    lab::Question question;
    question.asked.arm = "calibration";
    question.asked.is_warm_up = true;
    question.asked.output_tokens = 1;
    question.prompt = session.prompts->make_words(kWords[i]);
    const auto record = session.client->ask_alone(std::move(question), should_stop);
    if (record.state == lab::RequestState::kCancelled) {
      return Error{ErrorCode::kCancelled, "stopped", session.conditions.endpoint};
    }
    if (record.state != lab::RequestState::kSuccess) {
      return Error{ErrorCode::kNetwork, "a first request failed: " + record.error,
                   session.conditions.endpoint};
    }
    if (const auto count = lab::best_count(record.prompt)) tokens[i] = count->count;
  }
  if (tokens[0] && tokens[1]) session.prompts->learn(kWords[0], *tokens[0], kWords[1], *tokens[1]);
  session.conditions.prompt_counting =
      tokens[0] && tokens[1] ? "calibrated by usage" : "words; the server counts nothing";
  return {};
}

}  // namespace

void LabFlags::declare(CommandLine& line, bool has_concurrency) {
  server.declare(line);
  line.flag({"--self", "", "starts pawl serve with --model, a file or catalogue name, and asks it"},
            is_self);
  line.integer({"-t,--threads", "N", "threads of that server", "the CPUs this process may use"},
               threads, 1, 1024);
  line.text({"--machine", "TEXT", "what the server runs on", "this machine where it is local"},
            machine);
  if (has_concurrency) {
    line.integer({"--concurrency", "N", "requests at once"}, concurrency, 1, 4096);
  }
  line.group("Common");
  line.unsigned_integer({"--seed", "N", "order of the requests, and the intervals", "1"}, seed);
  line.flag({"--json", "", "prints one JSON document on standard output, nothing else"}, is_json);
  line.flag({"--quiet", "", "no notes and no progress on standard error"}, is_quiet);
}

lab::RunOptions LabSession::run_options(size_t done) const {
  return {conditions.concurrency.value_or(1), static_cast<int64_t>(done), knows_cache_salt(facts)};
}

Result<void> LabSession::check_context(int64_t prompt, int64_t output) const {
  if (!facts.context || prompt + output <= *facts.context) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("a prompt of {} tokens and {} of output exceed the server's context of {}",
                  prompt, output, *facts.context),
      conditions.endpoint};
}

Result<LabSession> open_lab_session(const LabFlags& flags, const base::Clock& clock,
                                    const InterruptWatch& interrupt) {
  const auto should_stop = [&interrupt] { return interrupt.has_stopped(); };
  LabSession session;
  EndpointFlags server = flags.server;
  if (flags.is_self) {
    const char* from_environment = std::getenv("PAWL_MODEL");
    LoopbackOptions options{server.model, flags.threads, {}};
    if (options.model.empty()) {
      options.model = from_environment != nullptr && *from_environment != '\0' ? from_environment
                                                                               : kDefaultModel;
    }
    note(flags.is_quiet, "starting pawl serve with " + options.model);
    PAWL_TRY(Loopback loopback, Loopback::start(options, should_stop));
    session.self.emplace(std::move(loopback));
    server.url = session.self->url();
    server.model.clear();
  }
  PAWL_TRY(lab::Endpoint endpoint, server.ask_endpoint(flags.is_quiet, clock));
  if (endpoint.fields.find("temperature") == nullptr) endpoint.fields["temperature"] = 0;
  PAWL_TRY(session.facts, lab::read_server_facts(endpoint, clock));
  if (endpoint.model.empty()) endpoint.model = session.facts.model;

  lab::Conditions& conditions = session.conditions;
  lab::describe(endpoint, session.facts, conditions);
  conditions.client_machine = lab::client_machine();
  if (flags.machine) {
    conditions.server_machine = *flags.machine;
  } else if (is_local(endpoint.base_url)) {
    conditions.server_machine = conditions.client_machine;
  }
  if (flags.is_self) {
    conditions.server_threads =
        flags.threads.value_or(static_cast<int64_t>(std::thread::hardware_concurrency()));
  }
  conditions.concurrency = flags.concurrency;
  conditions.cache = knows_cache_salt(session.facts) ? "unique prompt heads and cache salts"
                                                     : "unique prompt heads";
  conditions.sampling = endpoint.fields.dump();
  conditions.output_counting = "usage";
  conditions.date = lab::utc_date();
  conditions.seed = flags.seed_or_default();
  conditions.client_version = kVersion;

  PAWL_TRY(session.client, lab::OpenAiClient::create(endpoint, clock));
  lab::PromptMaker::Count count;
  if (session.facts.tokenize != lab::TokenizeWay::kNone) {
    count = [endpoint, facts = session.facts, &clock](std::string_view prompt) -> Result<int64_t> {
      PAWL_TRY(const auto counted, lab::count_prompt(endpoint, facts, prompt, clock));
      return counted.tokens;
    };
    conditions.prompt_counting = "exact by /tokenize";
  }
  session.prompts = std::make_unique<lab::PromptMaker>(fresh_salt(), std::move(count));
  PAWL_TRY_VOID([&]() -> Result<void> {
    if (session.prompts->is_exact()) return {};
    return learn_lengths(session, should_stop);
  }());
  return session;
}

Result<void> run_planned(LabSession& session, const std::vector<lab::Planned>& rest,
                         const LabFlags& flags, const base::Clock& clock,
                         const InterruptWatch& interrupt, lab::Recorder* recorder,
                         std::vector<lab::RequestRecord>& records) {
  double weight = 0;
  for (const lab::Planned& planned : rest) weight += lab::weight_of(planned);
  LabProgress progress(flags.is_quiet, rest.size(), weight, clock);
  lab::RunEvents events;
  events.should_stop = [&] { return interrupt.has_stopped(); };
  events.record = [&](const lab::RequestRecord& record) -> Result<void> {
    lab::Planned planned;
    planned.prompt = record.asked.prompt_tokens.value_or(0);
    planned.output = record.asked.output_tokens.value_or(0);
    progress.advance(lab::weight_of(planned), record.asked.arm + " " + record.asked.label);
    records.push_back(record);
    if (recorder != nullptr) return recorder->add(record);
    return {};
  };
  return lab::run_plan(*session.client, *session.prompts, rest, session.run_options(records.size()),
                       clock, events);
}

Result<std::vector<lab::RequestRecord>> run_plan_recorded(
    LabSession& session, const std::vector<lab::Planned>& plan, const LabFlags& flags,
    const base::Clock& clock, const InterruptWatch& interrupt,
    const std::optional<std::string>& path, const base::Json& experiment) {
  std::vector<lab::RequestRecord> records;
  std::optional<lab::Recorder> recorder;
  if (path) {
    base::Json header;
    header["experiment"] = experiment;
    header["conditions"] = lab::conditions_json(session.conditions);
    PAWL_TRY(lab::Recorder opened, lab::Recorder::open(*path, header));
    records = opened.found().records;
    recorder.emplace(std::move(opened));
  }
  const auto rest = lab::remaining(plan, records);
  PAWL_TRY_VOID(run_planned(session, rest, flags, clock, interrupt, recorder ? &*recorder : nullptr,
                            records));
  return records;
}

std::string human_seconds(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string human_ms(double ms) {
  if (ms >= 1000) return fmt::format("{:.3g} s", ms / 1000);
  return fmt::format("{:.3g} ms", ms);
}

Result<std::vector<int64_t>> parse_list(const CommandLine& line, std::string_view flag,
                                        std::string_view text, int64_t least) {
  constexpr int64_t kMost = 10'000'000;
  constexpr size_t kMostLengths = 64;
  std::vector<int64_t> values;
  for (bool is_last = false; !is_last;) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const auto value = parse_integer(word);
    if (!value || *value < least || *value > kMost) {
      return line.wrong(fmt::format("{}: '{}' is no number from {} to {}", flag, word.substr(0, 40),
                                    least, kMost));
    }
    values.push_back(*value);
    is_last = comma == std::string_view::npos;
    if (!is_last) text.remove_prefix(comma + 1);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > kMostLengths) {
    return line.wrong(fmt::format("{}: {} lengths, at most {}", flag, values.size(), kMostLengths));
  }
  return values;
}

Result<base::Json> read_json(const std::string& path) {
  PAWL_TRY(const std::string text, read_text(path));
  auto json = base::parse_json(text);
  if (!json.ok()) json.error().where = path;
  return json;
}

Result<void> write_text(const std::string& path, std::string_view text) {
  PAWL_TRY(auto file,
           base::PendingFile::create(path + ".part", base::PendingFile::Unfinished::kRemove));
  PAWL_TRY_VOID(file.write(std::as_bytes(std::span(text))));
  return file.commit(path);
}

}  // namespace pawl::cli
