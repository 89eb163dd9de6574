// SPDX-License-Identifier: Apache-2.0
// What the packed formats with planes are made of (the drawing is in packed.h), as constants: the
// kernels are templates over a row of this table, so that no format has a kernel of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/code_books.h"
#include "kernels/formats.h"

namespace pawl::kernels {

// Those per 32 columns first.
enum class Scales {
  kHalf,       // per 32 columns: f16 d[16]
  kPowers,     // per 32 columns: u8 e[16], d = 2^(e - 128)
  kHalfMin,    // per 32 columns: f16 d[16], f16 m[16]
  kBytes,      // per 256: f16 d[16], f16 dmin[16]; per 32: u8 sc[16], u8 m[16]
  kNibbles16,  // per 256: f16 d[16], f16 dmin[16]; per 32: u8 [2][16] of sc | m << 4
  kSigned,     // per 256: f16 d[16]; per 32: i8 sc[16]
  kSigned16,   // per 256: f16 d[16]; per 32: i8 sc[2][16]
};

// The lower bits of codes that are split.
enum class Fine {
  kNone,
  kRead,    // stand in a block of their own
  kMiddle,  // are taken for the middle of what they can be
};

struct PlaneFormat {
  Format format;
  int low_bits;   // bits of a code in the first planes: 8, 6, 5, 4 or 2
  int high_bits;  // bits of a code in the second plane: 1 or 0
  int offset;     // taken off every code; with a code book: makes its small entries 0 or above
  Scales scales;
  const int8_t* code_book = nullptr;  // the code is an index into it
  Fine fine = Fine::kNone;

  constexpr int fine_bits() const { return fine == Fine::kNone ? 0 : 3; }
  constexpr int bits() const { return low_bits + high_bits + fine_bits(); }
  constexpr int max_code() const { return (1 << bits()) - 1; }
  // Of 32 columns; what is fine stands elsewhere.
  constexpr int plane_bytes() const { return 64 * (low_bits + high_bits); }
  constexpr int fine_bytes() const { return fine == Fine::kRead ? 64 * fine_bits() : 0; }
  constexpr bool by_256() const { return scales > Scales::kHalfMin; }
  constexpr bool by_halves() const {
    return scales == Scales::kNibbles16 || scales == Scales::kSigned16;
  }
  constexpr bool has_min() const {
    return scales == Scales::kHalfMin || scales == Scales::kBytes || scales == Scales::kNibbles16;
  }
  // A span: its scales (a head that all its groups share, then an entry per group), then its
  // groups' planes.
  constexpr int span_groups() const { return by_256() ? 8 : 2; }
  constexpr int head_bytes() const { return by_256() ? (has_min() ? 64 : 32) : 0; }
  constexpr int entry_bytes() const {
    if (scales == Scales::kHalfMin) return 64;
    return scales == Scales::kSigned || scales == Scales::kPowers ? 16 : 32;
  }
  constexpr int scale_bytes() const { return head_bytes() + span_groups() * entry_bytes(); }
  constexpr int span_bytes() const { return scale_bytes() + span_groups() * plane_bytes(); }

  // Where things of group g (of 32 columns) begin in a block.
  constexpr int64_t head(int64_t g) const { return g / span_groups() * span_bytes(); }
  constexpr int64_t entry(int64_t g) const {
    return head(g) + head_bytes() + g % span_groups() * entry_bytes();
  }
  constexpr int64_t planes(int64_t g) const {
    return head(g) + scale_bytes() + g % span_groups() * plane_bytes();
  }
};

// Internal linkage, so that files of any instruction set may include it.
constexpr PlaneFormat kPlaneFormats[] = {
    {Format::kQ4_0, 4, 0, 8, Scales::kHalf},
    {Format::kQ4_1, 4, 0, 0, Scales::kHalfMin},
    {Format::kQ5_0, 5, 0, 16, Scales::kHalf},
    {Format::kQ5_1, 5, 0, 0, Scales::kHalfMin},
    {Format::kQ8_0, 8, 0, 128, Scales::kHalf},
    {Format::kIQ4_NL, 4, 0, 0, Scales::kHalf, kIq4Values},
    {Format::kIQ4_XS, 4, 0, 0, Scales::kSigned, kIq4Values},
    {Format::kMXFP4, 4, 0, 12, Scales::kPowers, kMxfp4Values},
    {Format::kQ4_K, 4, 0, 0, Scales::kBytes},
    {Format::kQ5_K, 5, 0, 0, Scales::kBytes},
    {Format::kQ6_K, 6, 0, 32, Scales::kSigned16},
    {Format::kQ3_K, 2, 1, 4, Scales::kSigned16},
    {Format::kQ2_K, 2, 0, 0, Scales::kNibbles16},
    {Format::kQ8_0Split, 5, 0, 128, Scales::kHalf, nullptr, Fine::kRead},
    {Format::kQ8_0Coarse, 5, 0, 128, Scales::kHalf, nullptr, Fine::kMiddle},
};
constexpr int kPlaneFormatCount = sizeof(kPlaneFormats) / sizeof(kPlaneFormats[0]);

static constexpr int index_of(Format format) {  // -1: no planes
  for (int i = 0; i < kPlaneFormatCount; ++i) {
    if (kPlaneFormats[i].format == format) return i;
  }
  return -1;
}

// Null where the format has no planes.
static inline const PlaneFormat* find_plane_format(Format format) {
  return index_of(format) < 0 ? nullptr : &kPlaneFormats[index_of(format)];
}

// True where a weight is a number by itself.
constexpr bool is_number(Format format) {
  return format == Format::kF32 || format == Format::kF16 || format == Format::kBF16;
}

}  // namespace pawl::kernels
