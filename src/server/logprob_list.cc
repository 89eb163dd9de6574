// SPDX-License-Identifier: Apache-2.0
#include "server/logprob_list.h"

#include <algorithm>

#include "base/utf8.h"
#include "server/json_text.h"

namespace pawl::server {
namespace {

// Keys of an object must differ, and a piece that is no text would not: its bytes are spelled.
std::string completion_name(std::string_view piece) {
  if (base::is_valid_utf8(piece)) return std::string(piece);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    name += "\\x";
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

int64_t characters(std::string_view piece) {
  return std::count_if(piece.begin(), piece.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

std::string LogprobList::piece(base::TokenId id) const {
  std::string text;
  tokenizer_->append_piece(id, true, text);
  return text;
}

void LogprobList::add(base::TokenId id, const double* logprob,
                      const std::vector<policy::TokenLogprob>& top) {
  if (route_ == Route::kChat || has_ids_) add_chat(id, logprob, top);
  if (route_ == Route::kCompletion) add_completion(piece(id), logprob, top);
  ++count_;
}

// An object that is not closed yet.
void LogprobList::append_chat_token(base::TokenId id, const double* logprob,
                                    std::string& out) const {
  const std::string text = piece(id);
  out += "{\"token\":";
  append_quoted(text, out);
  out += ",\"logprob\":";
  if (logprob == nullptr) {
    out += "null";
  } else {
    append_logprob(*logprob, out);
  }
  out += ",\"bytes\":";
  append_bytes(text, out);
  if (!has_ids_) return;
  out += ",\"id\":";
  append_integer(id, out);
}

void LogprobList::add_chat(base::TokenId id, const double* logprob,
                           const std::vector<policy::TokenLogprob>& top) {
  if (count_ > 0) content_ += ',';
  append_chat_token(id, logprob, content_);
  content_ += ",\"top_logprobs\":[";
  bool is_first = true;
  for (const auto& [other, value] : top) {
    if (!is_first) content_ += ',';
    is_first = false;
    append_chat_token(other, &value, content_);
    content_ += '}';
  }
  content_ += "]}";
}

void LogprobList::add_completion(std::string_view piece, const double* logprob,
                                 const std::vector<policy::TokenLogprob>& top) {
  if (count_ > 0) {
    for (std::string* list : {&tokens_, &logprobs_, &tops_, &offsets_}) *list += ',';
  }
  const std::string name = completion_name(piece);
  append_quoted(name, tokens_);
  append_integer(offset_, offsets_);
  offset_ += characters(piece);
  if (logprob == nullptr) {
    logprobs_ += "null";
    tops_ += "null";
    return;
  }
  append_logprob(*logprob, logprobs_);
  std::vector<std::string> names;
  const auto append_entry = [&](std::string entry, double value) {
    if (std::find(names.begin(), names.end(), entry) != names.end()) return;
    tops_ += names.empty() ? "{" : ",";
    append_quoted(entry, tops_);
    tops_ += ':';
    append_logprob(value, tops_);
    names.push_back(std::move(entry));
  };
  for (const auto& [id, value] : top) append_entry(completion_name(this->piece(id)), value);
  append_entry(name, *logprob);  // the chosen one is always among them
  tops_ += '}';
}

void LogprobList::append_json(std::string& out) const {
  if (route_ == Route::kChat) {
    out += "{\"content\":[";
    out += content_;
    out += "],\"refusal\":null}";
    return;
  }
  out += "{\"tokens\":[";
  out += tokens_;
  out += "],\"token_logprobs\":[";
  out += logprobs_;
  if (has_top_) {
    out += "],\"top_logprobs\":[";
    out += tops_;
    out += "],\"text_offset\":[";
  } else {
    out += "],\"top_logprobs\":null,\"text_offset\":[";
  }
  out += offsets_;
  out += ']';
  if (has_ids_) {
    out += ",\"content\":[";
    out += content_;
    out += ']';
  }
  out += '}';
}

void LogprobList::clear() {
  count_ = 0;
  for (std::string* list : {&content_, &tokens_, &logprobs_, &tops_, &offsets_}) list->clear();
}

}  // namespace pawl::server
