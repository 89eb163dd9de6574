// SPDX-License-Identifier: Apache-2.0
// Weights as the kernels stream them: 16 rows interleaved, so that one vector lane is one output
// row and every variant adds a row's groups in the same order. Packing moves bits and changes no
// value: unpack_row gives what dequantize_row gives, bit for bit.
//
// A row-block is 16 consecutive rows (the last one padded with zero weights). It is a sequence of
// spans of columns, and a span is its scales, then its planes: a kernel reads a block, and one
// block after the other, as a single ascending stream, which is what memory is fastest at (scales
// apart from planes halved the bandwidth reached). A step is 4 columns; a 32-column group is 8
// steps. A vector of 64 bytes is [16 rows][4 columns] of one step.
//
//   planes of one 32-column group, in this order:
//     8-bit  [8 steps][16][4]   the weight + 128 (Q8_0)
//     4-bit  [4][16][4]         byte i = step i in the low nibble, step i+4 in the high nibble
//     6-bit  [2][3][16][4]      vector k of half h: step 4h+k from bit 2 on, and below it the k-th
//                               pair of bits of step 4h+3, highest pair first
//     5-bit  [5][16][4]         vector k: step k from bit 3 on, and below it three bits r_k:
//                               step 5 = r_0, upper two of r_1; step 7 = r_3, upper two of r_4;
//                               step 6 = r_2, lowest of r_1, lowest of r_4
//     2-bit  [2][16][4]         byte h = steps 4h..4h+3, two bits each, lowest first
//     1-bit  [16][4]            bit j = step j
//   Most codes of 5 and 6 bits are there after one mask: taking the bits of all of them together
//   from two planes bound the products with one token.
//     split  the upper five bits of an 8-bit code as 5-bit; the lower three in a block of their
//     own,
//            of all its groups: [3][16][4], vector k: step k from bit 0 on, step k+3 from bit 3 on;
//            the lowest two bits of step 6 on top of vector 0, of step 7 on top of vector 1; their
//            highest bits: bit 6 and bit 7 of vector 2. Q8_0Split; in Q8_0Coarse, which shares the
//            first block, the lower three bits are taken for 4.
//   Q4_0 Q4_1 Q4_K IQ4_NL IQ4_XS MXFP4: 4-bit. Q5_0 Q5_1 Q5_K: 5-bit. Q6_K: 6-bit. Q3_K: 2-bit,
//   then the high bits 1-bit. Q2_K: 2-bit.
//
//   spans of 64 columns (the last may lack its second planes), scales per 32-column group:
//     Q4_0 Q5_0 Q8_0 (split too) IQ4_NL f16 d[16]; Q4_1 Q5_1 f16 d[16], f16 m[16];
//     MXFP4 u8 e[16], d = 2^(e - 128).
//   spans of 256 columns, scales: f16 d[16]; Q2_K Q4_K Q5_K also f16 dmin[16]; then per 32-column
//   group:
//     Q4_K Q5_K u8 sc[16], u8 m[16]; IQ4_XS i8 ls[16]; Q6_K i8 sc[2][16]; Q3_K i8 sc[2][16] (32
//     taken off); Q2_K u8 [2][16], sc in the low nibble, m in the high one.   [2] = the two halves
//     of 16 columns.
//   Planes are 32-byte aligned, a block is padded to 64.
//
//   F32 F16 BF16: [cols][16], no scales. Every other format: the 16 rows as in the file, one after
//   the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/formats.h"

namespace pawl::kernels {

constexpr int kRowsPerBlock = 16;

// True where matmul_a8 exists: the weights have planes, and activations are quantised to 8 bits.
bool has_planes(Format format);

// A multiple of 64. REQUIRES, here and below: format_info(format), cols % group == 0
int64_t packed_block_bytes(Format format, int64_t cols);

// Of the block with the lower bits: a multiple of 64, 0 where the format has none.
int64_t fine_block_bytes(Format format, int64_t cols);

// rows[i] is row i as in the file, or null for a padded row. out: packed_block_bytes, fine:
// fine_block_bytes, both 64-byte aligned. Threads: any number at once, on different blocks.
void pack_block(Format format, const std::byte* const rows[kRowsPerBlock], int64_t cols,
                std::byte* out, std::byte* fine = nullptr);

// `fine`, here and below: the block with the lower bits, where the format has one.
// out[cols] = row `lane` of a packed block.
void unpack_row(Format format, const std::byte* block, int lane, int64_t cols, float* out,
                const std::byte* fine = nullptr);

// out[16 per column] = columns [col, col + n) of all 16 rows, [n][16]. REQUIRES: col, n multiples
// of the group (32 for plane formats of 32 columns, 256 for those of 256); any col and n for F32,
// F16, BF16.
void unpack_columns(Format format, const std::byte* block, int64_t cols, int64_t col, int64_t n,
                    float* out, const std::byte* fine = nullptr);

// 32 columns of 16 rows, as the definition of matmul_a8 sees them. [2] = the halves of 16 columns;
// they are equal where the format's group is 32. A weight is code * scale + minimum.
struct PackedGroup {
  int16_t code[32][kRowsPerBlock];  // offset taken off, or the code book's entry
  float scale[2][kRowsPerBlock];    // d, or d * sc
  float minimum[2][kRowsPerBlock];  // +m, or -(dmin * m); 0 where the format has none
};

// REQUIRES: has_planes(format), the block has the group
void read_group(Format format, const std::byte* block, int64_t group, PackedGroup* out,
                const std::byte* fine = nullptr);

}  // namespace pawl::kernels
