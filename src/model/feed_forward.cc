// SPDX-License-Identifier: Apache-2.0
// The feed-forward: down · (activation(gate · x) * (up · x)), or without a gate
// down · activation(up · x).
#include <algorithm>

#include "model/forward.h"

namespace pawl::model {
namespace {

// Columns of a piece of work behind adapters: whole groups of 32.
constexpr int64_t kHiddenColumns = 64;

// What gpt-oss does to gate and up before gate * sigmoid(1.702 gate) * up (its model card, "clamped
// SwiGLU"). Plain comparisons and one sum: the same bits for every instruction set.
void clamp_gate_and_up(float* gate, float* up, int64_t n) {
  constexpr float kLimit = 7.0f;
  for (int64_t i = 0; i < n; ++i) {
    gate[i] = std::min(gate[i], kLimit);
    up[i] = std::max(-kLimit, std::min(up[i], kLimit)) + 1.0f;
  }
}

}  // namespace

// Columns of one token: up and gate as the products gave them (gate null: there is none).
void Forward::finish_hidden(const HiddenPlan& plan, int64_t token, int64_t column, int64_t count,
                            float* gate, float* up) {
  float* out = plan.keeps_floats ? scratch_.up + token * plan.hidden + column : up;
  if (plan.is_clamped) clamp_gate_and_up(gate, up, count);
  if (gate != nullptr) {
    table_.gate(plan.activation, gate, up, count, out);
  } else {
    if (out != up) std::copy_n(up, count, out);
    table_.activate(plan.activation, out, count);
  }
  if (!plan.is_a8) return;
  std::byte* row = scratch_.hidden8 + token * plan.x8_bytes;
  table_.quantize_a8(out, count, row + kernels::a8_row_bytes(column));
}

// Each thread finishes the columns that it computed while they are in its cache: from the other
// cores it gets 8-bit activations, once. It does so for as many columns at a time as the tile
// holds, as nothing streams meanwhile.
void Forward::multiply_hidden(const HiddenPlan& plan, const Input& input, int64_t tokens,
                              const Product& up, const Product* gate) {
  const Matrix& m = *up.weights;
  // Whole groups of 32 columns.
  const int64_t grain = std::max<int64_t>(2, piece_blocks(m, pool_.threads()) / 2 * 2);
  const int64_t tile_tokens = std::min(kTokenTile, tokens);
  const int64_t tile_rows = kHiddenTile / tile_tokens / 32 * 32;
  pool_.run(m.row_blocks(), grain, [&](int64_t begin, int64_t end, int worker) {
    float* made = scratch_.hidden_tiles + worker * 2 * kHiddenTile;
    float* made_gate = gate == nullptr ? nullptr : made + kHiddenTile;
    Piece piece{};
    piece.out_stride = tile_rows;
    for (piece.block = begin; piece.block < end; piece.block += piece.blocks) {
      piece.blocks = std::min(tile_rows / kernels::kRowsPerBlock, end - piece.block);
      const int64_t row = piece.block * kernels::kRowsPerBlock;
      piece.rows = std::min(piece.blocks * kernels::kRowsPerBlock, m.rows - row);
      for (piece.token = 0; piece.token < tokens; piece.token += tile_tokens) {
        piece.tokens = std::min(tile_tokens, tokens - piece.token);
        piece.out = made;
        multiply_piece(input, up, piece);
        piece.out = made_gate;
        if (gate != nullptr) multiply_piece(input, *gate, piece);
        for (int64_t t = 0; t < piece.tokens; ++t) {
          finish_hidden(plan, piece.token + t, row, piece.rows,
                        gate == nullptr ? nullptr : made_gate + t * tile_rows,
                        made + t * tile_rows);
        }
      }
    }
  });
}

void Forward::feed_forward(const FeedForward& w, int64_t hidden, bool is_clamped, const float* x,
                           int64_t tokens, float* out) {
  const bool has_gate = w.gate.packed != nullptr;
  const auto bias = [](const Vector& b) { return b.empty() ? nullptr : b.data(); };
  const Product inputs[] = {{&w.up, scratch_.up, bias(w.up_bias)},
                            {&w.gate, scratch_.gate, bias(w.gate_bias)}};
  const std::span<const Product> used = std::span(inputs).first(has_gate ? 2 : 1);
  HiddenPlan plan{};
  plan.hidden = hidden;
  plan.is_clamped = is_clamped;
  plan.activation =
      is_clamped ? kernels::Activation::kGeluQuick : model_->config().architecture->activation;
  plan.is_a8 = takes_a8(w.down);
  plan.keeps_floats = !plan.is_a8 || !w.down.adapters.empty();
  plan.x8_bytes = x8_row_bytes(hidden);
  const Input input = input_of(x, tokens, used);
  if (w.up.adapters.empty() && w.gate.adapters.empty()) {
    multiply_hidden(plan, input, tokens, inputs[0], has_gate ? &inputs[1] : nullptr);
  } else {
    multiply(input, tokens, used);
    const int64_t pieces = (hidden + kHiddenColumns - 1) / kHiddenColumns;
    pool_.run(tokens * pieces, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t token = i / pieces, column = i % pieces * kHiddenColumns;
        const int64_t at = token * hidden + column;
        finish_hidden(plan, token, column, std::min(kHiddenColumns, hidden - column),
                      has_gate ? scratch_.gate + at : nullptr, scratch_.up + at);
      }
    });
  }
  const Product output{&w.down, out, bias(w.down_bias)};
  multiply({scratch_.up, scratch_.hidden8, hidden, plan.x8_bytes}, tokens, {&output, 1});
}

}  // namespace pawl::model
