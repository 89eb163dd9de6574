// SPDX-License-Identifier: Apache-2.0
#include "model/scratch.h"

#include <algorithm>

namespace pawl::model {
namespace {

// Hands out aligned pieces of one allocation: a first pass with no memory adds up the sizes.
class Cutter {
 public:
  explicit Cutter(std::byte* base) : base_(base) {}

  template <typename T>
  void cut(T*& out, int64_t count) {
    if (base_ != nullptr) out = reinterpret_cast<T*>(base_ + used_);
    used_ += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
  }
  int64_t used() const { return used_; }
  // The next piece begins here: what was cut from there on is needed at other times.
  void go_to(int64_t offset) { used_ = offset; }

 private:
  std::byte* base_;
  int64_t used_ = 0;
};

void cut_latent(LatentScratch& s, const ModelConfig& c, int64_t tokens, Cutter& cutter) {
  const LatentConfig& l = c.latent;
  const int64_t made = l.is_absorbed ? 0 : int64_t{c.heads} * (l.plain_dim() + l.value_dim);
  cutter.cut(s.latent, tokens * l.rank);
  cutter.cut(s.rotated_key, tokens * l.rotary);
  cutter.cut(s.query, tokens * l.query_rank);
  cutter.cut(s.queries, l.is_absorbed ? tokens * c.heads * l.key_dim : 0);
  cutter.cut(s.keys_and_values, tokens * made);
  cutter.cut(s.values, l.is_absorbed ? tokens * c.heads * l.value_dim : 0);
}

void cut_state(StateScratch& s, const ModelConfig& c, int64_t tokens, Cutter& cutter) {
  const StateConfig& state = c.state;
  const bool is_mamba = state.step_rank > 0;
  // A short convolution has no inner size of its own.
  const int64_t inner = state.inner > 0 ? state.inner : state.channels;
  cutter.cut(s.channels, tokens * state.channels);
  cutter.cut(s.gates, tokens * inner);
  cutter.cut(s.steps, tokens * (is_mamba ? inner : state.heads));
  cutter.cut(s.decays, tokens * state.heads);
  cutter.cut(s.betas, tokens * state.heads);
  cutter.cut(s.step_down, tokens * state.step_rank);
  cutter.cut(s.write_read, is_mamba ? tokens * 2 * state.states : 0);
  cutter.cut(s.mixed, tokens * inner);
}

int64_t cut_all(Scratch& s, const ModelConfig& c, const Limits& limits, int threads,
                std::byte* base) {
  Cutter cutter(base);
  const int64_t tokens = limits.max_tokens;
  const int64_t queries = int64_t{c.heads} * c.head_dim, values = int64_t{c.heads} * c.value_dim;
  const int64_t widest =
      std::max({int64_t{c.width}, values, int64_t{c.feed_forward}, int64_t{c.expert_hidden},
                int64_t{c.shared_hidden}, int64_t{c.latent.query_rank}, int64_t{c.latent.rank},
                int64_t{c.state.inner}, int64_t{c.state.step_rank}});
  // An expert may be given all tokens.
  const int64_t pairs = tokens * c.experts_used;
  const int64_t widest_hidden = std::max({c.feed_forward, c.expert_hidden, c.shared_hidden});
  const int64_t hidden = tokens * widest_hidden;
  cutter.cut(s.x, tokens * c.width);
  cutter.cut(s.normed, tokens * c.width);
  cutter.cut(s.added, tokens * c.width);
  // Attention and feed-forward take turns: what one fills, the other has no use for.
  const int64_t shared = cutter.used();
  cutter.cut(s.q, tokens * queries);
  cutter.cut(s.k, tokens * c.max_kv_heads() * c.head_dim);
  cutter.cut(s.v, tokens * c.max_kv_heads() * c.value_dim);
  cutter.cut(s.attended, tokens * values);
  cut_latent(s.latent, c, tokens, cutter);
  cut_state(s.state, c, tokens, cutter);
  const int64_t attention_end = cutter.used();
  cutter.go_to(shared);
  cutter.cut(s.gate, hidden);
  cutter.cut(s.up, hidden);
  cutter.go_to(std::max(attention_end, cutter.used()));
  cutter.cut(s.x8, std::max<int64_t>(tokens, limits.max_rows) * x8_row_bytes(widest));
  cutter.cut(s.hidden8, tokens * x8_row_bytes(widest_hidden));
  cutter.cut(s.hidden_tiles, threads * 2 * kHiddenTile);
  s.latent.x8_bytes = c.latent.is_absorbed
                          ? kHeadTile * x8_row_bytes(std::max(c.latent.plain_dim(), c.latent.rank))
                          : 0;
  cutter.cut(s.latent.x8, threads * s.latent.x8_bytes);
  cutter.cut(s.logits, int64_t{limits.max_rows} * c.vocabulary);
  const int64_t angles = static_cast<int64_t>(c.ropes.size()) * tokens * c.rope_pairs();
  cutter.cut(s.cos, angles);
  cutter.cut(s.sin, angles);
  cutter.cut(s.positions, tokens);

  cutter.cut(s.router, tokens * c.experts);
  cutter.cut(s.expert_weights, pairs);
  cutter.cut(s.selected, pairs);
  cutter.cut(s.slots, pairs);
  cutter.cut(s.expert_begin, c.experts + 1);
  cutter.cut(s.expert_next, c.experts);
  cutter.cut(s.expert_order, int64_t{threads} * c.experts);
  cutter.cut(s.expert_in, pairs * c.width);
  cutter.cut(s.expert_out, pairs * c.width);
  cutter.cut(s.adapted, std::max(tokens, pairs) * c.adapter_rank);
  cutter.cut(s.adapted_tiles, c.adapter_rank > 0 ? threads * kAdapterTokens * kAdapterRows : 0);

  s.state_floats = int64_t{kernels::kAttentionRows} * (2 + c.value_dim) + 48;
  cutter.cut(s.states, threads * s.state_floats);
  s.attention_bytes = (kernels::attention_scratch_bytes(c.head_dim, c.value_dim) + 63) / 64 * 64;
  cutter.cut(s.attention, threads * s.attention_bytes);
  s.max_blocks = (limits.max_positions + kernels::kKvBlock - 1) / kernels::kKvBlock;
  cutter.cut(s.blocks, int64_t{threads} * 2 * s.max_blocks);
  const int64_t spans = (limits.max_positions + kernels::kKvSpan - 1) / kernels::kKvSpan;
  s.max_partials = 4 * threads * spans;
  s.partial_floats = int64_t{kPartialRows} * (2 + c.value_dim) + 48;
  cutter.cut(s.partials, s.max_partials * s.partial_floats);
  return cutter.used();
}

}  // namespace

base::Result<Scratch> Scratch::create(const ModelConfig& config, const Limits& limits,
                                      int threads) {
  Scratch scratch;
  const int64_t bytes = cut_all(scratch, config, limits, threads, nullptr);
  PAWL_TRY(scratch.arena, base::Arena::create(bytes, base::Arena::Pages::kSmall));
  cut_all(scratch, config, limits, threads, scratch.arena.data());
  // One task per token and query head is more than any plan makes, plus the partial ones.
  scratch.tasks.reserve(static_cast<size_t>(limits.max_tokens) * config.heads +
                        scratch.max_partials);
  scratch.folds.reserve(static_cast<size_t>(scratch.max_partials));
  return scratch;
}

}  // namespace pawl::model
