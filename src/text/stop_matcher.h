// SPDX-License-Identifier: Apache-2.0
// Finds stop strings in a stream of text, however it is cut into pieces, and holds back exactly
// what may still become one. An automaton over all stop strings (Aho and Corasick, CACM 18(6),
// 1975), so that each byte costs the same on average whatever their number and length.
//
// Which match counts depends on the bytes alone, not on the pieces: the one that ends first, and of
// those that end together the longest. Threads: none; one owner, one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::text {

class StopMatcher {
 public:
  // Stops nothing.
  StopMatcher();

  // Errors, naming which: an empty stop string, one that is not valid UTF-8, more than kMaxBytes in
  // all.
  static base::Result<StopMatcher> create(std::span<const std::string> stops);

  static constexpr size_t kMaxBytes = 1 << 20;

  // Takes the next text and appends to `out` what can no longer be part of a stop string. Whole
  // UTF-8 characters in, whole characters out. True once a stop string was found: it, and what
  // follows it, is dropped, and later calls add nothing.
  bool push(std::string_view text, std::string& out);

  // Appends what is held back: the text is over (end token, cap or cancel) and it became no stop
  // string.
  void flush(std::string& out);

  // Index of the stop string that was found.
  std::optional<size_t> found() const { return found_; }

  std::string_view pending() const { return pending_; }

 private:
  static constexpr int32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  struct Node {
    int32_t first_child = kNone;
    int32_t next_sibling = kNone;
    int32_t fail = kRoot;  // the longest proper suffix of this node's text that is a node
    int32_t ending =
        kNone;           // the longest stop string that is a suffix of this node's text: its index
    uint32_t depth = 0;  // length of this node's text
    uint8_t byte = 0;
  };

  int32_t child(int32_t node, uint8_t byte) const;
  int32_t next_state(int32_t node, uint8_t byte) const;
  void insert(std::string_view stop, int32_t index);
  void link();

  std::vector<Node> nodes_;
  std::vector<size_t> stop_bytes_;  // length of each stop string
  int32_t state_ = kRoot;
  std::string pending_;  // at the end of a push: the text of state_
  std::optional<size_t> found_;
};

}  // namespace pawl::text
