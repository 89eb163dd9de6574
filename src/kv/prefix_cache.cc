// SPDX-License-Identifier: Apache-2.0
#include "kv/prefix_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/digest.h"

namespace pawl::kv {

using base::TokenId;

Salt::Salt(std::string_view text) {
  const std::string hex = base::sha256_hex(std::as_bytes(std::span(text)));
  PAWL_CHECK(hex.size() == digest_.size());
  std::ranges::copy(hex, digest_.begin());
  hash_ = base::xxh3_64(std::as_bytes(std::span(digest_)), 0);
}

PrefixCache::PrefixCache(BlockPool& pool) : pool_(pool) {
  const size_t blocks = static_cast<size_t>(pool.blocks());
  entries_.resize(blocks);
  slots_.resize(blocks * kSteps);
  buckets_.resize(std::bit_ceil(slots_.size()), -1);
}

std::optional<BlockId> PrefixCache::take() {
  if (const auto block = pool_.take()) return block;
  const auto oldest = pool_.oldest_evictable();
  if (!oldest) return std::nullopt;
  remove(*oldest);
  pool_.forget(*oldest);
  return pool_.take();
}

uint64_t PrefixCache::hash(const Salt& salt, BlockId parent, std::span<const TokenId> ids) {
  const uint64_t seed = parent == kRoot ? salt.hash() : static_cast<uint64_t>(parent);
  return base::xxh3_64(std::as_bytes(ids), seed);
}

PrefixCache::Child PrefixCache::find(const Salt& salt, BlockId parent,
                                     std::span<const TokenId> ids) const {
  ids = ids.first(std::min<size_t>(ids.size(), kBlockPositions));
  Child best;
  for (size_t step = ids.size() / kStep; step > 0 && best.common == 0; --step) {
    const uint64_t wanted = hash(salt, parent, ids.first(step * kStep));
    int32_t slot = buckets_[wanted & (buckets_.size() - 1)];
    for (int tries = 0; slot >= 0 && tries < kMostTries; ++tries) {
      const Slot& at = slots_[static_cast<size_t>(slot)];
      const BlockId block = slot / kSteps;
      const Entry& e = entry(block);
      slot = at.next;
      if (at.hash != wanted || e.parent != parent || (parent == kRoot && e.salt != salt)) continue;
      const size_t count = std::min(ids.size(), static_cast<size_t>(e.count));
      const auto differing =
          std::mismatch(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count), e.ids.begin());
      const int64_t common = differing.first - ids.begin();
      if (common > best.common) best = {block, common};
    }
  }
  return best.common >= kStep ? best : Child{};
}

PrefixCache::Found PrefixCache::look_up(const Salt& salt, std::span<const TokenId> ids) const {
  Found found;
  BlockId parent = kRoot;
  while (static_cast<int64_t>(ids.size()) - found.positions >= kBlockPositions) {
    const Child child = find(salt, parent, ids.subspan(static_cast<size_t>(found.positions)));
    if (child.common < kBlockPositions) break;
    parent = child.block;
    found.positions += kBlockPositions;
    found.held += pool_.count(parent) > 0 ? 1 : 0;
  }
  return found;
}

int64_t PrefixCache::reuse(const Salt& salt, std::span<const TokenId> ids, BlockTable& table) {
  PAWL_CHECK(table.empty());
  int64_t positions = 0;
  while (positions < static_cast<int64_t>(ids.size())) {
    const BlockId parent = table.empty() ? kRoot : table.back();
    const Child child = find(salt, parent, ids.subspan(static_cast<size_t>(positions)));
    if (child.common == 0) break;
    positions += child.common;
    pool_.hold(child.block);
    if (child.common == kBlockPositions) {
      table.push_back(child.block);
      continue;
    }
    const auto copy = take();
    if (copy) {
      std::memcpy(pool_.bytes(*copy), pool_.bytes(child.block),
                  static_cast<size_t>(pool_.block_bytes()));
      table.push_back(*copy);
    } else {
      positions -= child.common;
    }
    pool_.release(child.block);
    break;
  }
  return positions;
}

void PrefixCache::insert(const Salt& salt, std::span<const TokenId> ids, BlockTable& table) {
  PAWL_CHECK(!ids.empty() && ids.size() % kBlockPositions == 0);
  const size_t index = ids.size() / kBlockPositions - 1;
  const BlockId parent = index == 0 ? kRoot : table[index - 1];
  const BlockId block = table[index];
  ids = ids.last(kBlockPositions);
  const Child equal = find(salt, parent, ids);
  if (equal.common < kBlockPositions) {
    add(salt, parent, ids, block);
  } else if (equal.block != block) {
    pool_.hold(equal.block);
    table[index] = equal.block;
    pool_.release(block);
  }
}

void PrefixCache::release(const Salt& salt, std::span<const TokenId> ids, BlockTable& table) {
  const size_t whole = ids.size() / kBlockPositions;
  const std::span<const TokenId> rest = ids.subspan(whole * kBlockPositions);
  if (rest.size() >= kStep) {
    const BlockId parent = whole == 0 ? kRoot : table[whole - 1];
    const Child like = find(salt, parent, rest);
    if (like.common < static_cast<int64_t>(rest.size())) add(salt, parent, rest, table[whole]);
  }
  for (size_t i = table.size(); i > 0; --i) pool_.release(table[i - 1]);
  table.clear();
}

void PrefixCache::add(const Salt& salt, BlockId parent, std::span<const TokenId> ids,
                      BlockId block) {
  Entry& e = entry(block);
  PAWL_CHECK(e.count == 0 && (parent == kRoot || entry(parent).count == kBlockPositions));
  pool_.keep(block);
  e.parent = parent;
  e.count = static_cast<int32_t>(ids.size());
  std::ranges::copy(ids, e.ids.begin());
  if (parent == kRoot) {
    e.salt = salt;
  } else {
    ++entry(parent).children;
  }
  for (int step = 1; step <= e.count / kStep; ++step) {
    const int32_t slot = block * kSteps + step - 1;
    const uint64_t key = hash(salt, parent, ids.first(static_cast<size_t>(step * kStep)));
    int32_t& first = bucket(key);
    slots_[static_cast<size_t>(slot)] = {first, -1, key};
    if (first >= 0) slots_[static_cast<size_t>(first)].previous = slot;
    first = slot;
  }
}

void PrefixCache::remove(BlockId block) {
  Entry& e = entry(block);
  PAWL_CHECK(e.count > 0 && e.children == 0);
  for (int step = 1; step <= e.count / kStep; ++step) {
    const Slot slot = slots_[static_cast<size_t>(block * kSteps + step - 1)];
    if (slot.next >= 0) slots_[static_cast<size_t>(slot.next)].previous = slot.previous;
    if (slot.previous >= 0) {
      slots_[static_cast<size_t>(slot.previous)].next = slot.next;
    } else {
      bucket(slot.hash) = slot.next;
    }
  }
  if (e.parent != kRoot) --entry(e.parent).children;
  e.count = 0;
  e.salt.reset();
}

}  // namespace pawl::kv
