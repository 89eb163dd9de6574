// SPDX-License-Identifier: Apache-2.0
// Tokens to printable text, one at a time: what a token alone does not complete is held back, what
// was given is never changed. All outputs together, flush included, are decode(ids) with U+FFFD for
// what is no UTF-8 in it, however the bytes were cut into tokens.
//
// Threads: none; one owner, one stream.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace pawl::text {

class StreamDecoder {
 public:
  struct Options {
    bool special = false;  // show the texts of control tokens
    // The stream begins a text, so the space that encode puts before a first word is dropped. A
    // completion continues its prompt, and keeps it.
    bool begins_text = false;
  };

  // `tokenizer` outlives the decoder.
  StreamDecoder(const Tokenizer& tokenizer, Options options);

  // Appends to `out` what became printable: often the token's text, sometimes nothing, always whole
  // UTF-8 characters. Bytes that no later token can make valid become U+FFFD at once. Allocates
  // only where a piece is longer than any before. REQUIRES: tokenizer.vocab().contains(id)
  void push(TokenId id, std::string& out);

  // Appends U+FFFD if a character was begun and never ended. The stream is over, or starts anew.
  void flush(std::string& out);

  // Bytes held back, 0 to 3.
  std::string_view pending() const { return pending_; }

 private:
  const Tokenizer* tokenizer_;
  Options options_;
  bool is_first_ = true;
  std::string pending_;
};

}  // namespace pawl::text
