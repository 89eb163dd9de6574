// SPDX-License-Identifier: Apache-2.0
#include "text/text_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/utf8.h"

namespace pawl::text {
namespace {

// Far more than chance needs in a table half full. A file whose texts were made to collide is
// refused before its look-ups become slow.
constexpr size_t kMaxProbes = 4096;

constexpr size_t kMaxEntries = size_t{1} << 30;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 32);
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = bytes.size() + 1;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mix(hash, word);
  }
  if (left > 0) {
    uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = mix(hash, word);
  }
  return mix(hash, 0);
}

base::Result<TextIndex> TextIndex::create(std::span<const std::string_view> texts) {
  if (texts.size() > kMaxEntries) {
    return base::Error{base::ErrorCode::kUnsupported,
                       "vocabulary of " + std::to_string(texts.size()) + " entries, at most " +
                           std::to_string(kMaxEntries) + " are supported",
                       "tokenizer.ggml.tokens"};
  }
  TextIndex index;
  index.texts_ = texts;
  index.id_bits_ = std::max(1, static_cast<int>(std::bit_width(texts.size())));
  index.slots_.resize(std::bit_ceil(std::max<size_t>(16, texts.size() * 2)));
  const size_t mask = index.slots_.size() - 1;
  for (size_t id = 0; id < texts.size(); ++id) {
    if (texts[id].empty()) continue;
    index.max_bytes_ = std::max(index.max_bytes_, texts[id].size());
    const uint64_t hash = hash_bytes(texts[id]);
    size_t at = hash & mask;
    for (size_t probes = 0; index.slots_[at] != 0; at = (at + 1) & mask) {
      const Slot slot = index.slots_[at];
      if (index.is_text(slot, hash, texts[id])) {
        return base::Error{base::ErrorCode::kBadFile,
                           "entries " + std::to_string(index.id_of(slot)) + " and " +
                               std::to_string(id) + " have the same text " +
                               base::quoted_text(texts[id]),
                           "tokenizer.ggml.tokens"};
      }
      if (++probes > kMaxProbes) {
        return base::Error{base::ErrorCode::kBadFile,
                           "more than " + std::to_string(kMaxProbes) +
                               " texts collide in the look-up table, at entry " +
                               std::to_string(id),
                           "tokenizer.ggml.tokens"};
      }
    }
    const auto tag = static_cast<Slot>(hash >> (32 + index.id_bits_));
    index.slots_[at] = tag << index.id_bits_ | static_cast<Slot>(id + 1);
  }
  return index;
}

TokenId TextIndex::find(std::string_view text) const {
  if (text.size() > max_bytes_ || text.empty()) return kNoToken;
  const uint64_t hash = hash_bytes(text);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at] != 0; at = (at + 1) & mask) {
    if (is_text(slots_[at], hash, text)) return id_of(slots_[at]);
  }
  return kNoToken;
}

}  // namespace pawl::text
