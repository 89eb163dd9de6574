// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::base {

// Large pages need addresses that are multiples of their size: the mapping is that much larger, and
// what lies outside is given back.
Result<Arena> Arena::create(int64_t bytes, Pages pages) {
  constexpr int64_t kLargePage = 2 << 20;
  bytes = std::max<int64_t>(bytes, 1);
  const size_t mapped = static_cast<size_t>(bytes) + static_cast<size_t>(kLargePage);
  void* const data =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return Error{ErrorCode::kOutOfMemory, "no memory for " + std::to_string(bytes) + " bytes", ""};
  }
  const auto address = reinterpret_cast<uintptr_t>(data);
  const size_t before = (kLargePage - address % kLargePage) % kLargePage;
  if (before > 0) munmap(data, before);
  Arena arena;
  arena.data_ = static_cast<std::byte*>(data) + before;
  arena.bytes_ = static_cast<int64_t>(mapped - before);
  // Only advice, and only for pages that are used whole: the first byte written to a large page
  // takes all of it.
  const size_t whole = static_cast<size_t>(bytes / kLargePage * kLargePage);
  if (pages == Pages::kLarge && whole > 0) madvise(arena.data_, whole, MADV_HUGEPAGE);
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

}  // namespace pawl::base
