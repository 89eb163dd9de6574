// SPDX-License-Identifier: Apache-2.0
// What run, logits and their like begin with: a model found and opened, a prompt turned into ids,
// and how long each took.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "engine/runtime.h"

namespace pawl::cli {

// The flags that say what the prompt is.
struct PromptFlags {
  std::optional<std::string> text;
  std::optional<std::string> ids;
  std::optional<std::string> file;
  bool has_no_bos = false;

  void declare(CommandLine& line);
  bool is_given() const { return text || ids || file; }
};

struct ModelSession {
  // Opens the model of the common options. `is_reference`: float32 activations and the scalar
  // kernels. Warnings about the file are logged. Errors of resolve(), read_model_flags() and
  // Runtime::open(); kCancelled.
  static base::Result<ModelSession> open(const CommonOptions& common, bool is_reference,
                                         const base::Clock& clock, std::stop_token stop,
                                         const ModelFlags& flags = {});

  // The file that open() would open; a catalogue model is fetched. Errors of resolve().
  static base::Result<std::string> find(const CommonOptions& common, std::stop_token stop);

  std::string name;  // as the user wrote it
  std::string path;
  std::unique_ptr<engine::Runtime> runtime;
  double load_ms = 0;
  std::vector<model::AdapterSource> adapters;

  // A token's bytes for people and JSON: control tokens are shown.
  std::string piece(base::TokenId id) const;
  // [{path, scale}], of the adapters
  base::Json adapters_json() const;
};

struct Prompt {
  std::vector<base::TokenId> ids;
  double tokenize_ms = 0;
};

// Reads and tokenizes what the flags say. Errors: two sources at once, an empty prompt, an id
// outside the vocabulary, those of reading the file.
base::Result<Prompt> read_prompt(const CommandLine& line, const PromptFlags& flags,
                                 const engine::Runtime& runtime, const base::Clock& clock);

// The text of --prompt or --file alone. Errors: none or both given, those of reading the file.
base::Result<std::string> read_prompt_text(const CommandLine& line, const PromptFlags& flags);

// A text by itself, as the tokenizer takes it.
base::Result<Prompt> tokenize_prompt(const std::string& text, bool has_no_bos,
                                     const engine::Runtime& runtime, const base::Clock& clock);

// 64 hex digits, read once from begin to end. Of a split model: of this part.
base::Result<std::string> sha256_of_file(const std::string& path);

double ms_between(int64_t from_ns, int64_t to_ns);

}  // namespace pawl::cli
