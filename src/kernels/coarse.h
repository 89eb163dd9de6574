// SPDX-License-Identifier: Apache-2.0
// How far a product with the upper five bits of 8-bit codes can be from the whole product.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed.h"

namespace pawl::kernels {

// For each of 16 rows as in a file of Q8_0 a bound e: for every x of matmul_a8 the results of a row
// as Q8_0Split and as Q8_0Coarse differ by at most e * length, rounding included, where length is
// that of x's quantised values, sqrt(sum of (q * scale)^2) (Cauchy and Schwarz: the lower bits that
// are left out are a vector too, and e is its length). Rows that are null: 0. Infinity where a
// weight is no finite number.
void coarse_errors(const std::byte* const rows[kRowsPerBlock], int64_t cols,
                   float out[kRowsPerBlock]);

// The length of a quantised row of n activations, rounded up; NaN where it holds such a group.
float a8_length(const std::byte* row, int64_t n);

}  // namespace pawl::kernels
