// SPDX-License-Identifier: Apache-2.0
// What a code of 4 bits is worth where it is an index: constants of the file format.
#pragma once

#include <cstdint>

namespace pawl::kernels {

// IQ4_NL and IQ4_XS.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};
// MXFP4 (E2M1, doubled to be whole).
constexpr int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace pawl::kernels
