// SPDX-License-Identifier: Apache-2.0
// The stages that cut. Each sees the softmax of what is left, finds which candidates stay and keeps
// those; no cut sorts more than it keeps, give or take a factor.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "policy/row_math.h"
#include "policy/stages.h"

namespace pawl::policy {

namespace {

constexpr double kLowest = std::numeric_limits<float>::lowest();
constexpr double kLn2 = 0.69314718055994530942;

// Softmax of the candidates: p = e^(logit - largest) / total. `exists` is false where nothing is
// above -inf.
struct Softmax {
  float largest;
  double total;
  bool exists;

  // The logit of a token of probability p.
  double logit_of(double p) const {
    return p > 0 && total > 0 ? largest + exact_log(p * total) : kLowest;
  }
};

Softmax softmax_of(Scratch& scratch) {
  const std::span<const float> logits = scratch.candidates.logits();
  const Largest top = find_largest(logits);
  if (top.index == logits.size()) return {top.value, 0, false};
  return {top.value, sum_of_weights(logits, top.value), true};
}

// Keeps logits of at least `threshold`, and always the largest.
void keep_from(double threshold, float largest, Scratch& scratch) {
  double border = threshold < largest ? threshold : largest;  // the largest, if it is not a number
  border = std::max(border, kLowest);
  scratch.indices.clear();
  append_at_least(scratch.candidates.logits(), static_cast<float>(border), scratch.indices);
  scratch.candidates.keep(scratch.indices);
}

// Calls visit(index, logit, weight) for every candidate with a weight, in order.
template <typename Visit>
void for_each_weight(float largest, const Scratch& scratch, const Visit& visit) {
  const std::span<const float> logits = scratch.candidates.logits();
  float weights[kBlock];
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, logits.size() - begin);
    weights_of_block(logits.subspan(begin, count), largest, weights);
    for (size_t i = 0; i < count; ++i) {
      if (weights[i] > 0) visit(static_cast<int32_t>(begin + i), logits[begin + i], weights[i]);
    }
  }
}

// Keeps the shortest beginning, by rank and then by index, whose weights reach `enough` (go beyond
// it where `beyond`); all, if rounding keeps the sum below it. Ranks are in nats, from 0; the
// weights are summed in bins of an eighth, so only the bin that holds the border is sorted.
template <typename Rank>
void keep_lowest_ranks(float largest, double enough, bool beyond, Scratch& scratch,
                       const Rank& rank) {
  constexpr size_t kBins = 1024;
  const auto bin_of = [](double x) { return std::min(static_cast<size_t>(x * 8), kBins - 1); };
  const auto reaches = [&](double sum) { return beyond ? sum > enough : sum >= enough; };

  double weight_of_bin[kBins] = {};
  for_each_weight(largest, scratch, [&](int32_t, float logit, float weight) {
    weight_of_bin[bin_of(rank(logit))] += weight;
  });
  double sum = 0;
  size_t bin = 0;
  while (bin < kBins && !reaches(sum + weight_of_bin[bin])) sum += weight_of_bin[bin++];
  if (bin == kBins) return;

  scratch.ranked.clear();
  for_each_weight(largest, scratch, [&](int32_t index, float logit, float weight) {
    const double x = rank(logit);
    if (bin_of(x) == bin) scratch.ranked.push_back({x, index, weight});
  });
  const auto before = [](const Scratch::Ranked& a, const Scratch::Ranked& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.index < b.index;
  };
  std::sort(scratch.ranked.begin(), scratch.ranked.end(), before);
  size_t border = 0;
  for (; border + 1 < scratch.ranked.size(); ++border) {
    sum += scratch.ranked[border].weight;
    if (reaches(sum)) break;
  }

  scratch.indices.clear();
  const Scratch::Ranked last = scratch.ranked[border];
  const std::span<const float> logits = scratch.candidates.logits();
  for (size_t i = 0; i < logits.size(); ++i) {
    const Scratch::Ranked here = {rank(logits[i]), static_cast<int32_t>(i), 0};
    if (here.rank <= last.rank && !before(last, here)) scratch.indices.push_back(here.index);
  }
  scratch.candidates.keep(scratch.indices);
}

}  // namespace

// H = ln total - sum of p * (logit - largest).
double entropy(Scratch& scratch) {
  const Softmax softmax = softmax_of(scratch);
  PAWL_CHECK(softmax.exists);
  if (!(softmax.total > 0)) return 0;
  double sum = 0;
  for_each_weight(softmax.largest, scratch, [&](int32_t, float logit, float weight) {
    sum += weight * (static_cast<double>(logit) - softmax.largest);
  });
  return exact_log(softmax.total) - sum / softmax.total;
}

// logit >= largest - n * sigma, sigma the standard deviation of all candidates' logits (arXiv
// 2411.07641).
void cut_top_n_sigma(double sigmas, Scratch& scratch) {
  const std::span<const float> logits = scratch.candidates.logits();
  const Largest top = find_largest(logits);
  if (top.index == logits.size()) return;
  constexpr float kOut = -std::numeric_limits<float>::infinity();
  double sum = 0, squares = 0, count = 0;
  for (const float x : logits) {
    if (!(x > kOut)) continue;
    const double d = static_cast<double>(x) - top.value;  // relative, so that squares cancel little
    sum += d;
    squares += d * d;
    ++count;
  }
  const double mean = sum / count;
  const double sigma = std::sqrt(std::max(0.0, squares / count - mean * mean));
  keep_from(top.value - sigmas * sigma, top.value, scratch);
}

