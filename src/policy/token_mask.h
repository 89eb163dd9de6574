// SPDX-License-Identifier: Apache-2.0
// TokenMask: one bit per vocabulary entry, 1 = allowed. What a constraint tells the policy.
// Threads: none; whoever fills it hands it to one call of choose.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/token.h"

namespace pawl::policy {

class TokenMask {
 public:
  static constexpr int32_t kWordBits = 64;

  // All bits are `allowed`. REQUIRES: vocabulary >= 0
  explicit TokenMask(int32_t vocabulary, bool allowed = false) : vocabulary_(vocabulary) {
    PAWL_CHECK(vocabulary >= 0);
    words_.resize((static_cast<size_t>(vocabulary) + kWordBits - 1) / kWordBits);
    fill(allowed);
  }

  int32_t vocabulary() const { return vocabulary_; }

  void fill(bool allowed) {
    for (uint64_t& word : words_) word = allowed ? ~uint64_t{0} : 0;
    clear_tail();
  }

  // REQUIRES: 0 <= id < vocabulary()
  bool allows(base::TokenId id) const {
    return (words_[checked(id) / kWordBits] >> (id % kWordBits)) & 1;
  }
  void allow(base::TokenId id) {
    words_[checked(id) / kWordBits] |= uint64_t{1} << (id % kWordBits);
  }
  void forbid(base::TokenId id) {
    words_[checked(id) / kWordBits] &= ~(uint64_t{1} << (id % kWordBits));
  }

  int32_t allowed_count() const {
    int32_t count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }

  // [ceil(vocabulary / 64)], id = 64 * word + bit. Bits past the vocabulary must stay 0.
  std::span<uint64_t> words() { return words_; }
  std::span<const uint64_t> words() const { return words_; }

 private:
  size_t checked(base::TokenId id) const {
    PAWL_CHECK(id >= 0 && id < vocabulary_);
    return static_cast<size_t>(id);
  }

  void clear_tail() {
    const int32_t used = vocabulary_ % kWordBits;
    if (used != 0) words_.back() &= (uint64_t{1} << used) - 1;
  }

  int32_t vocabulary_;
  std::vector<uint64_t> words_;
};

}  // namespace pawl::policy
