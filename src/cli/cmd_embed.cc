// SPDX-License-Identifier: Apache-2.0
// pawl embed: one vector for each text, out of the model's final hidden states.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_session.h"
#include "cli/npy_file.h"
#include "cli/prompt_input.h"
#include "cli/terminal.h"
#include "model/model.h"
#include "probe/rows.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

const CommandHelp kEmbedHelp = {
    "embed", "Turns texts into vectors: the mean of a model's last hidden states, or the last one.",
    "pawl embed -p \"The sea is blue\"", "-p TEXT | --lines FILE [options]"};

namespace {

struct EmbedFlags {
  PromptFlags prompt;
  std::optional<std::string> lines;
  std::optional<std::string> pooling;
  bool is_raw = false;
  std::optional<std::string> out;
  bool is_reference = false;
  ModelFlags model;
  CommonOptions common;

  void declare(CommandLine& line) {
    prompt.declare(line);
    line.text({"--lines", "FILE", "one text a line, a vector for each; '-' for standard input"},
              lines);
    line.group("Vectors");
    line.text({"--pooling", "KIND", "mean, last or cls: of which positions",
               "what the file says, else mean"},
              pooling);
    line.flag({"--raw", "", "as they are, not brought to length 1"}, is_raw);
    line.text({"--out", "F.npy", "writes the vectors as float32 [texts, width]"}, out);
    line.flag({"--reference", "", "float32 activations and the scalar kernels: slow and exact"},
              is_reference);
    model.declare(line);
    add_common_options(line, common);
  }
};

Result<std::vector<Prompt>> read_texts(const CommandLine& line, const EmbedFlags& flags,
                                       const engine::Runtime& runtime, const base::Clock& clock) {
  std::vector<Prompt> prompts;
  if (!flags.lines) {
    PAWL_TRY(Prompt prompt, read_prompt(line, flags.prompt, runtime, clock));
    prompts.push_back(std::move(prompt));
    return prompts;
  }
  if (flags.prompt.is_given()) return line.wrong("--lines takes the place of a prompt");
  PAWL_TRY(const std::string text, read_text(*flags.lines));
  for (const std::string& one : lines_of(text)) {
    PAWL_TRY(Prompt prompt, tokenize_prompt(one, flags.prompt.has_no_bos, runtime, clock));
    prompts.push_back(std::move(prompt));
  }
  if (prompts.empty()) return line.wrong("--lines: the file has no text");
  return prompts;
}

Result<model::Pooling> pooling_of(const CommandLine& line, const EmbedFlags& flags,
                                  const engine::Runtime& runtime) {
  if (!flags.pooling) {
    PAWL_TRY(const auto of_file, model::read_pooling(runtime.model()->file()->metadata()));
    return of_file.value_or(model::Pooling::kMean);
  }
  const auto pooling = model::find_pooling(*flags.pooling);
  if (pooling) return *pooling;
  return line.wrong(
      fmt::format("--pooling: '{}' is none of mean, last, cls", flags.pooling->substr(0, 40)));
}

double length_of(std::span<const float> vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

void print_vectors(const std::vector<Prompt>& prompts,
                   const std::vector<std::vector<float>>& vectors) {
  for (size_t i = 0; i < vectors.size(); ++i) {
    fmt::print("{:>4}  {} tokens, {} numbers, length {:.6g}:", i, prompts[i].ids.size(),
               vectors[i].size(), length_of(vectors[i]));
    for (size_t n = 0; n < std::min<size_t>(6, vectors[i].size()); ++n)
      fmt::print(" {:.6f}", vectors[i][n]);
    fmt::print("{}\n", vectors[i].size() > 6 ? " …" : "");
  }
}

Json to_json(const ModelSession& session, model::Pooling pooling, bool is_raw,
             const std::vector<Prompt>& prompts, const std::vector<std::vector<float>>& vectors) {
  Json document;
  document["model"] = session.name;
  document["pooling"] = model::pooling_name(pooling);
  document["normalised"] = !is_raw;
  document["width"] = session.runtime->model()->config().width;
  document["embeddings"] = Json::array();
  for (size_t i = 0; i < vectors.size(); ++i) {
    Json row;
    row["ids"] = Json::array_of({prompts[i].ids.begin(), prompts[i].ids.end()});
    Json::Array numbers;
    for (const float x : vectors[i]) numbers.push_back(Json(static_cast<double>(x)));
    row["vector"] = Json::array_of(std::move(numbers));
    document["embeddings"].push_back(std::move(row));
  }
  return document;
}

Result<void> write_npy(const std::string& path, const std::vector<std::vector<float>>& vectors) {
  PAWL_TRY(NpyFile file, NpyFile::create(path, static_cast<int64_t>(vectors.size()),
                                         static_cast<int64_t>(vectors.front().size())));
  for (const auto& vector : vectors) PAWL_TRY_VOID(file.write_row(vector));
  return file.finish();
}

}  // namespace

Result<ExitStatus> embed_command(const Arguments& arguments) {
  CommandLine line(kEmbedHelp);
  EmbedFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  const InterruptWatch interrupt;
  const base::SteadyClock clock;
  PAWL_TRY(const ModelSession session, ModelSession::open(flags.common, flags.is_reference, clock,
                                                          interrupt.token(), flags.model));
  engine::Runtime& runtime = *session.runtime;
  PAWL_TRY(const model::Pooling pooling, pooling_of(line, flags, runtime));
  PAWL_TRY(const std::vector<Prompt> prompts, read_texts(line, flags, runtime, clock));
  std::vector<std::vector<float>> vectors;
  for (const Prompt& prompt : prompts) {
    if (interrupt.has_stopped()) return Error{ErrorCode::kCancelled, "interrupted", ""};
    PAWL_TRY(std::vector<float> vector,
             probe::compute_embedding(runtime, prompt.ids, pooling, !flags.is_raw));
    vectors.push_back(std::move(vector));
  }
  if (flags.out) PAWL_TRY_VOID(write_npy(*flags.out, vectors));
  if (flags.common.is_json) {
    fmt::print("{}\n", to_json(session, pooling, flags.is_raw, prompts, vectors).dump());
    return ExitStatus::kDone;
  }
  note(flags.common.is_quiet, fmt::format("pooling: {}", model::pooling_name(pooling)));
  print_vectors(prompts, vectors);
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
