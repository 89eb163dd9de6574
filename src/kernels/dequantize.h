// SPDX-License-Identifier: Apache-2.0
// Rows as they stand in a GGUF file → float32, for every format of formats.h. This is the definition of what a
// quantised weight means; everything else in this folder is held against it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/formats.h"

namespace pawl::kernels {

// out[cols] = the weights of one row. `row` need not be aligned.
// REQUIRES: format_info(format), cols % group == 0
void dequantize_row(Format format, const std::byte* row, int64_t cols, float* out);

// IEEE 754 half and bfloat16 → float, exact; float → half, to nearest, ties to even.
float half_to_float(uint16_t bits);
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_half(float value);

}  // namespace pawl::kernels
