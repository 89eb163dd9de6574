// SPDX-License-Identifier: Apache-2.0
#include "cli/model_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "cli/model_store.h"
#include "cli/prompt_input.h"
#include "model/forward.h"

namespace pawl::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

void PromptFlags::declare(CommandLine& line) {
  line.group("Prompt");
  line.text({"-p,--prompt", "TEXT", "the text to begin with"}, text);
  line.text({"-f,--file", "FILE", "reads it from a file, '-' for standard input"}, file);
  line.text({"--ids", "IDS", "vocabulary ids in its place, with commas between"}, ids);
  line.flag({"--no-bos", "", "leaves out the tokens that the model wants at begin and end"},
            has_no_bos);
}

Result<std::string> ModelSession::find(const CommonOptions& common, std::stop_token stop) {
  PAWL_TRY(const ModelStore store, ModelStore::open());
  PAWL_TRY(const auto path,
           store.resolve(common.model, {common.is_offline, common.is_quiet, std::move(stop)}));
  return path.string();
}

Result<ModelSession> ModelSession::open(const CommonOptions& common, bool is_reference,
                                        const base::Clock& clock, std::stop_token stop,
                                        const ModelFlags& flags) {
  PAWL_TRY(const ModelOptions of_model, read_model_flags(flags, is_reference));
  ModelSession session;
  session.name = common.model;
  PAWL_TRY(session.path, find(common, stop));
  const int64_t start_ns = clock.now_ns();
  engine::RuntimeOptions options;
  options.threads = static_cast<int>(common.threads.value_or(0));
  options.pretokenizer = common.pretokenizer;
  options.kv_type = of_model.kv_type;
  options.adapters = of_model.adapters;
  if (is_reference) {
    options.isa = "scalar";
    options.precision = model::Precision::kReference;
  }
  PAWL_TRY(session.runtime, engine::Runtime::open(session.path, options));
  session.load_ms = ms_between(start_ns, clock.now_ns());
  session.adapters = of_model.adapters;
  for (const auto& warning : session.runtime->warnings()) base::log_warning(warning);
  if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "interrupted", ""};
  return session;
}

base::Json ModelSession::adapters_json() const {
  base::Json json = base::Json::array();
  for (const model::AdapterSource& adapter : adapters) {
    base::Json one;
    one["path"] = adapter.path;
    one["scale"] = static_cast<double>(adapter.scale);
    json.push_back(std::move(one));
  }
  return json;
}

std::string ModelSession::piece(base::TokenId id) const {
  std::string text;
  runtime->tokenizer().append_piece(id, true, text);
  return text;
}

Result<Prompt> tokenize_prompt(const std::string& text, bool has_no_bos,
                               const engine::Runtime& runtime, const base::Clock& clock) {
  Prompt prompt;
  const int64_t start_ns = clock.now_ns();
  PAWL_TRY(prompt.ids, runtime.tokenizer().encode(text, {.add_bos = !has_no_bos}));
  prompt.tokenize_ms = ms_between(start_ns, clock.now_ns());
  if (prompt.ids.empty()) {
    return Error{ErrorCode::kInvalidArgument, "the prompt has no token", "--prompt"};
  }
  return prompt;
}

Result<std::string> read_prompt_text(const CommandLine& line, const PromptFlags& flags) {
  if (flags.text.has_value() == flags.file.has_value()) {
    return line.wrong("give one of --prompt and --file");
  }
  return flags.text ? *flags.text : read_text(*flags.file);
}

Result<Prompt> read_prompt(const CommandLine& line, const PromptFlags& flags,
                           const engine::Runtime& runtime, const base::Clock& clock) {
  const int sources =
      int{flags.text.has_value()} + int{flags.ids.has_value()} + int{flags.file.has_value()};
  if (sources != 1) return line.wrong("give one of --prompt, --file and --ids");
  if (flags.ids) {
    Prompt prompt;
    PAWL_TRY(prompt.ids, parse_ids(*flags.ids));
    for (const base::TokenId id : prompt.ids) {
      auto checked = runtime.tokenizer().vocab().check(id);
      if (!checked.ok())
        return Error{ErrorCode::kInvalidArgument, checked.error().message, "--ids"};
    }
    return prompt;
  }
  if (flags.text) return tokenize_prompt(*flags.text, flags.has_no_bos, runtime, clock);
  PAWL_TRY(const std::string text, read_text(*flags.file));
  return tokenize_prompt(text, flags.has_no_bos, runtime, clock);
}

Result<std::string> sha256_of_file(const std::string& path) {
  constexpr size_t kPiece = size_t{8} << 20;
  PAWL_TRY(const base::MappedFile file, base::MappedFile::open(path));
  base::Sha256 digest;
  for (auto rest = file.bytes(); !rest.empty();) {
    const auto piece = rest.first(std::min(kPiece, rest.size()));
    digest.update(piece);
    file.release(piece);  // as much as a piece in memory, not the file
    rest = rest.subspan(piece.size());
  }
  return digest.finish_hex();
}

double ms_between(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e6;
}

}  // namespace pawl::cli
