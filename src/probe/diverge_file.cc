// SPDX-License-Identifier: Apache-2.0
#include "probe/diverge_file.h"

#include <limits>

#include "base/utf8.h"

namespace pawl::probe {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using base::TokenId;

namespace {

constexpr int64_t kMostTokens = 1 << 20;

Error bad(std::string what) {
  return {ErrorCode::kBadFile, std::move(what), ""};
}

Result<std::vector<TokenId>> ids_of(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  const Json::Array* items = member != nullptr ? member->as_array() : nullptr;
  if (items == nullptr) return bad(base::quoted_text(key) + " is no array");
  std::vector<TokenId> ids;
  for (const Json& item : *items) {
    const auto id = item.to_int64();
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) {
      return bad(base::quoted_text(key) + " holds no token id");
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

Result<int64_t> count_of(const Json& json, std::string_view key) {
  const Json* member = json.find(key);
  const auto value = member != nullptr ? member->to_int64() : std::nullopt;
  if (!value || *value < 0 || *value > kMostTokens) {
    return bad(base::quoted_text(key) + " is no integer from 0 to " + std::to_string(kMostTokens));
  }
  return *value;
}

Result<DivergeCase> parse_case(const Json& json) {
  DivergeCase one;
  PAWL_TRY(one.prompt, count_of(json, "prompt"));
  if (const Json* skipped = json.find("skipped"); skipped != nullptr && skipped->as_string()) {
    one.skipped = *skipped->as_string();
  }
  PAWL_TRY(one.changed_at, count_of(json, "changed_at"));
  PAWL_TRY(const int64_t word, count_of(json, "word"));
  one.word = static_cast<int>(word);
  PAWL_TRY(one.answer, ids_of(json, "answer"));
  PAWL_TRY(one.changed, ids_of(json, "changed"));
  const auto after = static_cast<size_t>(one.changed_at) + 1;
  if (one.skipped.empty() && (after > one.answer.size() || after > one.changed.size())) {
    return bad("'changed_at' is outside the answer");
  }
  return one;
}

std::string piece_of(const text::Tokenizer& tokenizer, TokenId id) {
  std::string piece;
  tokenizer.append_piece(id, true, piece);
  return piece;
}

Result<void> check_header(const Json& found, const Json& wanted) {
  if (found.find("pawl_diverge") == nullptr) {
    return bad("the first line is no header of pawl diverge");
  }
  for (const auto& [key, value] : *wanted.as_object()) {
    const Json* member = found.find(key);
    const std::string there = member != nullptr ? member->dump() : "nothing";
    if (there == value.dump()) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "results of other conditions: " + key + " is " + base::quoted_text(there) +
                     " there and " + value.dump() + " here",
                 ""};
  }
  return {};
}

}  // namespace

std::string case_line(const DivergeCase& one, const text::Tokenizer& tokenizer) {
  Json json;
  json["prompt"] = one.prompt;
  json["skipped"] = one.skipped.empty() ? Json() : Json(one.skipped);
  json["changed_at"] = one.changed_at;
  json["word"] = one.word;
  if (one.skipped.empty()) {
    const auto at = static_cast<size_t>(one.changed_at);
    json["from"] = piece_of(tokenizer, one.answer[at]);
    json["to"] = piece_of(tokenizer, one.changed[at]);
  }
  json["answer"] = Json::array_of({one.answer.begin(), one.answer.end()});
  json["changed"] = Json::array_of({one.changed.begin(), one.changed.end()});
  return json.dump();
}

Result<DivergeFile> parse_diverge(std::string_view text, const Json& header) {
  DivergeFile file;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      file.is_cut = true;
      break;
    }
    const auto named = [&](Error error) {
      error.message = "line " + std::to_string(number) + ": " + error.message;
      return error;
    };
    const auto json = base::parse_json(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!json.ok()) return named(json.error());
    if (number == 1) {
      auto same = check_header(*json, header);
      if (!same.ok()) return named(same.error());
      continue;
    }
    auto one = parse_case(*json);
    if (!one.ok()) return named(one.error());
    file.cases.push_back(std::move(one).value());
  }
  return file;
}

}  // namespace pawl::probe
