// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_place.h"

namespace pawl::grammar {

namespace {

bool is_space(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

}  // namespace

void JsonPlace::push(std::string_view bytes) {
  for (const char byte : bytes) take(byte);
}

void JsonPlace::take(char byte) {
  if (at_ == At::kString) {
    ++length_;
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (byte == '\\') {
      is_escaped_ = true;
    } else if (byte == '"') {
      at_ = is_key_ ? At::kColon : At::kBehind;
      length_ = 0;
    }
    return;
  }
  if (is_space(byte)) {
    if (at_ == At::kPlain) at_ = At::kBehind;
    return;
  }
  switch (byte) {
    case '"':
      is_key_ = at_ == At::kKey;
      at_ = At::kString;
      length_ = 0;
      return;
    case '{':
    case '[':
      open_ += byte;
      closed_.push_back(0);
      at_ = byte == '{' ? At::kKey : At::kValue;
      return;
    case '}':
    case ']':
      if (!open_.empty()) {
        open_.pop_back();
        closed_.pop_back();
      }
      at_ = At::kBehind;
      return;
    case ':':
      at_ = At::kValue;
      return;
    case ',':
      if (!closed_.empty()) ++closed_.back();
      at_ = open_.ends_with('{') ? At::kKey : At::kValue;
      return;
    default:
      length_ = at_ == At::kPlain ? length_ + 1 : 1;
      at_ = At::kPlain;
  }
}

void JsonPlace::append_to(std::string& fingerprint) const {
  fingerprint += open_;
  for (const uint32_t count : closed_) fingerprint += std::to_string(count) + ",";
  fingerprint += static_cast<char>('a' + static_cast<int>(at_));
  fingerprint += is_key_ ? 'k' : 'v';
  fingerprint += is_escaped_ ? '\\' : ' ';
  if (at_ == At::kString || at_ == At::kPlain) fingerprint += std::to_string(length_);
}

}  // namespace pawl::grammar
