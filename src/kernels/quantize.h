// SPDX-License-Identifier: Apache-2.0
// float32 rows → rows as they stand in a GGUF file, for the formats that files are made in. The codes, scales and
// their roundings are those of the reference quantiser of the ggml project, bit for bit (tests/golden/quantize): a
// file made here is the file made there. Nothing here is on the path of a forward pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/formats.h"

namespace pawl::kernels {

// F32, F16, Q8_0, Q4_0, Q4_K, Q5_K and Q6_K.
bool can_quantize(Format format);

// The largest magnitude a weight may have: beyond it the 16-bit scales of these formats overflow.
constexpr float kMostWeight = 65504.0f;

// Writes raw_row_bytes(format, cols) bytes to `out`, which need not be aligned.
// REQUIRES: can_quantize(format), cols a multiple of its group, every |x| <= kMostWeight (none is NaN)
void quantize_row(Format format, const float* x, int64_t cols, std::byte* out);

}  // namespace pawl::kernels
