// SPDX-License-Identifier: Apache-2.0
#include "kernels/packed.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "kernels/dequantize.h"
#include "kernels/plane_format.h"

namespace pawl::kernels {
namespace {

const PlaneFormat* find_plane_format(Format format) {
  for (const PlaneFormat& row : kPlaneFormats) {
    if (row.format == format) return &row;
  }
  return nullptr;
}

int64_t round_up_64(int64_t n) {
  return (n + 63) / 64 * 64;
}

// Bytes of a weight that is a number by itself, 0 for a quantised format.
int float_bytes(Format format) {
  if (format == Format::kF32) return 4;
  return format == Format::kF16 || format == Format::kBF16 ? 2 : 0;
}

// ---- packing: four columns of a row are one uint32, and all is done on such words
// ----------------------------

uint32_t word_at(const uint8_t* bytes, int i) {
  uint32_t word;
  std::memcpy(&word, bytes + 4 * i, 4);
  return word;
}

void put_word(uint8_t* at, uint32_t word) {
  std::memcpy(at, &word, 4);
}

constexpr uint32_t every_byte(uint32_t mask) {
  return mask * 0x01010101u;
}

// Bits `bits` of each byte, from bit `shift` on.
uint32_t field(uint32_t word, int shift, uint32_t mask) {
  return (word >> shift) & every_byte(mask);
}

// The codes of 16 nibble bytes: columns 0..15 low, 16..31 high.
void nibble_codes(const uint8_t* nibbles, uint32_t codes[8]) {
  for (int i = 0; i < 4; ++i) {
    codes[i] = field(word_at(nibbles, i), 0, 0x0f);
    codes[i + 4] = field(word_at(nibbles, i), 4, 0x0f);
  }
}

// Adds bit c of `high` to column c, as the fifth bit.
void add_fifth_bits(const uint8_t* high, uint32_t codes[8]) {
  const uint32_t bits = word_at(high, 0);
  for (int i = 0; i < 8; ++i) {
    const uint32_t four = (bits >> (4 * i)) & 0x0f;
    codes[i] |= ((four * 0x00204081u) & every_byte(1)) << 4;  // bit k to byte k
  }
}

// The codes of columns 32p..32p+31 of one group of the file: codes[i] holds columns 4i..4i+3.
template <Format F>
void file_codes(const uint8_t* g, int p, uint32_t codes[8]) {
  if constexpr (F == Format::kQ4_0 || F == Format::kIQ4_NL) {
    nibble_codes(g + 2, codes);
  } else if constexpr (F == Format::kQ4_1) {
    nibble_codes(g + 4, codes);
  } else if constexpr (F == Format::kQ5_0) {
    nibble_codes(g + 6, codes);
    add_fifth_bits(g + 2, codes);
  } else if constexpr (F == Format::kQ5_1) {
    nibble_codes(g + 8, codes);
    add_fifth_bits(g + 4, codes);
  } else if constexpr (F == Format::kIQ4_XS) {
    nibble_codes(g + 8 + 16 * p, codes);
  } else {
    for (int i = 0; i < 8; ++i) {
      if constexpr (F == Format::kQ8_0) {
        codes[i] = word_at(g + 2, i) ^ every_byte(0x80);
      } else if constexpr (F == Format::kQ4_K) {
        codes[i] = field(word_at(g + 16 + 32 * (p / 2), i), 4 * (p % 2), 0x0f);
      } else if constexpr (F == Format::kQ5_K) {
        codes[i] = field(word_at(g + 48 + 32 * (p / 2), i), 4 * (p % 2), 0x0f) |
                   field(word_at(g + 16, i), p, 1) << 4;
      } else if constexpr (F == Format::kQ6_K) {
        codes[i] = field(word_at(g + 64 * (p / 4) + 32 * (p % 2), i), 4 * (p / 2 % 2), 0x0f) |
                   field(word_at(g + 128 + 32 * (p / 4), i), 2 * (p % 4), 3) << 4;
      } else if constexpr (F == Format::kQ3_K) {
        codes[i] = field(word_at(g + 32 + 32 * (p / 4), i), 2 * (p % 4), 3) |
                   field(word_at(g, i), p, 1) << 2;
      } else {
        static_assert(F == Format::kQ2_K);
        codes[i] = field(word_at(g + 16 + 32 * (p / 4), i), 2 * (p % 4), 3);
      }
    }
  }
}

// One row's words of a 32-column group: `planes` points at the row's first word, words are 64 bytes
// apart.
template <int I>  // of kPlaneFormats
void put_codes(const uint32_t codes[8], uint8_t* planes) {
  constexpr PlaneFormat P = kPlaneFormats[I];
  if constexpr (P.low_bits == 8) {
    for (int i = 0; i < 8; ++i) put_word(planes + 64 * i, codes[i]);
  } else if constexpr (P.low_bits == 4) {
    for (int i = 0; i < 4; ++i) {
      put_word(planes + 64 * i, field(codes[i], 0, 0x0f) | field(codes[i + 4], 0, 0x0f) << 4);
    }
  }
  constexpr int kTwoBitsAt = P.low_bits == 2 ? 0 : 4;
  if constexpr (P.low_bits == 2 || P.high_bits == 2) {
    for (int h = 0; h < 2; ++h) {
      uint32_t word = 0;
      for (int k = 0; k < 4; ++k) word |= field(codes[4 * h + k], kTwoBitsAt, 3) << (2 * k);
      put_word(planes + 64 * (P.low_bits == 4 ? 4 + h : h), word);
    }
  }
  if constexpr (P.high_bits == 1) {
    uint32_t word = 0;
    for (int i = 0; i < 8; ++i) word |= field(codes[i], P.low_bits, 1) << i;
    put_word(planes + 64 * P.low_bits, word);
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
        uint32_t codes[8];
        file_codes<P.format>(file, p, codes);
        put_codes<I>(codes, block + P.planes(g + p) + 4 * row);
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

void pack_floats(int bytes, const std::byte* const rows[kRowsPerBlock], int64_t cols,
                 std::byte* out) {
  for (int row = 0; row < kRowsPerBlock; ++row) {
    if (rows[row] == nullptr) continue;
    for (int64_t c = 0; c < cols; ++c) {
      std::memcpy(out + (c * kRowsPerBlock + row) * bytes, rows[row] + c * bytes,
                  static_cast<size_t>(bytes));
    }
  }
}

// ---- reading back
// -------------------------------------------------------------------------------------------

int plane_code(const PlaneFormat& format, const uint8_t* planes, int row, int column) {
  const int step = column / 4;
  const uint8_t* byte = planes + 4 * row + column % 4;
  int code = 0;
  if (format.low_bits == 8) return byte[64 * step];
  if (format.low_bits == 4) {
    code = (byte[64 * (step % 4)] >> (4 * (step / 4))) & 0x0f;
  } else {
    code = (byte[64 * (step / 4)] >> (2 * (step % 4))) & 3;
  }
  const uint8_t* high = byte + 64 * format.low_bits;
  if (format.high_bits == 2) code |= ((high[64 * (step / 4)] >> (2 * (step % 4))) & 3) << 4;
  if (format.high_bits == 1) code |= ((high[0] >> step) & 1) << format.low_bits;
  return code;
}

float half_at(const uint8_t* halves, int row) {
  uint16_t bits;
  std::memcpy(&bits, halves + 2 * row, 2);
  return half_to_float(bits);
}

void read_scales(const PlaneFormat& format, const uint8_t* block, int64_t group, PackedGroup* out) {
  const uint8_t* head = block + format.head(group);
  const uint8_t* entry = block + format.entry(group);
  for (int row = 0; row < kRowsPerBlock; ++row) {
    for (int h = 0; h < 2; ++h) {
      float scale = 0, minimum = 0;
      switch (format.scales) {
        case Scales::kHalf:
          scale = half_at(entry, row);
          break;
        case Scales::kHalfMin:
          scale = half_at(entry, row);
          minimum = half_at(entry + 32, row);
          break;
        case Scales::kBytes:
          scale = half_at(head, row) * static_cast<float>(entry[row]);
          minimum = -(half_at(head + 32, row) * static_cast<float>(entry[16 + row]));
          break;
        case Scales::kNibbles16:
          scale = half_at(head, row) * static_cast<float>(entry[16 * h + row] & 0x0f);
          minimum = -(half_at(head + 32, row) * static_cast<float>(entry[16 * h + row] >> 4));
          break;
        case Scales::kSigned:
          scale = half_at(head, row) * static_cast<float>(static_cast<int8_t>(entry[row]));
          break;
        case Scales::kSigned16:
          scale = half_at(head, row) * static_cast<float>(static_cast<int8_t>(entry[16 * h + row]));
          break;
      }
      out->scale[h][row] = scale;
      out->minimum[h][row] = minimum;
    }
  }
}

// Columns of a group's 16 rows as weights. With minima code * scale is exact, so the sum rounds
// once.
void group_weights(const PlaneFormat& format, const PackedGroup& group, int row, float out[32]) {
  for (int c = 0; c < 32; ++c) {
    const float product = static_cast<float>(group.code[c][row]) * group.scale[c / 16][row];
    out[c] = format.has_min() ? product + group.minimum[c / 16][row] : product;
  }
}

float float_at(Format format, const std::byte* block, int64_t index) {
  if (format == Format::kF32) {
    float value;
    std::memcpy(&value, block + 4 * index, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, block + 2 * index, 2);
  return format == Format::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
}

// Columns [col, col + n) of one row of a block of rows as in the file, `stride` floats apart.
void raw_columns(Format format, const std::byte* block, int row, int64_t cols, int64_t col,
                 int64_t n, int64_t stride, float* out) {
  const FormatInfo& info = *format_info(format);
  const std::byte* from =
      block + row * raw_row_bytes(format, cols) + col / info.group * info.group_bytes;
  float weights[256];
  for (int64_t c = 0; c < n; c += info.group, from += info.group_bytes) {
    dequantize_row(format, from, info.group, weights);
    for (int i = 0; i < info.group; ++i) out[(c + i) * stride] = weights[i];
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
  if (has_planes(format)) {
    std::memset(out, 0, static_cast<size_t>(bytes));
    pack_planes_of(format, std::make_integer_sequence<int, kPlaneFormatCount>())(rows, cols, out);
  } else if (const int float_size = float_bytes(format)) {
    std::memset(out, 0, static_cast<size_t>(bytes));
    pack_floats(float_size, rows, cols, out);
  } else {
    const int64_t row_bytes = raw_row_bytes(format, cols);
    std::memset(out, 0, static_cast<size_t>(bytes));
    for (int row = 0; row < kRowsPerBlock; ++row) {
      if (rows[row] != nullptr)
        std::memcpy(out + row * row_bytes, rows[row], static_cast<size_t>(row_bytes));
    }
  }
}

void read_group(Format format, const std::byte* block, int64_t group, PackedGroup* out) {
  const PlaneFormat* planes = find_plane_format(format);
  PAWL_CHECK(planes != nullptr);
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  const uint8_t* codes = bytes + planes->planes(group);
  for (int c = 0; c < 32; ++c) {
    for (int row = 0; row < kRowsPerBlock; ++row) {
      const int code = plane_code(*planes, codes, row, c);
      out->code[c][row] =
          static_cast<int16_t>(planes->code_book ? kIq4CodeBook[code] : code - planes->offset);
    }
  }
  read_scales(*planes, bytes, group, out);
}

void unpack_row(Format format, const std::byte* block, int lane, int64_t cols, float* out) {
  if (const PlaneFormat* planes = find_plane_format(format)) {
    PackedGroup group;
    for (int64_t g = 0; g < cols / 32; ++g) {
      read_group(format, block, g, &group);
      group_weights(*planes, group, lane, out + 32 * g);
    }
  } else if (float_bytes(format) != 0) {
    for (int64_t c = 0; c < cols; ++c) out[c] = float_at(format, block, c * kRowsPerBlock + lane);
  } else {
    raw_columns(format, block, lane, cols, 0, cols, 1, out);
  }
}

void unpack_columns(Format format, const std::byte* block, int64_t cols, int64_t col, int64_t n,
                    float* out) {
  if (const PlaneFormat* planes = find_plane_format(format)) {
    PackedGroup group;
    for (int64_t g = 0; g < n / 32; ++g) {
      read_group(format, block, col / 32 + g, &group);
      for (int row = 0; row < kRowsPerBlock; ++row) {
        float weights[32];
        group_weights(*planes, group, row, weights);
        for (int c = 0; c < 32; ++c) out[(32 * g + c) * kRowsPerBlock + row] = weights[c];
      }
    }
  } else if (float_bytes(format) != 0) {
    for (int64_t i = 0; i < n * kRowsPerBlock; ++i) {
      out[i] = float_at(format, block, col * kRowsPerBlock + i);
    }
  } else {
    for (int row = 0; row < kRowsPerBlock; ++row) {
      raw_columns(format, block, row, cols, col, n, kRowsPerBlock, out + row);
    }
  }
}

}  // namespace pawl::kernels
