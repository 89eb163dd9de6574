// SPDX-License-Identifier: Apache-2.0
// What each instruction set's files export: two constant objects, one of matrix products, one of
// everything else. registry.cc joins them into the rows of the table; the meaning of each entry
// stands in kernels.h. A file built with instruction-set flags exports nothing but these objects
// (tools/check_files.py looks).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace pawl::kernels {

struct MatmulEntries {
  decltype(Table::quantize_a8) quantize_a8;
  decltype(Table::matmul_a8) matmul_a8;
  decltype(Table::matmul_f32) matmul_f32;
  decltype(Table::dot_peak) dot_peak;
  bool splits_well;
};

struct VectorEntries {
  decltype(Table::rms_norm) rms_norm;
  decltype(Table::layer_norm) layer_norm;
  decltype(Table::add) add;
  decltype(Table::add_scaled) add_scaled;
  decltype(Table::multiply) multiply;
  decltype(Table::scale) scale;
  decltype(Table::clamp) clamp;
  decltype(Table::soft_cap) soft_cap;
  decltype(Table::activate) activate;
  decltype(Table::gate) gate;
  decltype(Table::softmax) softmax;
  decltype(Table::exp_sum) exp_sum;
  decltype(Table::sigmoid) sigmoid;
  decltype(Table::rope) rope;
  decltype(Table::store_kv) store_kv;
  decltype(Table::attention_spans) attention_spans;
  decltype(Table::attention_fold) attention_fold;
  decltype(Table::attention_finish) attention_finish;
  decltype(Table::softplus) softplus;
  decltype(Table::exponential) exponential;
  decltype(Table::convolve) convolve;
  decltype(Table::selective_step) selective_step;
  decltype(Table::decay_step) decay_step;
  decltype(Table::delta_step) delta_step;
};

extern const MatmulEntries kScalarMatmul;  // reference_matmul.cc
extern const VectorEntries kScalarVector;  // reference.cc

#if defined(__x86_64__)
extern const MatmulEntries kAvx2Matmul;        // avx2/matmul.cc
extern const MatmulEntries kAvx512Matmul;      // avx512/matmul.cc
extern const MatmulEntries kAvx512VnniMatmul;  // avx512/matmul_vnni.cc
extern const VectorEntries kAvx2Vector;        // avx2/vector.cc
extern const VectorEntries kAvx512Vector;      // avx512/vector.cc; VNNI adds nothing to it
#endif

}  // namespace pawl::kernels
