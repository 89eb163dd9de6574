// SPDX-License-Identifier: Apache-2.0
// Finds the tokens that are matched in a text as they stand, before the algorithm of the model sees
// it: longest first, wherever they are; among equals the leftmost first. Time is linear in the text
// (times the longest token), not in the number of tokens: some vocabularies have thousands.
//
// Threads: immutable after add_all; any number of readers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/text_index.h"

namespace pawl::text {

// A piece of a text: one special token, or text for the algorithm (token == kNoToken, never empty).
struct TextPiece {
  uint32_t begin;  // in bytes
  uint32_t end;
  TokenId token;
};

class SpecialTokens {
 public:
  struct Entry {
    std::string_view text;  // only read by add_all
    TokenId id;
  };

  SpecialTokens() { first_of_.fill(kNoNode); }

  // Once, before any split. Empty texts are left out.
  void add_all(std::vector<Entry> entries);

  // All of `text` in order. REQUIRES: text.size() < 2^31
  std::vector<TextPiece> split(std::string_view text) const;

 private:
  static constexpr int32_t kNoNode = -1;

  // A byte trie. `depth` is the length of the text that leads here.
  struct Node {
    int32_t first_child = kNoNode;
    int32_t next_sibling = kNoNode;
    int32_t shorter = kNoNode;  // nearest node above that ends a token
    uint32_t depth = 0;
    TokenId token = kNoToken;  // of the token that ends here
    uint8_t byte = 0;
  };

  struct Candidate {
    uint32_t begin;
    int32_t node;
  };

  int32_t append_node(uint8_t byte, int32_t parent, int32_t left_sibling);
  void insert(std::string_view text, TokenId id, std::vector<int32_t>& path);
  int32_t longest_at(std::string_view text, size_t begin) const;
  std::vector<TextPiece> choose(std::string_view text,
                                std::vector<std::vector<Candidate>> by_length) const;

  std::array<int32_t, 256> first_of_;  // node of a first byte
  std::vector<Node> nodes_;
  uint32_t longest_ = 0;
};

}  // namespace pawl::text
