// SPDX-License-Identifier: Apache-2.0
#include "text/vocab_file.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string key_of(std::string_view name) {
  return std::string(kPrefix) + std::string(name);
}

base::Result<void> check_length(const std::string& key, size_t length, size_t entries) {
  if (length == entries) return {};
  return Error{ErrorCode::kBadFile,
               key + ": array of " + std::to_string(length) + ", the vocabulary has " +
                   std::to_string(entries) + " entries",
               key};
}

base::Result<std::vector<std::string_view>> read_texts(const gguf::Metadata& metadata) {
  PAWL_TRY(const gguf::StringArray array, metadata.get_string_array(key_of("tokens")));
  std::vector<std::string_view> texts;
  texts.reserve(array.size());
  for (std::string_view text : array) texts.push_back(text);
  return texts;
}

base::Result<std::vector<float>> read_scores(const gguf::Metadata& metadata, size_t entries,
                                             bool needed) {
  const std::string key = key_of("scores");
  std::vector<float> scores;
  if (!needed && metadata.find(key) == nullptr) return scores;
  PAWL_TRY(const gguf::NumberArray<float> array, metadata.get_f32_array(key));
  PAWL_TRY_VOID(check_length(key, array.size(), entries));
  scores.resize(entries);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = array[i];
    if (std::isnan(scores[i])) {
      return Error{ErrorCode::kBadFile, key + ": entry " + std::to_string(i) + " is not a number",
                   key};
    }
  }
  return scores;
}

base::Result<std::vector<TokenType>> read_types(const gguf::Metadata& metadata, size_t entries) {
  const std::string key = key_of("token_type");
  std::vector<TokenType> types;
  if (metadata.find(key) == nullptr) return types;
  PAWL_TRY(const gguf::NumberArray<int32_t> array, metadata.get_i32_array(key));
  PAWL_TRY_VOID(check_length(key, array.size(), entries));
  types.resize(entries);
  for (size_t i = 0; i < types.size(); ++i) {
    const int32_t type = array[i];
    if (type < 0 || type > static_cast<int32_t>(TokenType::kByte)) {
      return Error{ErrorCode::kBadFile,
                   key + ": entry " + std::to_string(i) + " is " + std::to_string(type) +
                       ", types are 0 to 6",
                   key};
    }
    types[i] = static_cast<TokenType>(type);
  }
  return types;
}

// kNoToken where the file has no such key.
base::Result<TokenId> read_id(const gguf::Metadata& metadata, std::string_view name,
                              size_t entries) {
  const std::string key = key_of(name);
  if (metadata.find(key) == nullptr) return kNoToken;
  PAWL_TRY(const uint32_t id, metadata.get_u32(key));
  if (id < entries) return static_cast<TokenId>(id);
  return Error{ErrorCode::kBadFile,
               key + ": id " + std::to_string(id) + " is outside the vocabulary, valid are 0 to " +
                   std::to_string(entries - 1),
               key};
}

TokenId control_token(const VocabSource& source, std::string_view text) {
  if (text.empty() || source.types.size() != source.texts.size()) return kNoToken;
  for (size_t id = 0; id < source.texts.size(); ++id) {
    if (source.types[id] == TokenType::kControl && source.texts[id] == text) {
      return static_cast<TokenId>(id);
    }
  }
  return kNoToken;
}

base::Result<void> read_special(const gguf::Metadata& metadata, const VocabDefaults& defaults,
                                VocabSource& source) {
  SpecialIds& special = source.special;
  const std::pair<std::string_view, TokenId*> roles[] = {
      {"bos_token_id", &special.bos},     {"eos_token_id", &special.eos},
      {"eot_token_id", &special.eot},     {"eom_token_id", &special.eom},
      {"unknown_token_id", &special.unk}, {"seperator_token_id", &special.sep},
      {"padding_token_id", &special.pad}, {"mask_token_id", &special.mask}};
  for (const auto& [name, id] : roles) {
    PAWL_TRY(*id, read_id(metadata, name, source.texts.size()));
  }
  if (special.bos == kNoToken) special.bos = control_token(source, defaults.bos);
  if (special.eos == kNoToken) special.eos = control_token(source, defaults.eos);
  return {};
}

}  // namespace

base::Result<VocabSource> read_vocab(const gguf::Metadata& metadata,
                                     const VocabDefaults& defaults) {
  VocabSource source;
  PAWL_TRY(source.texts, read_texts(metadata));
  PAWL_TRY(source.scores, read_scores(metadata, source.texts.size(), defaults.needs_scores));
  PAWL_TRY(source.types, read_types(metadata, source.texts.size()));
  PAWL_TRY_VOID(read_special(metadata, defaults, source));
  const bool default_bos = defaults.add_bos && source.special.bos != kNoToken;
  PAWL_TRY(source.add_bos, metadata.get_bool_or(key_of("add_bos_token"), default_bos));
  PAWL_TRY(source.add_eos, metadata.get_bool_or(key_of("add_eos_token"), false));
  PAWL_TRY(source.add_space_prefix,
           metadata.get_bool_or(key_of("add_space_prefix"), defaults.add_space_prefix));
  PAWL_TRY(source.remove_extra_whitespaces,
           metadata.get_bool_or(key_of("remove_extra_whitespaces"), false));
  return source;
}

}  // namespace pawl::text
