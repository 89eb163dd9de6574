// SPDX-License-Identifier: Apache-2.0
// Inside dequantize: one group as it stands in a file → its weights. Bytes are little-endian and
// unaligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dequantize.h"
#include "kernels/formats.h"

namespace pawl::kernels {

// Writes format_info(format)->group weights to `out`.
using GroupReader = void (*)(const uint8_t* group, float* out);

// Formats whose codes are indices into a code book (IQ1 to IQ4, MXFP4); null for any other.
GroupReader codebook_group_reader(Format format);

inline uint16_t read_u16(const uint8_t* bytes) {
  return static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
}

inline uint32_t read_u32(const uint8_t* bytes) {
  return read_u16(bytes) | static_cast<uint32_t>(read_u16(bytes + 2)) << 16;
}

inline float read_half(const uint8_t* bytes) {
  return half_to_float(read_u16(bytes));
}

}  // namespace pawl::kernels
