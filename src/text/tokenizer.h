// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back, as the model's file defines it: one interface over the algorithms.
//
// Lifetime: a Tokenizer keeps the file it was made from open.
// Threads: immutable after create; any number of threads may encode and decode at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "text/special_tokens.h"
#include "text/vocab.h"

namespace pawl::text {

struct EncodeOptions {
  // Add what the model's own settings ask for: BOS before, EOS behind. They may ask for nothing.
  bool add_bos = true;
  // Recognise the texts of control tokens. Only for text that a template made, never for a user's.
  bool parse_special = false;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Reads `tokenizer.ggml.*`. Errors name the key: missing, of the wrong type or length; a model or
  // pre-tokenizer that is not supported, with those that are; broken byte entries, merges or
  // special ids. pretokenizer: a name in place of the file's `tokenizer.ggml.pre`; empty: the
  // file's.
  static base::Result<std::unique_ptr<Tokenizer>> create(std::shared_ptr<const gguf::File> file,
                                                         std::string_view pretokenizer = {});

  // Any bytes are accepted; those that are no UTF-8 become byte tokens, so decoding gives them
  // back. Time is linear in the text but for a logarithm. Errors: 2^30 bytes or more; a limit of
  // the pre-tokenizer; a byte for which the vocabulary has no entry.
  base::Result<std::vector<TokenId>> encode(std::string_view text,
                                            EncodeOptions options = {}) const;

  // Appends the bytes of one token; they need not be valid UTF-8 by themselves. Control and unknown
  // tokens have none unless `special`, then their text. REQUIRES: vocab().contains(id)
  void append_piece(TokenId id, bool special, std::string& out) const;

  // The bytes of all tokens; they need not be valid UTF-8. Without the space that encode put before
  // the first word, where it did. Error: an id outside the vocabulary, naming it and the valid
  // range.
  base::Result<std::string> decode(std::span<const TokenId> ids, bool special = false) const;

  const Vocab& vocab() const { return vocab_; }
  // As Vocab::add_end.
  void add_end(TokenId id) { vocab_.add_end(id); }

  // Things about the file that a user should hear of, one line each; usually none.
  std::span<const std::string> warnings() const { return warnings_; }

 protected:
  // Who finds user-defined tokens in a text: this class, before encode_text, or encode_text.
  enum class UserTokens { kSplitBefore, kInText };
  explicit Tokenizer(Vocab vocab, UserTokens user_tokens = UserTokens::kSplitBefore);

  // Appends the ids of text that holds no special token (but user-defined ones, if so said).
  // `begins_words`: nothing or a special token stands before it. REQUIRES: !text.empty()
  virtual base::Result<void> encode_text(std::string_view text, bool begins_words,
                                         std::vector<TokenId>& ids) const = 0;

  // Appends the bytes of a normal or byte token.
  virtual void append_text(TokenId id, std::string& out) const = 0;

 private:
  Vocab vocab_;
  SpecialTokens user_tokens_;  // matched in any text
  SpecialTokens all_tokens_;   // these, and control and unknown tokens
  std::vector<std::string> warnings_;
  std::shared_ptr<const gguf::File> file_;  // what vocab_ points into
};

}  // namespace pawl::text
