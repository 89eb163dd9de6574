// SPDX-License-Identifier: Apache-2.0
#include "text/merge_table.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "text/byte_level.h"

namespace pawl::text {
namespace {

using base::Error;
using base::ErrorCode;

constexpr const char* kKey = "tokenizer.ggml.merges";

// As in text_index.cc: chance stays far below, malice is refused.
constexpr size_t kMaxProbes = 4096;

constexpr size_t kMaxMerges = size_t{1} << 30;

Error bad_merge(size_t entry, std::string_view merge, std::string reason) {
  return Error{ErrorCode::kBadFile,
               std::string(kKey) + ": entry " + std::to_string(entry) + " " +
                   base::quoted_text(merge) + " " + std::move(reason),
               kKey};
}

}  // namespace

size_t MergeTable::hash(TokenId left, TokenId right) {
  const uint64_t pair = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  const uint64_t mixed = (pair ^ pair >> 31) * 0x9E3779B97F4A7C15u;
  return mixed ^ mixed >> 32;
}

base::Result<MergeTable> MergeTable::create(const gguf::StringArray& merges, const Vocab& vocab) {
  if (merges.size() > kMaxMerges) {
    return Error{ErrorCode::kUnsupported,
                 std::string(kKey) + ": " + std::to_string(merges.size()) + " entries, at most " +
                     std::to_string(kMaxMerges) + " are supported",
                 kKey};
  }
  MergeTable table;
  table.slots_.resize(std::bit_ceil(std::max<size_t>(16, merges.size() + merges.size() / 2)));
  std::string joined;
  size_t entry = 0;
  TokenId last_both = kNoToken;
  for (std::string_view merge : merges) {
    // The first text may itself begin with a space, never contain one.
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return bad_merge(entry, merge, "is not two texts with a space between");
    }
    const std::string_view left_text = merge.substr(0, space);
    const std::string_view right_text = merge.substr(space + 1);
    joined.assign(left_text).append(right_text);
    const TokenId left = vocab.find(left_text);
    const TokenId right = vocab.find(right_text);
    // Most vocabularies number what merges give in the order of the merges.
    TokenId both = last_both + 1;
    if (!vocab.contains(both) || vocab.text(both) != joined) both = vocab.find(joined);
    if (left == kNoToken || right == kNoToken || both == kNoToken) {
      return bad_merge(entry, merge,
                       left == kNoToken    ? "has a left side that is not in the vocabulary"
                       : right == kNoToken ? "has a right side that is not in the vocabulary"
                                           : "gives a text that is not in the vocabulary");
    }
    const int last = last_byte_of(left_text);
    const int first = first_byte_of(right_text);
    // A text that is no stand-in never comes up in a word, which begins as bytes.
    if (last >= 0 && first >= 0) table.joints_.set(static_cast<size_t>(last << 8 | first));
    PAWL_TRY_VOID(table.insert(left, right, {static_cast<uint32_t>(entry), both}));
    last_both = both;
    ++entry;
  }
  return table;
}

// A pair that comes twice keeps its first, better place.
base::Result<void> MergeTable::insert(TokenId left, TokenId right, PairMerge merge) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash(left, right) & mask;
  for (size_t probes = 0; slots_[at].left != kNoToken; at = (at + 1) & mask) {
    if (slots_[at].left == left && slots_[at].right == right) return {};
    if (++probes > kMaxProbes) {
      return Error{ErrorCode::kBadFile,
                   std::string(kKey) + ": more than " + std::to_string(kMaxProbes) +
                       " pairs collide in the look-up table, at entry " + std::to_string(merge.key),
                   kKey};
    }
  }
  slots_[at] = {left, right, merge};
  return {};
}

PairMerge MergeTable::find(TokenId left, TokenId right) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash(left, right) & mask; slots_[at].left != kNoToken; at = (at + 1) & mask) {
    if (slots_[at].left == left && slots_[at].right == right) return slots_[at].merge;
  }
  return {};
}

}  // namespace pawl::text
