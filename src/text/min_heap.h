// SPDX-License-Identifier: Apache-2.0
// A priority queue of integers, smallest first. Four children per node: half the depth of a binary
// heap, and the four share a cache line, which is what counts when there are millions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pawl::text {

class MinHeap {
 public:
  bool empty() const { return items_.empty(); }
  void clear() { items_.clear(); }
  void reserve(size_t items) { items_.reserve(items); }

  // Adds without order; order() must follow before anything else.
  void append(uint64_t item) { items_.push_back(item); }
  void order() {
    for (size_t at = items_.size() / kChildren + 1; at-- > 0;) {
      if (at < items_.size()) sink(at, items_[at]);
    }
  }

  void push(uint64_t item) {
    size_t at = items_.size();
    items_.push_back(item);
    while (at > 0 && items_[(at - 1) / kChildren] > item) {
      items_[at] = items_[(at - 1) / kChildren];
      at = (at - 1) / kChildren;
    }
    items_[at] = item;
  }

  // REQUIRES: !empty()
  uint64_t pop() {
    const uint64_t smallest = items_.front();
    const uint64_t last = items_.back();
    items_.pop_back();
    if (!items_.empty()) sink(0, last);
    return smallest;
  }

 private:
  static constexpr size_t kChildren = 4;

  // Puts `item` at `at` or below it, where it belongs.
  void sink(size_t at, uint64_t item) {
    const size_t size = items_.size();
    for (size_t first = at * kChildren + 1; first < size; first = at * kChildren + 1) {
      const size_t end = std::min(first + kChildren, size);
      size_t least = first;
      for (size_t child = first + 1; child < end; ++child) {
        if (items_[child] < items_[least]) least = child;
      }
      if (items_[least] >= item) break;
      items_[at] = items_[least];
      at = least;
    }
    items_[at] = item;
  }

  std::vector<uint64_t> items_;
};

}  // namespace pawl::text
