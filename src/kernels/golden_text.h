// SPDX-License-Identifier: Apache-2.0
// For tests: the little of JSON that the vectors in tests/golden need; this module knows no JSON
// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::kernels {

inline std::string golden_text(const std::string& name) {
  std::ifstream in(std::string(PAWL_SOURCE_DIR) + "/tests/golden/" + name);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

inline std::vector<std::byte> decode_base64(std::string_view text) {
  const std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const size_t value = alphabet.find(c);
    if (value == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::byte>(bits >> count & 255));
    }
  }
  return bytes;
}

// The strings of a JSON value that is one string or a list of strings, none with escapes.
inline std::vector<std::string> strings_after(const std::string& text, const std::string& key) {
  size_t at = text.find("\"" + key + "\":");
  if (at == std::string::npos) return {};
  at += key.size() + 3;
  at = text.find_first_of("[\"", at);
  const bool list = text[at] == '[';
  std::vector<std::string> found;
  do {
    const size_t begin = text.find('"', at) + 1;
    const size_t end = text.find('"', begin);
    found.push_back(text.substr(begin, end - begin));
    at = end + 1;
  } while (list && text[text.find_first_not_of(" \n", at)] == ',');
  return found;
}

inline int64_t number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find("\"" + key + "\":");
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + key.size() + 3));
}

}  // namespace pawl::kernels
