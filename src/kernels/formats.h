// SPDX-License-Identifier: Apache-2.0
// The tensor formats of GGUF files as the kernels see them: how many weights share a group and how many bytes
// a group takes. Numbers are those of the file format. Byte layouts are drawn in dequantize.cc (as in the file)
// and packed.h (as the kernels stream them).
#pragma once

#include <cstdint>

namespace pawl::kernels {

enum class Format : uint32_t {
  kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_1 = 3, kQ5_0 = 6, kQ5_1 = 7, kQ8_0 = 8,
  kQ2_K = 10, kQ3_K = 11, kQ4_K = 12, kQ5_K = 13, kQ6_K = 14,
  kIQ2_XXS = 16, kIQ2_XS = 17, kIQ3_XXS = 18, kIQ1_S = 19, kIQ4_NL = 20, kIQ3_S = 21, kIQ2_S = 22,
  kIQ4_XS = 23, kIQ1_M = 29, kBF16 = 30, kTQ1_0 = 34, kTQ2_0 = 35, kMXFP4 = 39,
  // In memory only, from rows of Q8_0 (packed.h): with the lower bits of the codes apart from the upper ones, and the
  // same without them.
  kQ8_0Split = 0x10008, kQ8_0Coarse = 0x20008,
};

struct FormatInfo {
  Format format;
  const char* name;  // as GGUF tools print it, "Q4_K"
  int group;         // weights that are stored together; a row is a multiple of it
  int group_bytes;
};

// Null where nothing here can read the format.
const FormatInfo* format_info(Format format);

// Bytes of a row of `cols` weights as it stands in a file. REQUIRES: format_info(format), cols % group == 0
int64_t raw_row_bytes(Format format, int64_t cols);

}  // namespace pawl::kernels
