// SPDX-License-Identifier: Apache-2.0
// The API keys of a file: who may use the server. Only digests are kept, and a comparison takes as
// long for a wrong key as for a right one.
// Threads: immutable after load().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::server {

class ApiKeys {
 public:
  // One key a line, "name: key" or the key alone, which is then named key-1, key-2, …; '#' begins a
  // comment. Errors: kIo, kNotFound; kBadFile for a file without a key, a key below 8 bytes, a
  // doubled name or key.
  static base::Result<ApiKeys> load(const std::string& path);

  // The name of the key; nothing for one that is not known.
  std::optional<std::string> find(std::string_view key) const;

  size_t size() const { return keys_.size(); }

 private:
  struct Key {
    std::string name;
    std::string digest;  // SHA-256, hex
  };
  base::Result<void> add_line(std::string_view line, int number);

  std::vector<Key> keys_;
};

}  // namespace pawl::server
