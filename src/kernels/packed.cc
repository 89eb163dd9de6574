// SPDX-License-Identifier: Apache-2.0
// From rows of a file to row-blocks. unpacked.cc is the way back.
#include "kernels/packed.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/plane_format.h"

namespace pawl::kernels {
namespace {

int64_t round_up_64(int64_t n) {
  return (n + 63) / 64 * 64;
}

// ---- packing: the codes of a row's 32 columns are two vectors of 16 bytes
// ------------------------------------

// Shifts move bits between bytes too; a mask follows every one.
typedef uint16_t Sixteen __attribute__((vector_size(16)));

struct RowCodes {
  Sixteen low, high;  // columns 0..15, 16..31
};

Sixteen sixteen_at(const uint8_t* bytes) {
  Sixteen vector;
  std::memcpy(&vector, bytes, sizeof(vector));
  return vector;
}

// Bits `shift` and up of each byte, as far as `mask` goes.
Sixteen field(Sixteen bytes, int shift, int mask) {
  return (bytes >> shift) & static_cast<uint16_t>(mask * 0x0101);
}

// The codes of 16 nibble bytes: columns 0..15 low, 16..31 high.
RowCodes nibble_codes(const uint8_t* nibbles) {
  const Sixteen bytes = sixteen_at(nibbles);
  return {field(bytes, 0, 0x0f), field(bytes, 4, 0x0f)};
}

// Bit c of `high` becomes the fifth bit of column c.
RowCodes with_fifth_bits(RowCodes codes, const uint8_t* high) {
  uint32_t bits, words[8];
  std::memcpy(&bits, high, 4);
  for (int i = 0; i < 8; ++i) {
    words[i] = (((bits >> (4 * i)) & 0x0f) * 0x00204081U & 0x01010101U) << 4;  // bit k to byte k
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  return {codes.low | sixteen_at(bytes), codes.high | sixteen_at(bytes + 16)};
}

// 16 columns, from byte `at` of group p of 32 columns of a group of 256.
template <Format F>
Sixteen k_codes(const uint8_t* g, int p, int at) {
  const int quarter = 32 * (p / 2) + at, half = 32 * (p / 4) + at;
  if constexpr (F == Format::kQ4_K) return field(sixteen_at(g + 16 + quarter), 4 * (p % 2), 0x0f);
  if constexpr (F == Format::kQ5_K) {
    return field(sixteen_at(g + 48 + quarter), 4 * (p % 2), 0x0f) |
           field(sixteen_at(g + 16 + at), p, 1) << 4;
  }
  if constexpr (F == Format::kQ6_K) {
    return field(sixteen_at(g + 64 * (p / 4) + 32 * (p % 2) + at), 4 * (p / 2 % 2), 0x0f) |
           field(sixteen_at(g + 128 + half), 2 * (p % 4), 3) << 4;
  }
  if constexpr (F == Format::kQ3_K) {
    return field(sixteen_at(g + 32 + half), 2 * (p % 4), 3) | field(sixteen_at(g + at), p, 1) << 2;
  }
  if constexpr (F == Format::kQ2_K) return field(sixteen_at(g + 16 + half), 2 * (p % 4), 3);
}

// Columns 32p..32p+31 of one group of the file.
template <Format F>
RowCodes file_codes(const uint8_t* g, int p) {
  if constexpr (F == Format::kQ4_0 || F == Format::kIQ4_NL) return nibble_codes(g + 2);
  if constexpr (F == Format::kMXFP4) return nibble_codes(g + 1);
  if constexpr (F == Format::kQ4_1) return nibble_codes(g + 4);
  if constexpr (F == Format::kQ5_0) return with_fifth_bits(nibble_codes(g + 6), g + 2);
  if constexpr (F == Format::kQ5_1) return with_fifth_bits(nibble_codes(g + 8), g + 4);
  if constexpr (F == Format::kIQ4_XS) return nibble_codes(g + 8 + 16 * p);
  if constexpr (F == Format::kQ8_0) {
    return {sixteen_at(g + 2) ^ uint16_t{0x8080}, sixteen_at(g + 18) ^ uint16_t{0x8080}};
  }
  if constexpr (kPlaneFormats[index_of(F)].by_256() && F != Format::kIQ4_XS) {
    return {k_codes<F>(g, p, 0), k_codes<F>(g, p, 16)};
  }
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

void put_five_bits(const uint32_t s[8], uint8_t* planes) {
  const uint32_t rest[5] = {bits_of(s[5], 2, 7), bits_of(s[5], 0, 3) << 1 | bits_of(s[6], 1, 1),
                            bits_of(s[6], 2, 7), bits_of(s[7], 2, 7),
                            bits_of(s[7], 0, 3) << 1 | bits_of(s[6], 0, 1)};
  for (int k = 0; k < 5; ++k) put_word(s[k] << 3 | rest[k], planes + 64 * k);
}

// One row's words of a 32-column group: `planes` points at the row's first word, words are 64 bytes
// apart.
template <int I>  // of kPlaneFormats
void put_codes(RowCodes codes, uint8_t* planes) {
  constexpr PlaneFormat P = kPlaneFormats[I];
  if constexpr (P.low_bits == 8) {
    put_words(codes.low, planes);
    put_words(codes.high, planes + 256);
  } else if constexpr (P.low_bits == 6 || P.low_bits == 5) {
    uint32_t steps[8];
    std::memcpy(steps, &codes.low, 16);
    std::memcpy(steps + 4, &codes.high, 16);
    P.low_bits == 6 ? put_six_bits(steps, planes) : put_five_bits(steps, planes);
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

// Scale and minimum j of the 12 bytes that Q4_K and Q5_K share.
void k_scale(const uint8_t* s, int j, uint8_t* scale, uint8_t* minimum) {
  if (j < 4) {
    *scale = s[j] & 63;
    *minimum = s[j + 4] & 63;
  } else {
    *scale = static_cast<uint8_t>((s[j + 4] & 0x0f) | (s[j - 4] >> 6) << 4);
    *minimum = static_cast<uint8_t>((s[j + 4] >> 4) | (s[j] >> 6) << 4);
  }
}

uint8_t q3_scale(const uint8_t* s, int j) {
  const int low = j < 8 ? s[j] & 0x0f : s[j - 8] >> 4;
  return static_cast<uint8_t>((low | ((s[8 + j % 4] >> (2 * (j / 4))) & 3) << 4) - 32);
}

uint8_t iq4_xs_scale(const uint8_t* g, int p) {
  const int low = (g[4 + p / 2] >> (4 * (p % 2))) & 0x0f;
  const int high = ((g[2] | g[3] << 8) >> (2 * p)) & 3;
  return static_cast<uint8_t>((low | high << 4) - 32);
}

// The scales of one row's 32 columns. `head` and `entry` are those of the 16 rows.
template <Format F>
void put_scales(const uint8_t* g, int p, int row, uint8_t* head, uint8_t* entry) {
  const auto half = [row](uint8_t* at, const uint8_t* from) { std::memcpy(at + 2 * row, from, 2); };
  if constexpr (F == Format::kQ4_0 || F == Format::kQ5_0 || F == Format::kQ8_0 ||
                F == Format::kIQ4_NL) {
    half(entry, g);
  } else if constexpr (F == Format::kMXFP4) {
    entry[row] = g[0];
  } else if constexpr (F == Format::kQ4_1 || F == Format::kQ5_1) {
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
void pack_planes(const std::byte* const rows[kRowsPerBlock], int64_t cols, std::byte* out) {
  constexpr PlaneFormat P = kPlaneFormats[I];
  uint8_t* const block = reinterpret_cast<uint8_t*>(out);
  const int group_bytes = format_info(P.format)->group_bytes;
  constexpr int kParts = P.by_256() ? 8 : 1;
  for (int64_t g = 0; g < cols / 32; g += kParts) {
    for (int row = 0; row < kRowsPerBlock; ++row) {
      const auto* file = reinterpret_cast<const uint8_t*>(rows[row]);
      if (file == nullptr) continue;
      file += g / kParts * group_bytes;
      for (int p = 0; p < kParts; ++p) {
        put_codes<I>(file_codes<P.format>(file, p), block + P.planes(g + p) + 4 * row);
        put_scales<P.format>(file, p, row, block + P.head(g), block + P.entry(g + p));
      }
    }
  }
}

using PackPlanes = void (*)(const std::byte* const*, int64_t, std::byte*);
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

void pack_block(Format format, const std::byte* const rows[kRowsPerBlock], int64_t cols,
                std::byte* out) {
  const int64_t bytes = packed_block_bytes(format, cols);
  if (const PlaneFormat* planes = find_plane_format(format)) {
    // Zeros are for rows that are not there and for the padding behind the last span.
    bool is_full = true;
    for (int row = 0; row < kRowsPerBlock; ++row) is_full = is_full && rows[row] != nullptr;
    const int64_t kept = is_full ? std::max<int64_t>(0, bytes - planes->span_bytes() - 64) : 0;
    std::memset(out + kept, 0, static_cast<size_t>(bytes - kept));
    pack_planes_of(format, std::make_integer_sequence<int, kPlaneFormatCount>())(rows, cols, out);
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
