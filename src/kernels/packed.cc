// SPDX-License-Identifier: Apache-2.0
// From rows of a file to row-blocks. unpacked.cc is the way back.
#include "kernels/packed.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/file_codes.h"
#include "kernels/plane_format.h"

namespace pawl::kernels {
namespace {

int64_t round_up_64(int64_t n) {
  return (n + 63) / 64 * 64;
}

// The four words of a vector, 64 bytes apart.
void put_words(Sixteen vector, uint8_t* at) {
  uint32_t words[4];
  std::memcpy(words, &vector, sizeof(words));
  for (int i = 0; i < 4; ++i) std::memcpy(at + 64 * i, &words[i], 4);
}

// The four words of a vector, or-ed into one.
void put_joined(Sixteen vector, uint8_t* at) {
  uint64_t halves[2];
  std::memcpy(halves, &vector, sizeof(halves));
  const uint64_t both = halves[0] | halves[1];
  const uint32_t word = static_cast<uint32_t>(both | both >> 32);
  std::memcpy(at, &word, 4);
}

void put_word(uint32_t word, uint8_t* at) {
  std::memcpy(at, &word, 4);
}

// Bits `shift` and up of each of four codes, as far as `mask` goes.
constexpr uint32_t bits_of(uint32_t codes, int shift, uint32_t mask) {
  return (codes >> shift) & mask * 0x01010101U;
}

// The layouts of packed.h, of one row: s[i] are the four codes of step i.
void put_six_bits(const uint32_t s[8], uint8_t* planes) {
  for (int h = 0; h < 2; ++h) {
    for (int k = 0; k < 3; ++k) {
      put_word(s[4 * h + k] << 2 | bits_of(s[4 * h + 3], 4 - 2 * k, 3), planes + 64 * (3 * h + k));
    }
  }
}

// Five bits of each code, from bit `from` on; below them may be others, above them none.
template <int from>
void put_five_bits(const uint32_t s[8], uint8_t* planes) {
  const uint32_t rest[5] = {bits_of(s[5], from + 2, 7),
                            bits_of(s[5], from, 3) << 1 | bits_of(s[6], from + 1, 1),
                            bits_of(s[6], from + 2, 7), bits_of(s[7], from + 2, 7),
                            bits_of(s[7], from, 3) << 1 | bits_of(s[6], from, 1)};
  for (int k = 0; k < 5; ++k) {
    put_word((s[k] << (3 - from) & 0xf8f8f8f8U) | rest[k], planes + 64 * k);
  }
}

void put_three_bits(const uint32_t s[8], uint8_t* planes) {
  const uint32_t top[3] = {bits_of(s[6], 0, 3), bits_of(s[7], 0, 3),
                           bits_of(s[6], 2, 1) | bits_of(s[7], 2, 1) << 1};
  for (int k = 0; k < 3; ++k) {
    put_word(bits_of(s[k], 0, 7) | bits_of(s[k + 3], 0, 7) << 3 | top[k] << 6, planes + 64 * k);
  }
}

// One row's words of a 32-column group: `planes` and `fine` point at the row's first word, words
// are 64 bytes apart.
template <int I>  // of kPlaneFormats
void put_codes(RowCodes codes, uint8_t* planes, uint8_t* fine) {
  constexpr PlaneFormat P = kPlaneFormats[I];
  if constexpr (P.fine != Fine::kNone) {
    uint32_t steps[8];
    std::memcpy(steps, &codes.low, 16);
    std::memcpy(steps + 4, &codes.high, 16);
    put_five_bits<P.fine_bits()>(steps, planes);
    if constexpr (P.fine == Fine::kRead) put_three_bits(steps, fine);
  } else if constexpr (P.low_bits == 8) {
    put_words(codes.low, planes);
    put_words(codes.high, planes + 256);
  } else if constexpr (P.low_bits == 6 || P.low_bits == 5) {
    uint32_t steps[8];
    std::memcpy(steps, &codes.low, 16);
    std::memcpy(steps + 4, &codes.high, 16);
    P.low_bits == 6 ? put_six_bits(steps, planes) : put_five_bits<0>(steps, planes);
  } else if constexpr (P.low_bits == 4) {
    put_words(field(codes.low, 0, 0x0f) | field(codes.high, 0, 0x0f) << 4, planes);
  }
  // A multiplication puts each step's bits where they belong; no product leaves its byte.
  if constexpr (P.low_bits == 2) {
    constexpr Sixteen kPlaces = {1, 1, 4, 4, 16, 16, 64, 64};
    put_joined(field(codes.low, 0, 3) * kPlaces, planes);
    put_joined(field(codes.high, 0, 3) * kPlaces, planes + 64);
  }
  if constexpr (P.high_bits == 1) {
    constexpr Sixteen kPlaces = {1, 1, 2, 2, 4, 4, 8, 8};
    put_joined(field(codes.low, P.low_bits, 1) * kPlaces |
                   field(codes.high, P.low_bits, 1) * (kPlaces * uint16_t{16}),
               planes + 64 * P.low_bits);
  }
}

// The scales of one row's 32 columns. `head` and `entry` are those of the 16 rows.
template <Format F>
void put_scales(const uint8_t* g, int p, int row, uint8_t* head, uint8_t* entry) {
  const auto half = [row](uint8_t* at, const uint8_t* from) { std::memcpy(at + 2 * row, from, 2); };
  constexpr Scales kScales = kPlaneFormats[index_of(F)].scales;
  if constexpr (kScales == Scales::kHalf) {
    half(entry, g);
  } else if constexpr (F == Format::kMXFP4) {
    entry[row] = g[0];
  } else if constexpr (kScales == Scales::kHalfMin) {
    half(entry, g);
    half(entry + 32, g + 2);
  } else if constexpr (F == Format::kQ4_K || F == Format::kQ5_K) {
    half(head, g);
    half(head + 32, g + 2);
    k_scale(g + 4, p, &entry[row], &entry[16 + row]);
  } else if constexpr (F == Format::kIQ4_XS) {
    half(head, g);
    entry[row] = iq4_xs_scale(g, p);
  } else if constexpr (F == Format::kQ6_K) {
    half(head, g + 208);
    for (int h = 0; h < 2; ++h) entry[16 * h + row] = g[192 + 2 * p + h];
  } else if constexpr (F == Format::kQ3_K) {
    half(head, g + 108);
    for (int h = 0; h < 2; ++h) entry[16 * h + row] = q3_scale(g + 96, 2 * p + h);
  } else {
    static_assert(F == Format::kQ2_K);
    half(head, g + 80);
    half(head + 32, g + 82);
    for (int h = 0; h < 2; ++h) entry[16 * h + row] = g[2 * p + h];
  }
}

template <int I>  // of kPlaneFormats
void pack_planes(const std::byte* const rows[kRowsPerBlock], int64_t cols, std::byte* out,
                 std::byte* fine_out) {
  constexpr PlaneFormat P = kPlaneFormats[I];
  uint8_t* const block = reinterpret_cast<uint8_t*>(out);
  uint8_t* const fine = reinterpret_cast<uint8_t*>(fine_out);
  const int group_bytes = format_info(P.format)->group_bytes;
  constexpr int kParts = P.by_256() ? 8 : 1;
  for (int64_t g = 0; g < cols / 32; g += kParts) {
    for (int row = 0; row < kRowsPerBlock; ++row) {
      const auto* file = reinterpret_cast<const uint8_t*>(rows[row]);
      if (file == nullptr) continue;
      file += g / kParts * group_bytes;
      for (int p = 0; p < kParts; ++p) {
        uint8_t* lower = fine == nullptr ? nullptr : fine + (g + p) * P.fine_bytes() + 4 * row;
        put_codes<I>(file_codes<P.format>(file, p), block + P.planes(g + p) + 4 * row, lower);
        put_scales<P.format>(file, p, row, block + P.head(g), block + P.entry(g + p));
      }
    }
  }
}

using PackPlanes = void (*)(const std::byte* const*, int64_t, std::byte*, std::byte*);
template <int... I>
PackPlanes pack_planes_of(Format format, std::integer_sequence<int, I...>) {
  PackPlanes found = nullptr;
  ((kPlaneFormats[I].format == format ? found = pack_planes<I> : found), ...);
  return found;
}

template <class Bits>
void pack_floats(const std::byte* const rows[kRowsPerBlock], int64_t cols, std::byte* out) {
  for (int64_t c = 0; c < cols; ++c) {
    Bits column[kRowsPerBlock] = {};
    for (int row = 0; row < kRowsPerBlock; ++row) {
      if (rows[row] != nullptr)
        std::memcpy(&column[row], rows[row] + c * sizeof(Bits), sizeof(Bits));
    }
    std::memcpy(out + c * static_cast<int64_t>(sizeof(column)), column, sizeof(column));
  }
}

}  // namespace

bool has_planes(Format format) {
  return find_plane_format(format) != nullptr;
}

int64_t packed_block_bytes(Format format, int64_t cols) {
  if (const PlaneFormat* planes = find_plane_format(format)) {
    return round_up_64(cols == 0 ? 0 : planes->planes(cols / 32 - 1) + planes->plane_bytes());
  }
  return round_up_64(kRowsPerBlock * raw_row_bytes(format, cols));
}

int64_t fine_block_bytes(Format format, int64_t cols) {
  const PlaneFormat* planes = find_plane_format(format);
  return planes == nullptr ? 0 : cols / 32 * planes->fine_bytes();
}

void pack_block(Format format, const std::byte* const rows[kRowsPerBlock], int64_t cols,
                std::byte* out, std::byte* fine) {
  const int64_t bytes = packed_block_bytes(format, cols);
  if (const PlaneFormat* planes = find_plane_format(format)) {
    // Zeros are for rows that are not there and for the padding behind the last span.
    bool is_full = true;
    for (int row = 0; row < kRowsPerBlock; ++row) is_full = is_full && rows[row] != nullptr;
    const int64_t kept = is_full ? std::max<int64_t>(0, bytes - planes->span_bytes() - 64) : 0;
    std::memset(out + kept, 0, static_cast<size_t>(bytes - kept));
    if (!is_full && planes->fine_bytes() > 0) {
      std::memset(fine, 0, static_cast<size_t>(fine_block_bytes(format, cols)));
    }
    pack_planes_of(format, std::make_integer_sequence<int, kPlaneFormatCount>())(rows, cols, out,
                                                                                 fine);
  } else if (is_number(format)) {
    std::memset(out + bytes - 64, 0, 64);
    format == Format::kF32 ? pack_floats<uint32_t>(rows, cols, out)
                           : pack_floats<uint16_t>(rows, cols, out);
  } else {
    const int64_t row_bytes = raw_row_bytes(format, cols);
    std::memset(out, 0, static_cast<size_t>(bytes));
    for (int row = 0; row < kRowsPerBlock; ++row) {
      if (rows[row] != nullptr)
        std::memcpy(out + row * row_bytes, rows[row], static_cast<size_t>(row_bytes));
    }
  }
}

}  // namespace pawl::kernels
