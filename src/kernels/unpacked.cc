// SPDX-License-Identifier: Apache-2.0
// From row-blocks back to weights: what packing is held against, and what the definition reads.
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/dequantize.h"
#include "kernels/packed.h"
#include "kernels/plane_format.h"

namespace pawl::kernels {
namespace {

// Bits of four codes: `bits` of them from bit `from` of each byte, moved to bit `to`.
uint32_t moved(uint32_t bytes, int from, int bits, int to) {
  return (bytes >> from & ((1U << bits) - 1) * 0x01010101U) << to;
}

// Words are 16 apart: plane p of a row is word[16 * p].
uint32_t six_bit_codes(const uint32_t* word, int step) {
  const uint32_t* half = word + 16 * 3 * (step / 4);
  if (step % 4 < 3) return moved(half[16 * (step % 4)], 2, 6, 0);
  return moved(half[0], 0, 2, 4) | moved(half[16], 0, 2, 2) | moved(half[32], 0, 2, 0);
}

uint32_t five_bit_codes(const uint32_t* word, int step) {
  switch (step) {
    case 5:
      return moved(word[0], 0, 3, 2) | moved(word[16], 1, 2, 0);
    case 6:
      return moved(word[32], 0, 3, 2) | moved(word[16], 0, 1, 1) | moved(word[64], 0, 1, 0);
    case 7:
      return moved(word[48], 0, 3, 2) | moved(word[64], 1, 2, 0);
    default:
      return moved(word[16 * step], 3, 5, 0);
  }
}

uint32_t three_bit_codes(const uint32_t* word, int step) {
  switch (step) {
    case 6:
      return moved(word[0], 6, 2, 0) | moved(word[32], 6, 1, 2);
    case 7:
      return moved(word[16], 6, 2, 0) | moved(word[32], 7, 1, 2);
    default:
      return moved(word[16 * (step % 3)], 3 * (step / 3), 3, 0);
  }
}

// Of one row, the four codes of a step.
uint32_t step_codes(const PlaneFormat& format, const uint32_t* word, const uint32_t* fine,
                    int step) {
  if (format.fine != Fine::kNone) {
    const uint32_t lower =
        format.fine == Fine::kRead ? three_bit_codes(fine, step) : 4 * 0x01010101U;
    return five_bit_codes(word, step) << format.fine_bits() | lower;
  }
  switch (format.low_bits) {
    case 8:
      return word[16 * step];
    case 6:
      return six_bit_codes(word, step);
    case 5:
      return five_bit_codes(word, step);
    case 4:
      return moved(word[16 * (step % 4)], 4 * (step / 4), 4, 0);
    default: {
      const uint32_t low = moved(word[16 * (step / 4)], 2 * (step % 4), 2, 0);
      return format.high_bits == 0 ? low : low | moved(word[16 * 2], step, 1, 2);
    }
  }
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
    for (int h = 0; h < (format.by_halves() ? 2 : 1); ++h) {
      float scale = 0, minimum = 0;
      switch (format.scales) {
        case Scales::kHalf:
          scale = half_at(entry, row);
          break;
        case Scales::kPowers:
          scale = std::ldexp(1.0f, entry[row] - 128);
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
    if (!format.by_halves()) {
      out->scale[1][row] = out->scale[0][row];
      out->minimum[1][row] = out->minimum[0][row];
    }
  }
}

// With minima code * scale is exact, so the sum rounds once.
float weight(const PlaneFormat& format, const PackedGroup& group, int column, int row) {
  const float product = static_cast<float>(group.code[column][row]) * group.scale[column / 16][row];
  return format.has_min() ? product + group.minimum[column / 16][row] : product;
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

void read_group(Format format, const std::byte* block, int64_t group, PackedGroup* out,
                const std::byte* fine) {
  const PlaneFormat* planes = find_plane_format(format);
  PAWL_CHECK(planes != nullptr);
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  uint32_t words[16 * 8], fine_words[16 * 3];
  std::memcpy(words, bytes + planes->planes(group), static_cast<size_t>(planes->plane_bytes()));
  if (planes->fine_bytes() > 0) {
    std::memcpy(fine_words, fine + group * planes->fine_bytes(),
                static_cast<size_t>(planes->fine_bytes()));
  }
  for (int step = 0; step < 8; ++step) {
    uint8_t four[64];
    for (int row = 0; row < kRowsPerBlock; ++row) {
      const uint32_t codes_of_row = step_codes(*planes, words + row, fine_words + row, step);
      std::memcpy(four + 4 * row, &codes_of_row, 4);
    }
    for (int i = 0; i < 4; ++i) {
      for (int row = 0; row < kRowsPerBlock; ++row) {
        const int code = four[4 * row + i];
        out->code[4 * step + i][row] = static_cast<int16_t>(
            planes->code_book != nullptr ? planes->code_book[code] : code - planes->offset);
      }
    }
  }
  read_scales(*planes, bytes, group, out);
}

void unpack_row(Format format, const std::byte* block, int lane, int64_t cols, float* out,
                const std::byte* fine) {
  if (const PlaneFormat* planes = find_plane_format(format)) {
    PackedGroup group;
    for (int64_t g = 0; g < cols / 32; ++g) {
      read_group(format, block, g, &group, fine);
      for (int c = 0; c < 32; ++c) out[32 * g + c] = weight(*planes, group, c, lane);
    }
  } else if (is_number(format)) {
    for (int64_t c = 0; c < cols; ++c) out[c] = float_at(format, block, c * kRowsPerBlock + lane);
  } else {
    raw_columns(format, block, lane, cols, 0, cols, 1, out);
  }
}

void unpack_columns(Format format, const std::byte* block, int64_t cols, int64_t col, int64_t n,
                    float* out, const std::byte* fine) {
  if (const PlaneFormat* planes = find_plane_format(format)) {
    PackedGroup group;
    for (int64_t g = 0; g < n / 32; ++g) {
      read_group(format, block, col / 32 + g, &group, fine);
      for (int c = 0; c < 32; ++c) {
        for (int row = 0; row < kRowsPerBlock; ++row) {
          out[(32 * g + c) * kRowsPerBlock + row] = weight(*planes, group, c, row);
        }
      }
    }
  } else if (is_number(format)) {
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
