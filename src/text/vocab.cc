// SPDX-License-Identifier: Apache-2.0
#include "text/vocab.h"

#include <algorithm>
#include <utility>

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;

// Texts of control tokens that close a turn or a document, and the families that use them. Files
// often name only one of several in their metadata.
constexpr std::string_view kEndMarkers[] = {
    "<|eot_id|>",          // Llama 3
    "<|eom_id|>",          // Llama 3, before a tool runs
    "<|im_end|>",          // ChatML
    "<|end|>",             // Phi 3, gpt-oss (but see kHarmonyEnd)
    "<|return|>",          // gpt-oss
    "<|call|>",            // gpt-oss
    "<end_of_turn>",       // Gemma
    "<turn|>",             // Gemma 4
    "<eos>",               // Gemma
    "<|endoftext|>",       // GPT-2 and its heirs
    "<|end_of_text|>",     // Llama 3 base, Granite
    "<EOT>",               // CodeLlama infill
    "[EOT]",               // Kimi K2
    "[EOS]",               // Kimi K2
    "<end_of_utterance>",  // SmolVLM
    "</s>",                // Llama 1 and 2, Mistral
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",  // DeepSeek
    "<|fim_pad|>",                                         // code models: the completion is over,
    "<|repo_name|>",                                       //   another file or repository begins
    "<|file_sep|>",
};

// In gpt-oss `<|end|>` closes one message of several; the turn ends with one of the other two.
constexpr std::string_view kHarmonyEnd = "<|end|>";
constexpr std::string_view kHarmonyTurnEnds[] = {"<|return|>", "<|call|>"};

Error bad_file(std::string message, std::string key) {
  return Error{ErrorCode::kBadFile, std::move(message), std::move(key)};
}

base::Result<void> check_special(const VocabSource& source) {
  const SpecialIds& special = source.special;
  const std::pair<const char*, TokenId> roles[] = {
      {"bos", special.bos},     {"eos", special.eos},     {"eot", special.eot},
      {"eom", special.eom},     {"unknown", special.unk}, {"seperator", special.sep},
      {"padding", special.pad}, {"mask", special.mask}};
  for (const auto& [role, id] : roles) {
    if (id == kNoToken) continue;
    if (id >= 0 && static_cast<size_t>(id) < source.texts.size()) continue;
    const std::string key = std::string("tokenizer.ggml.") + role + "_token_id";
    return bad_file(key + ": id " + std::to_string(id) +
                        " is outside the vocabulary, valid are 0 to " +
                        std::to_string(source.texts.size() - 1),
                    key);
  }
  if (source.add_bos && special.bos == kNoToken) {
    return bad_file(
        "tokenizer.ggml.add_bos_token is true and tokenizer.ggml.bos_token_id is missing",
        "tokenizer.ggml.bos_token_id");
  }
  if (source.add_eos && special.eos == kNoToken) {
    return bad_file(
        "tokenizer.ggml.add_eos_token is true and tokenizer.ggml.eos_token_id is missing",
        "tokenizer.ggml.eos_token_id");
  }
  return {};
}

}  // namespace

base::Result<Vocab> Vocab::create(VocabSource source) {
  if (source.texts.empty()) {
    return bad_file("tokenizer.ggml.tokens: the vocabulary has no entries",
                    "tokenizer.ggml.tokens");
  }
  PAWL_TRY_VOID(check_special(source));
  Vocab vocab;
  vocab.source_ = std::move(source);
  PAWL_TRY(vocab.index_, TextIndex::create(vocab.source_.texts));
  vocab.collect_end_ids();
  vocab.treat_end_markers_as_control();
  return vocab;
}

base::Result<void> Vocab::check(int64_t id) const {
  if (id >= 0 && static_cast<uint64_t>(id) < size()) return {};
  return Error{ErrorCode::kInvalidArgument,
               "token id " + std::to_string(id) + " is outside the vocabulary, valid are 0 to " +
                   std::to_string(size() - 1),
               ""};
}

float Vocab::score(TokenId id) const {
  return source_.scores.empty() ? 0.0f : source_.scores[static_cast<size_t>(id)];
}

TokenType Vocab::type(TokenId id) const {
  return source_.types.empty() ? TokenType::kNormal : source_.types[static_cast<size_t>(id)];
}

bool Vocab::is_end(TokenId id) const {
  return std::binary_search(end_ids_.begin(), end_ids_.end(), id);
}

void Vocab::add_end(TokenId id) {
  if (!is_end(id)) end_ids_.insert(std::lower_bound(end_ids_.begin(), end_ids_.end(), id), id);
}

void Vocab::collect_end_ids() {
  for (TokenId id : {special().eos, special().eot, special().eom}) {
    if (id != kNoToken) end_ids_.push_back(id);
  }
  const auto is_control = [this](std::string_view text) {
    const TokenId id = find(text);
    return id != kNoToken && type(id) == TokenType::kControl;
  };
  const bool harmony =
      std::all_of(std::begin(kHarmonyTurnEnds), std::end(kHarmonyTurnEnds), is_control);
  for (std::string_view marker : kEndMarkers) {
    if (harmony && marker == kHarmonyEnd) continue;
    if (is_control(marker)) end_ids_.push_back(find(marker));
  }
  std::sort(end_ids_.begin(), end_ids_.end());
  end_ids_.erase(std::unique(end_ids_.begin(), end_ids_.end()), end_ids_.end());
}

// Some files give `</s>` the type of plain text. The reference treats it as control all the same,
// so that a template can make it; but only what the file itself calls control, or names, ends a
// generation: in HTML the same text closes what is struck through.
void Vocab::treat_end_markers_as_control() {
  if (source_.types.empty()) return;
  for (std::string_view marker : kEndMarkers) {
    const TokenId id = find(marker);
    if (id != kNoToken) source_.types[static_cast<size_t>(id)] = TokenType::kControl;
  }
}

}  // namespace pawl::text
