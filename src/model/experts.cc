// SPDX-License-Identifier: Apache-2.0
// A feed-forward of experts: a router scores them for each token, a few are selected, and their
// outputs are added, each times its weight. Tokens are sorted by expert, so that an expert's
// weights are read once for all that selected it; a token's own sum goes by the rank of its
// experts, so neither the sorting nor the neighbours change a bit.
#include <algorithm>
#include <array>
#include <numeric>

#include "model/forward.h"

namespace pawl::model {
namespace {

// llama.cpp's and the published implementations' guard against a sum of zero.
constexpr float kLeastWeightSum = 6.103515625e-5f;

// The experts that stand for selection, in ascending order; their number. Of experts in groups
// those of the best groups, a group being as good as its two best experts together.
template <typename Key>
int list_candidates(const ModelConfig& c, Key key, int32_t* experts) {
  if (c.expert_groups == 0) {
    std::iota(experts, experts + c.experts, 0);
    return c.experts;
  }
  const int size = c.experts / c.expert_groups;
  std::array<float, kMaxExpertGroups> worth{};
  for (int g = 0; g < c.expert_groups; ++g) {
    float best = -__builtin_inff(), second = best;
    for (int32_t e = g * size; e < (g + 1) * size; ++e) {
      second = std::max(second, std::min(best, key(e)));
      best = std::max(best, key(e));
    }
    worth[static_cast<size_t>(g)] = size > 1 ? best + second : best;
  }
  std::array<bool, kMaxExpertGroups> is_taken{};
  for (int n = 0; n < c.expert_groups_used; ++n) {
    int best = -1;
    for (int g = 0; g < c.expert_groups; ++g) {
      const bool is_better =
          best < 0 || worth[static_cast<size_t>(g)] > worth[static_cast<size_t>(best)];
      if (!is_taken[static_cast<size_t>(g)] && is_better) best = g;
    }
    is_taken[static_cast<size_t>(best)] = true;
  }
  int count = 0;
  for (int32_t e = 0; e < c.experts; ++e) {
    if (is_taken[static_cast<size_t>(e / size)]) experts[count++] = e;
  }
  return count;
}

}  // namespace

void Forward::expert_layer(const Experts& w, const float* x) {
  const ModelConfig& c = model_->config();
  route(w, x);
  sort_by_expert(x);
  const bool is_clamped = c.architecture->has_clamped_experts;
  for (int e = 0; e < c.experts; ++e) {
    const int64_t begin = scratch_.expert_begin[e], end = scratch_.expert_begin[e + 1];
    if (begin == end) continue;
    feed_forward(w.all[static_cast<size_t>(e)], c.expert_hidden, is_clamped,
                 scratch_.expert_in + begin * c.width, end - begin,
                 scratch_.expert_out + begin * c.width);
  }
  add_experts(w, x);
}

// Fills selected[t][rank] and expert_weights[t][rank], the most likely expert first.
void Forward::route(const Experts& w, const float* x) {
  const ModelConfig& c = model_->config();
  const float* bias = w.router_bias.empty() ? nullptr : w.router_bias.data();
  const Product product{&w.router, scratch_.router, bias};
  multiply(x, tokens_, {&product, 1});
  pool_.run(tokens_, 16, [&](int64_t begin, int64_t end, int worker) {
    int32_t* order = scratch_.expert_order + int64_t{worker} * c.experts;
    for (int64_t t = begin; t < end; ++t) {
      float* scores = scratch_.router + t * c.experts;
      if (c.gating == Gating::kSoftmax) table_.softmax(scores, c.experts);
      if (c.gating == Gating::kSigmoid) table_.sigmoid(scores, c.experts);
      const auto key = [&](int32_t e) {
        return w.selection_bias.empty() ? scores[e]
                                        : scores[e] + w.selection_bias[static_cast<size_t>(e)];
      };
      const int candidates = list_candidates(c, key, order);
      std::partial_sort(
          order, order + c.experts_used, order + candidates,
          [&](int32_t a, int32_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
      float* weights = scratch_.expert_weights + t * c.experts_used;
      float sum = 0;
      for (int rank = 0; rank < c.experts_used; ++rank) {
        scratch_.selected[t * c.experts_used + rank] = order[rank];
        weights[rank] = scores[order[rank]];
      }
      if (c.gating == Gating::kSoftmaxSelected) table_.softmax(weights, c.experts_used);
      for (int rank = 0; rank < c.experts_used; ++rank) sum += weights[rank];
      const float divisor = c.norms_expert_weights ? std::max(sum, kLeastWeightSum) : 1.0f;
      for (int rank = 0; rank < c.experts_used; ++rank) {
        weights[rank] = weights[rank] / divisor * c.expert_scale;
      }
    }
  });
}

// Gathers the inputs of each expert: rows expert_begin[e] … expert_begin[e + 1] of expert_in;
// slots[t][rank] is where a token's went.
void Forward::sort_by_expert(const float* x) {
  const ModelConfig& c = model_->config();
  const int64_t pairs = tokens_ * c.experts_used;
  std::fill_n(scratch_.expert_begin, c.experts + 1, 0);
  // NaN in a router leaves the order open, but every pair has an expert.
  for (int64_t i = 0; i < pairs; ++i) ++scratch_.expert_begin[scratch_.selected[i] + 1];
  std::partial_sum(scratch_.expert_begin, scratch_.expert_begin + c.experts + 1,
                   scratch_.expert_begin);
  int64_t* next = scratch_.expert_next;
  std::copy_n(scratch_.expert_begin, c.experts, next);
  for (int64_t i = 0; i < pairs; ++i) scratch_.slots[i] = next[scratch_.selected[i]]++;
  pool_.run(pairs, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      std::copy_n(x + i / c.experts_used * c.width, c.width,
                  scratch_.expert_in + scratch_.slots[i] * c.width);
    }
  });
}

void Forward::add_experts(const Experts& w, const float* x) {
  const ModelConfig& c = model_->config();
  const bool has_shared = w.shared.down.packed != nullptr;
  if (has_shared) {
    feed_forward(w.shared, c.shared_hidden, false, x, tokens_, scratch_.added);
  }
  pool_.run(tokens_, 8, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      float* out = scratch_.added + t * c.width;
      if (!w.shared_gate.empty()) {
        const float* row = x + t * c.width;
        float gate = 0;
        for (int i = 0; i < c.width; ++i) gate += w.shared_gate[static_cast<size_t>(i)] * row[i];
        table_.sigmoid(&gate, 1);
        table_.scale(out, gate, c.width);
      }
      if (!has_shared) std::fill_n(out, c.width, 0.0f);
      for (int rank = 0; rank < c.experts_used; ++rank) {
        const int64_t pair = t * c.experts_used + rank;
        table_.add_scaled(out, scratch_.expert_out + scratch_.slots[pair] * c.width,
                          scratch_.expert_weights[pair], c.width);
      }
    }
  });
}

}  // namespace pawl::model
