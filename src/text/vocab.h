// SPDX-License-Identifier: Apache-2.0
// The vocabulary: what each token id stands for, which ids are special, and which end a generation.
// Plain data with checks; how text becomes ids is the tokenizer's.
//
// Lifetime: texts are views of bytes that the Vocab does not own (the gguf::File's).
// Threads: immutable after create; any number of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "text/text_index.h"

namespace pawl::text {

// The numbers of the file format. kUndefined is treated as kUnused.
enum class TokenType : uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // <|im_end|>: made by templates, never by a user's text
  kUserDefined = 4,  // matched in any text before the algorithm sees it
  kUnused = 5,
  kByte = 6,  // <0x0A>
};

// Ids with a role. kNoToken: the vocabulary has none.
struct SpecialIds {
  TokenId bos = kNoToken;  // begins a sequence
  TokenId eos = kNoToken;  // ends a sequence
  TokenId eot = kNoToken;  // ends a turn
  TokenId eom = kNoToken;  // ends a message
  TokenId unk = kNoToken;
  TokenId sep = kNoToken;
  TokenId pad = kNoToken;
  TokenId mask = kNoToken;
};

// What a Vocab is made of. Arrays are of one length, or empty where noted.
struct VocabSource {
  std::vector<std::string_view>
      texts;                     // [entries], as stored: byte-level ones in stand-in characters
  std::vector<float> scores;     // [entries], or empty: all 0
  std::vector<TokenType> types;  // [entries], or empty: all kNormal
  SpecialIds special;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  bool remove_extra_whitespaces = false;
};

class Vocab {
 public:
  Vocab(Vocab&&) = default;
  Vocab& operator=(Vocab&&) = default;

  // REQUIRES: the arrays have one length. Errors: no entries, a special id out of range, two
  // entries with the same text, BOS or EOS to be added and not named.
  static base::Result<Vocab> create(VocabSource source);

  size_t size() const { return source_.texts.size(); }
  bool contains(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < size(); }

  // For ids from outside: Error naming the id and the valid range.
  base::Result<void> check(int64_t id) const;

  // REQUIRES, for these three: contains(id)
  std::string_view text(TokenId id) const { return source_.texts[static_cast<size_t>(id)]; }
  float score(TokenId id) const;
  TokenType type(TokenId id) const;  // known end markers are kControl whatever the file says

  TokenId find(std::string_view text) const { return index_.find(text); }  // kNoToken: none
  size_t max_text_bytes() const { return index_.max_bytes(); }
  bool has_types() const { return !source_.types.empty(); }

  const SpecialIds& special() const { return source_.special; }
  bool add_bos() const { return source_.add_bos; }
  bool add_eos() const { return source_.add_eos; }
  bool add_space_prefix() const { return source_.add_space_prefix; }
  bool remove_extra_whitespaces() const { return source_.remove_extra_whitespaces; }

  // Ids after which a generation is over, ascending: EOS, EOT and EOM of the file, control tokens
  // that are known to close a turn, and what was added.
  std::span<const TokenId> end_ids() const { return end_ids_; }
  bool is_end(TokenId id) const;
  // One more, as a chat template shows it. REQUIRES: contains(id); nobody reads at the same time
  void add_end(TokenId id);

 private:
  Vocab() = default;
  void collect_end_ids();
  void treat_end_markers_as_control();

  VocabSource source_;
  TextIndex index_;  // over source_.texts, whose heap block a move keeps in place
  std::vector<TokenId> end_ids_;
};

}  // namespace pawl::text
