// SPDX-License-Identifier: Apache-2.0
// The entries of elementwise-inl.h and attention-inl.h as one object, for the file that included
// them.
#pragma once

#include "kernels/entries.h"

namespace pawl::kernels {
namespace {

constexpr VectorEntries kVectorEntries = {
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .add = add_rows,
    .add_scaled = add_scaled,
    .multiply = multiply,
    .scale = scale,
    .clamp = clamp,
    .soft_cap = soft_cap,
    .activate = activate,
    .gate = gate,
    .softmax = softmax,
    .sigmoid = sigmoid,
    .rope = rope,
    .store_kv = store_kv,
    .attention_spans = attention_spans,
    .attention_fold = attention_fold,
    .attention_finish = attention_finish,
};

}  // namespace
}  // namespace pawl::kernels
