// SPDX-License-Identifier: Apache-2.0
// Every entry that is not a matrix product, as one object over the Vec of whichever vec.h was
// included before.
#pragma once

#include "kernels/attention-inl.h"
#include "kernels/elementwise-inl.h"
#include "kernels/entries.h"
#include "kernels/kv_store-inl.h"
#include "kernels/recurrent-inl.h"

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
    .exp_sum = exp_sum,
    .sigmoid = sigmoid,
    .rope = rope,
    .store_kv = store_kv,
    .attention_spans = attention_spans,
    .attention_fold = attention_fold,
    .attention_finish = attention_finish,
    .softplus = softplus,
    .exponential = exponential_of,
    .convolve = convolve,
    .selective_step = selective_step,
    .decay_step = decay_step,
    .delta_step = delta_step,
};

}  // namespace
}  // namespace pawl::kernels
