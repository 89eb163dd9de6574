// SPDX-License-Identifier: Apache-2.0
#include "cli/generation.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/model_session.h"
#include "cli/terminal.h"
#include "policy/choice.h"

namespace pawl::cli {

using base::Json;

void GenerationSink::on_delta(const engine::Delta& delta) {
  ids_.push_back(delta.id);
  if (delta.choice != nullptr && keeps_logprobs_) keep_logprob(*delta.choice);
  if (!delta.text.empty() && first_text_ns_ == 0) first_text_ns_ = delta.stamp_ns;
  add_text(delta.text);
}

void GenerationSink::on_finished(const engine::Finished& finished) {
  add_text(finished.text);
  finished_ = finished;
}

void GenerationSink::keep_logprob(const policy::Choice& choice) {
  Json row;
  row["id"] = int64_t{choice.id};
  row["logprob"] = choice.logprob;
  row["top"] = Json::array();
  for (const auto& [id, logprob] : choice.top) {
    Json entry;
    entry["id"] = int64_t{id};
    entry["logprob"] = logprob;
    row["top"].push_back(std::move(entry));
  }
  logprobs_.push_back(std::move(row));
}

void GenerationSink::add_text(std::string_view text) {
  text_ += text;
  if (output_ == Output::kNone || text.empty()) return;
  // What a model says must not move the cursor or rename the window.
  const std::string shown =
      output_ == Output::kTerminal ? without_control_characters(text) : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

GenerationTimes times_of(const GenerationSink& sink) {
  const engine::Timeline& line = sink.finished().timeline;
  const engine::Usage& usage = sink.finished().usage;
  GenerationTimes times;
  times.total_ms = ms_between(line.received_ns, line.finished_ns);
  if (line.first_token_ns == 0) return times;
  times.prefill_ms = ms_between(line.received_ns, line.first_token_ns);
  if (sink.first_text_ns() != 0) {
    times.ttft_ms = ms_between(line.received_ns, sink.first_text_ns());
  }
  if (usage.completion_tokens < 2) return times;
  times.decode_ms = ms_between(line.first_token_ns, line.last_token_ns);
  const double per_token = *times.decode_ms / static_cast<double>(usage.completion_tokens - 1);
  const auto computed = static_cast<double>(usage.prompt_tokens - usage.cached_tokens);
  if (per_token > 0) times.tokens_per_second = 1000 / per_token;
  if (*times.prefill_ms > 0) {
    times.prompt_tokens_per_output_token = per_token / (*times.prefill_ms / computed);
  }
  return times;
}

namespace {

std::string shown_ms(double ms) {
  return ms < 9.95 ? fmt::format("{:.1f} ms", ms) : grouped(static_cast<int64_t>(ms + 0.5)) + " ms";
}

}  // namespace

std::string summary_line(const GenerationSink& sink, const GenerationTimes& times) {
  const engine::Usage& usage = sink.finished().usage;
  std::string line = fmt::format("{} prompt tokens", grouped(usage.prompt_tokens));
  if (usage.cached_tokens > 0) line += fmt::format(" ({} known)", grouped(usage.cached_tokens));
  if (times.prefill_ms) line += " in " + shown_ms(*times.prefill_ms);
  line += fmt::format(" · {} output token{}", grouped(usage.completion_tokens),
                      usage.completion_tokens == 1 ? "" : "s");
  if (times.decode_ms) line += " in " + shown_ms(*times.decode_ms);
  if (times.tokens_per_second) line += fmt::format(" ({:.1f}/s)", *times.tokens_per_second);
  if (usage.drafted_tokens > 0) {
    line += fmt::format(" · {} of {} guesses right", grouped(usage.accepted_draft_tokens),
                        grouped(usage.drafted_tokens));
  }
  if (times.ttft_ms) line += " · first token after " + shown_ms(*times.ttft_ms);
  if (times.prompt_tokens_per_output_token) {
    line += fmt::format(" · one output token cost as much as {:.1f} prompt tokens",
                        *times.prompt_tokens_per_output_token);
  }
  return line;
}

}  // namespace pawl::cli
