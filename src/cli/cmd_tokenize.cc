// SPDX-License-Identifier: Apache-2.0
// pawl tokenize and pawl detokenize: text to ids and back, with the model's own tokenizer.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/model_store.h"
#include "cli/prompt_input.h"
#include "cli/terminal.h"
#include "text/tokenizer.h"

namespace pawl::cli {

using base::Json;
using base::Result;
using base::TokenId;

const CommandHelp kTokenizeHelp = {
    "tokenize", "Shows the token ids that a model makes of a text, and each one's piece.",
    "pawl tokenize \"The sea is blue\"", "TEXT [options]"};
const CommandHelp kDetokenizeHelp = {"detokenize", "Gives the text that token ids stand for.",
                                     "pawl detokenize --ids 818,5442,563,3730",
                                     "--ids IDS [options]"};

namespace {

Result<std::unique_ptr<text::Tokenizer>> open_tokenizer(const CommonOptions& common) {
  PAWL_TRY(const ModelStore store, ModelStore::open());
  const InterruptWatch interrupt;
  PAWL_TRY(const auto path,
           store.resolve(common.model, {common.is_offline, common.is_quiet, interrupt.token()}));
  PAWL_TRY(auto file, gguf::open(path.string()));
  PAWL_TRY(auto tokenizer, text::Tokenizer::create(std::move(file), common.pretokenizer));
  for (const auto& warning : tokenizer->warnings()) base::log_warning(warning);
  return tokenizer;
}

struct TokenizeOptions {
  std::optional<std::string> text;
  std::optional<std::string> file;
  bool has_no_bos = false;
  bool parses_special = false;
  bool shows_ids_only = false;
};

Result<std::string> text_to_tokenize(const CommandLine& line, const TokenizeOptions& options) {
  if (options.text && options.file) return line.wrong("give either TEXT or --file");
  if (options.text) return *options.text;
  if (options.file) return read_text(*options.file);
  return line.wrong("TEXT is missing; --file - reads standard input");
}

void print_pieces(const std::vector<TokenId>& ids, const std::vector<std::string>& pieces) {
  size_t width = 2;
  for (const TokenId id : ids) width = std::max(width, fmt::format("{}", id).size());
  for (size_t i = 0; i < ids.size(); ++i) {
    fmt::print("{:>{}}  {}\n", ids[i], width, quoted_piece(pieces[i]));
  }
}

}  // namespace

Result<ExitStatus> tokenize_command(const Arguments& arguments) {
  CommandLine line(kTokenizeHelp);
  TokenizeOptions options;
  CommonOptions common;
  line.group("Text");
  line.word({"TEXT", "", "the text; in quotes if it holds spaces"}, options.text);
  line.text({"-f,--file", "FILE", "reads the text from a file, '-' for standard input"},
            options.file);
  line.group("Tokens");
  line.flag({"--no-bos", "", "leaves out the tokens that the model wants at the begin and end"},
            options.has_no_bos);
  line.flag({"--special", "", "reads special tokens that are written in the text"},
            options.parses_special);
  line.flag({"--ids", "", "prints only the ids, on one line with commas"}, options.shows_ids_only);
  add_common_options(line, common);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;

  PAWL_TRY(const std::string given, text_to_tokenize(line, options));
  PAWL_TRY(const auto tokenizer, open_tokenizer(common));
  PAWL_TRY(const auto ids, tokenizer->encode(given, {.add_bos = !options.has_no_bos,
                                                     .parse_special = options.parses_special}));
  std::vector<std::string> pieces;
  for (const TokenId id : ids) tokenizer->append_piece(id, true, pieces.emplace_back());

  if (common.is_json) {
    Json document;
    document["ids"] = Json::array_of({ids.begin(), ids.end()});
    document["pieces"] = Json::array_of({pieces.begin(), pieces.end()});
    fmt::print("{}\n", document.dump());
  } else if (options.shows_ids_only) {
    fmt::print("{}\n", fmt::join(ids, ","));
  } else {
    print_pieces(ids, pieces);
    note(common.is_quiet,
         fmt::format("{} tokens, {} bytes", grouped(static_cast<int64_t>(ids.size())),
                     grouped(static_cast<int64_t>(given.size()))));
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> detokenize_command(const Arguments& arguments) {
  CommandLine line(kDetokenizeHelp);
  std::optional<std::string> ids_text;
  bool shows_special = false;
  CommonOptions common;
  line.group("Tokens");
  line.text({"--ids", "IDS", "vocabulary ids with commas between"}, ids_text);
  line.flag({"--special", "", "shows special tokens too, which else have no text"}, shows_special);
  add_common_options(line, common);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (!ids_text) return line.wrong("--ids is missing");
  std::vector<TokenId> ids;
  if (!ids_text->empty()) {
    PAWL_TRY(ids, parse_ids(*ids_text));
  }
  PAWL_TRY(const auto tokenizer, open_tokenizer(common));
  auto text = tokenizer->decode(ids, shows_special);
  if (!text.ok()) {
    if (text.error().where.empty()) text.error().where = "--ids";
    return std::move(text).error();
  }
  if (common.is_json) {
    Json document;
    document["text"] = *text;
    fmt::print("{}\n", document.dump());
  } else {
    fmt::print("{}\n", *text);
  }
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