// The k largest logits; of equals at the border the lowest ids.
void cut_top_k(int64_t k, Scratch& scratch) {
  if (k >= static_cast<int64_t>(scratch.candidates.size())) return;
  select_largest(scratch.candidates.logits(), static_cast<size_t>(k), scratch.indices);
  scratch.candidates.keep(scratch.indices);
}

// In order of |-ln p - H|, up to and with the token at which the sum exceeds typical_p (arXiv
// 2202.00666).
void cut_typical_p(double typical_p, Scratch& scratch) {
  const Softmax softmax = softmax_of(scratch);
  if (!softmax.exists || !(softmax.total > 0)) return;
  const double surprise_of_largest = exact_log(softmax.total);
  const double h = entropy(scratch);
  const auto distance = [&](float logit) {
    return std::abs(surprise_of_largest - (static_cast<double>(logit) - softmax.largest) - h);
  };
  keep_lowest_ranks(softmax.largest, typical_p * softmax.total, true, scratch, distance);
}

// The shortest beginning, in falling probability, whose sum reaches top_p (arXiv 1904.09751 §3.1).
void cut_top_p(double top_p, Scratch& scratch) {
  const Softmax softmax = softmax_of(scratch);
  if (!softmax.exists || !(softmax.total > 0)) return;
  const auto distance = [&](float logit) { return static_cast<double>(softmax.largest) - logit; };
  keep_lowest_ranks(softmax.largest, top_p * softmax.total, false, scratch, distance);
}

// p >= min_p * largest p, that is logit >= largest + ln min_p (arXiv 2407.01082).
void cut_min_p(double min_p, Scratch& scratch) {
  const Largest top = find_largest(scratch.candidates.logits());
  if (top.index == scratch.candidates.size()) return;
  keep_from(top.value + exact_log(min_p), top.value, scratch);
}

// "Exclude top choices", by p-e-w: in a share xtc_probability of the positions, and if two or more
// tokens have p >= xtc_threshold, all of those but the least probable go (of equals the one with
// the highest id stays).
void cut_xtc(const Situation& situation, Scratch& scratch) {
  if (situation.draw.uniform(Draw::kXtc) >= situation.policy.xtc_probability) return;
  const Softmax softmax = softmax_of(scratch);
  if (!softmax.exists) return;
  const std::span<const float> logits = scratch.candidates.logits();
  const double border = std::max(softmax.logit_of(situation.policy.xtc_threshold), kLowest);
  int32_t stays = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] >= border && (stays < 0 || logits[i] <= logits[static_cast<size_t>(stays)])) {
      stays = static_cast<int32_t>(i);
    }
  }
  if (stays < 0) return;
  scratch.indices.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    if (logits[i] < border || index == stays) scratch.indices.push_back(index);
  }
  scratch.candidates.keep(scratch.indices);
}

// arXiv 2007.14966. Version 2: tokens of a surprise -log2 p above mu go. Version 1: the exponent s
// of a Zipf distribution is estimated from the m = 100 most probable tokens, s = sum(t b) /
// sum(t^2) with t_i = ln((i + 2) / (i + 1)) and b_i = ln(p_i / p_(i+1)), and top-k follows with k =
// (e 2^mu / (1 - n^-e))^(1/s), e = s - 1, n the vocabulary. mu moves in choose.
void cut_mirostat(const Situation& situation, Scratch& scratch) {
  const Softmax softmax = softmax_of(scratch);
  if (!softmax.exists || !(softmax.total > 0)) return;
  const double mu = situation.history.mirostat_mu();
  if (situation.policy.mirostat == 2) {
    return keep_from(softmax.largest + exact_log(softmax.total) - mu * kLn2, softmax.largest,
                     scratch);
  }

  constexpr size_t kMost = 100;
  const std::span<const float> logits = scratch.candidates.logits();
  select_largest(logits, kMost, scratch.indices);
  std::sort(scratch.indices.begin(), scratch.indices.end(), [logits](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < scratch.indices.size(); ++i) {
    const double t = exact_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    const double b = static_cast<double>(logits[static_cast<size_t>(scratch.indices[i])]) -
                     logits[static_cast<size_t>(scratch.indices[i + 1])];
    products += t * b;
    squares += t * t;
  }
  if (scratch.indices.size() < 2 || !(products > 0)) return;  // flat: every rank is as likely
  const double s = products / squares;
  const double n = static_cast<double>(situation.row.size());
  const double e = s - 1;
  // As e goes to 0, e / (1 - n^-e) goes to 1 / ln n.
  const double scale = std::abs(e) < 1e-9 ? 1 / exact_log(n) : e / (1 - exact_pow(n, -e));
  const double k =
      exact_exp((exact_log(scale) + mu * kLn2) / s);  // in logarithms: 2^mu may overflow
  cut_top_k(k < 1 ? 1 : k < n ? static_cast<int64_t>(k) : static_cast<int64_t>(n), scratch);
}

}  // namespace pawl::policy
