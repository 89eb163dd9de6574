// SPDX-License-Identifier: Apache-2.0
// One generation as a command sees it: streamed to the terminal while it runs, and afterwards what
// it took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/token.h"
#include "engine/event_sink.h"

namespace pawl::cli {

// Threads: as EventSink; the results are read after on_finished.
class GenerationSink final : public engine::EventSink {
 public:
  enum class Output { kNone, kStdout, kTerminal };  // kTerminal: no control characters but newlines

  GenerationSink(Output output, bool keeps_logprobs)
      : output_(output), keeps_logprobs_(keeps_logprobs) {}

  void on_delta(const engine::Delta& delta) override;
  void on_finished(const engine::Finished& finished) override;

  const std::vector<base::TokenId>& ids() const { return ids_; }
  const base::Json& logprobs() const { return logprobs_; }  // [{id, logprob, top[{id, logprob}]}]
  const std::string& text() const { return text_; }
  const engine::Finished& finished() const { return finished_; }
  int64_t first_text_ns() const { return first_text_ns_; }  // 0: no text came

 private:
  void keep_logprob(const policy::Choice& choice);
  void add_text(std::string_view text);

  Output output_;
  bool keeps_logprobs_;
  std::vector<base::TokenId> ids_;
  base::Json logprobs_ = base::Json::array();
  std::string text_;
  engine::Finished finished_;
  int64_t first_text_ns_ = 0;
};

// Milliseconds of one generation; nothing where something did not happen.
struct GenerationTimes {
  std::optional<double> prefill_ms;  // received → first token selected: the prompt is computed
  std::optional<double> decode_ms;   // first token → last token
  std::optional<double> ttft_ms;     // received → first text
  double total_ms = 0;               // received → finished
  std::optional<double> tokens_per_second;  // (tokens - 1) / decode
  // Time per output token / time per prompt token.
  std::optional<double> prompt_tokens_per_output_token;
};

GenerationTimes times_of(const GenerationSink& sink);

// "12 prompt tokens in 80 ms · 3 output tokens in 50 ms (40.1/s) · …"
std::string summary_line(const GenerationSink& sink, const GenerationTimes& times);

}  // namespace pawl::cli
