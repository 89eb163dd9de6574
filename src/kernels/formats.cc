// SPDX-License-Identifier: Apache-2.0
// The table behind formats.h.
#include "kernels/formats.h"

namespace pawl::kernels {
namespace {

constexpr FormatInfo kFormats[] = {
    {Format::kF32, "F32", 1, 4},
    {Format::kF16, "F16", 1, 2},
    {Format::kQ4_0, "Q4_0", 32, 18},
    {Format::kQ4_1, "Q4_1", 32, 20},
    {Format::kQ5_0, "Q5_0", 32, 22},
    {Format::kQ5_1, "Q5_1", 32, 24},
    {Format::kQ8_0, "Q8_0", 32, 34},
    {Format::kQ2_K, "Q2_K", 256, 84},
    {Format::kQ3_K, "Q3_K", 256, 110},
    {Format::kQ4_K, "Q4_K", 256, 144},
    {Format::kQ5_K, "Q5_K", 256, 176},
    {Format::kQ6_K, "Q6_K", 256, 210},
    {Format::kIQ2_XXS, "IQ2_XXS", 256, 66},
    {Format::kIQ2_XS, "IQ2_XS", 256, 74},
    {Format::kIQ3_XXS, "IQ3_XXS", 256, 98},
    {Format::kIQ1_S, "IQ1_S", 256, 50},
    {Format::kIQ4_NL, "IQ4_NL", 32, 18},
    {Format::kIQ3_S, "IQ3_S", 256, 110},
    {Format::kIQ2_S, "IQ2_S", 256, 82},
    {Format::kIQ4_XS, "IQ4_XS", 256, 136},
    {Format::kIQ1_M, "IQ1_M", 256, 56},
    {Format::kBF16, "BF16", 1, 2},
    {Format::kTQ1_0, "TQ1_0", 256, 54},
    {Format::kTQ2_0, "TQ2_0", 256, 66},
    {Format::kMXFP4, "MXFP4", 32, 17},
    {Format::kQ8_0Split, "Q8_0 split", 32, 34},
    {Format::kQ8_0Coarse, "Q8_0 coarse", 32, 34},
};

}  // namespace

const FormatInfo* format_info(Format format) {
  for (const FormatInfo& info : kFormats) {
    if (info.format == format) return &info;
  }
  return nullptr;
}

int64_t raw_row_bytes(Format format, int64_t cols) {
  const FormatInfo* info = format_info(format);
  return cols / info->group * info->group_bytes;
}

}  // namespace pawl::kernels
