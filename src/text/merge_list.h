// SPDX-License-Identifier: Apache-2.0
// The loop that all merging tokenizers share: a list of neighbours, of which the best pair is
// merged until none can be. Best is the smallest key, then the leftmost. No recursion; O(n log n)
// in the symbols.
//
// Threads: none. One list serves many texts, so that its memory is asked for once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/min_heap.h"
#include "text/text_index.h"

namespace pawl::text {

// What merging two neighbours would give.
struct PairMerge {
  static constexpr uint32_t kNever = UINT32_MAX;
  uint32_t key = kNever;  // smaller is sooner
  TokenId token = kNoToken;
};

class MergeList {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Symbol {
    uint32_t begin = 0;        // in bytes of the text
    TokenId token = kNoToken;  // kNoToken: not merged yet, and the caller gave none
    uint32_t prev = kNone;
    uint32_t next = kNone;
    PairMerge merge{};  // with the next symbol
  };

  // Empties the list. `symbols`: how many will be added, at most.
  void restart(size_t symbols) {
    symbols_.clear();
    symbols_.reserve(symbols);
    text_bytes_ = 0;
  }

  // The next `size` bytes of the text.
  void add(uint32_t size, TokenId token) {
    Symbol symbol{text_bytes_, token, kNone, kNone, {}};
    text_bytes_ += size;
    if (!symbols_.empty()) {
      symbol.prev = static_cast<uint32_t>(symbols_.size() - 1);
      symbols_.back().next = static_cast<uint32_t>(symbols_.size());
    }
    symbols_.push_back(symbol);
  }

  // Where a symbol ends, in bytes of the text.
  uint32_t end_of(const Symbol& symbol) const {
    return symbol.next == kNone ? text_bytes_ : symbols_[symbol.next].begin;
  }

  // `find_pair(const Symbol& left, const Symbol& right)` gives the PairMerge of two neighbours.
  template <typename FindPair>
  void merge_all(FindPair find_pair) {
    heap_.clear();
    heap_.reserve(symbols_.size());
    for (uint32_t at = 0; at < symbols_.size(); ++at) {
      if (refresh(at, find_pair)) heap_.append(entry(at));
    }
    heap_.order();
    while (!heap_.empty()) {
      const uint64_t best = heap_.pop();
      const uint32_t at = static_cast<uint32_t>(best);
      // A pair that is gone has another key, or none: its entry is skipped here.
      if (symbols_[at].merge.key != static_cast<uint32_t>(best >> 32)) continue;
      merge_with_next(at);
      if (refresh(at, find_pair)) heap_.push(entry(at));
      const uint32_t prev = symbols_[at].prev;
      if (prev != kNone && refresh(prev, find_pair)) heap_.push(entry(prev));
    }
  }

  // Calls visit(const Symbol&) for what is left, in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    if (symbols_.empty()) return;
    for (uint32_t at = 0; at != kNone; at = symbols_[at].next) visit(symbols_[at]);
  }

 private:
  uint64_t entry(uint32_t at) const { return uint64_t{symbols_[at].merge.key} << 32 | at; }

  template <typename FindPair>
  bool refresh(uint32_t at, FindPair& find_pair) {
    Symbol& symbol = symbols_[at];
    symbol.merge = symbol.next == kNone ? PairMerge{} : find_pair(symbol, symbols_[symbol.next]);
    return symbol.merge.key != PairMerge::kNever;
  }

  void merge_with_next(uint32_t at) {
    Symbol& left = symbols_[at];
    Symbol& right = symbols_[left.next];
    left.token = left.merge.token;
    left.next = right.next;
    right.merge = PairMerge{};
    if (left.next != kNone) symbols_[left.next].prev = at;
  }

  std::vector<Symbol> symbols_;
  uint32_t text_bytes_ = 0;
  MinHeap heap_;  // key << 32 | symbol: the smallest is the leftmost of the best
};

}  // namespace pawl::text
