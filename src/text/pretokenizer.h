// SPDX-License-Identifier: Apache-2.0
// Cuts a text into the words that byte-level merging treats one by one. The only user of PCRE2.
//
// Threads: immutable after create; any number of threads may split at once, each with its own
// buffers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/pretokenizer_table.h"

namespace pawl::text {

class Pretokenizer {
 public:
  // Compiles the expressions of a row. Error: an expression that PCRE2 refuses.
  static base::Result<Pretokenizer> create(const PretokenizerRow& row);

  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;
  ~Pretokenizer();

  const PretokenizerRow& row() const { return *row_; }

  // Replaces `ends` by the end of each word, in bytes from the beginning of `text`, ascending; the
  // last is text.size(). Error: a match limit was reached, naming the expression. REQUIRES: valid
  // UTF-8, fewer than 2^31 bytes
  base::Result<void> split(std::string_view text, std::vector<uint32_t>& ends) const;

 private:
  struct Compiled;

  explicit Pretokenizer(const PretokenizerRow& row);

  const PretokenizerRow* row_;
  std::vector<Compiled> compiled_;  // one for each cut of the row
};

}  // namespace pawl::text
