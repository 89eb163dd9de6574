// SPDX-License-Identifier: Apache-2.0
// What the products with packed weights ask memory for ahead of its use. All of it has internal
// linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/plane_format.h"
#include "kernels/unrolled-inl.h"

namespace pawl::kernels {
namespace {

// The weights are one ascending stream. With few tokens a core waits for nothing else, and
// processors follow such a stream by themselves better than instructions that ask for every line
// do; but they stop at the end of a page. So of each page the first lines are asked for, so far
// ahead of the page that is being read. Which instructions load first shows too: after a change
// here look at every format's rate, with one thread.
constexpr int kFewTokens = 2;
constexpr uintptr_t kPageBytes = 4096;
constexpr int kPageLead = 3;  // pages
constexpr int kPageLines = 4;

// With more tokens there is time to ask for every line, this far ahead of its use, and the products
// find what they need in the first cache.
constexpr int kLineLead = 4096;  // bytes

PAWL_INLINE inline void ask_for_page(const std::byte* weights) {
  const std::byte* page = weights - reinterpret_cast<uintptr_t>(weights) % kPageBytes;
  unrolled<kPageLines>([&](auto i) PAWL_INLINE {
    __builtin_prefetch(page + kPageLead * kPageBytes + 64 * i, 0, 2);
  });
}

// Group k's share of a span; `fine`: of this group.
template <int I>
PAWL_INLINE inline void ask_for_lines(const std::byte* span, const std::byte* fine, int64_t k) {
  constexpr PlaneFormat kFormat = kPlaneFormats[I];
  constexpr int kLines = (kFormat.span_bytes() / kFormat.span_groups() + 63) / 64;
  // Codes of 8 bits come faster than the first cache takes misses; they are brought to the second.
  constexpr int kLocality = kFormat.bits() == 8 ? 2 : 3;
  unrolled<kLines>([&](auto i) PAWL_INLINE {
    __builtin_prefetch(span + kLineLead + 64 * (kLines * k + i), 0, kLocality);
  });
  unrolled<kFormat.fine_bytes() / 64>(
      [&](auto i) PAWL_INLINE { __builtin_prefetch(fine + kLineLead / 2 + 64 * i, 0, kLocality); });
}

}  // namespace
}  // namespace pawl::kernels
