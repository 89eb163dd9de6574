// SPDX-License-Identifier: Apache-2.0
#include "server/api_keys.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/digest.h"
#include "base/trim.h"

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr size_t kMinKeyBytes = 8;
constexpr size_t kMaxKeys = 10'000;

std::string digest_of(std::string_view key) {
  return base::sha256_hex(std::as_bytes(std::span(key.data(), key.size())));
}

bool are_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace

Result<ApiKeys> ApiKeys::load(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file) {
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                 std::string("cannot read the API keys: ") + std::strerror(errno), path};
  }
  ApiKeys keys;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto added = keys.add_line(line, number);
    if (!added.ok()) return Error{ErrorCode::kBadFile, added.error().message, path};
  }
  if (keys.keys_.empty()) return Error{ErrorCode::kBadFile, "the file holds no API key", path};
  return keys;
}

// Messages name the line, never the key.
Result<void> ApiKeys::add_line(std::string_view line, int number) {
  const auto wrong = [&](std::string_view what) {
    return Error{ErrorCode::kBadFile, fmt::format("line {}: {}", number, what), ""};
  };
  line = base::trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return {};
  Key key;
  const size_t colon = line.find(':');
  key.name = colon == std::string_view::npos ? fmt::format("key-{}", keys_.size() + 1)
                                             : std::string(base::trimmed(line.substr(0, colon)));
  const std::string_view secret =
      colon == std::string_view::npos ? line : base::trimmed(line.substr(colon + 1));
  if (key.name.empty()) return wrong("the name before ':' is missing");
  if (secret.size() < kMinKeyBytes) return wrong("a key has at least 8 characters");
  if (secret.find_first_of(" \t") != std::string_view::npos) return wrong("a key has no spaces");
  if (keys_.size() >= kMaxKeys) return wrong("there are more than 10000 keys");
  key.digest = digest_of(secret);
  for (const Key& other : keys_) {
    if (other.name == key.name) return wrong("the name '" + key.name + "' stands twice");
    if (other.digest == key.digest) return wrong("the key of '" + other.name + "' stands twice");
  }
  keys_.push_back(std::move(key));
  return {};
}

std::optional<std::string> ApiKeys::find(std::string_view key) const {
  const std::string digest = digest_of(key);
  std::optional<std::string> found;
  for (const Key& one : keys_) {
    if (are_equal(one.digest, digest)) found = one.name;  // no early end
  }
  return found;
}

}  // namespace pawl::server
