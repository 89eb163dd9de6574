// SPDX-License-Identifier: Apache-2.0
#include "policy/choose.h"

#include <algorithm>

#include "base/check.h"
#include "policy/row_math.h"

namespace pawl::policy {

namespace {

constexpr double kLn2 = 0.69314718055994530942;

// scratch.block_bounds becomes the running sum of a bound for each block: as many items as it has,
// all of its largest weight.
void sum_bounds(std::span<const float> largest, float top, size_t items,
                std::vector<double>& bounds) {
  constexpr double kSlack = 1.0001;  // above what rounding can add to a block's sum
  bounds.clear();
  double sum = 0;
  float weights[kBlock];
  for (size_t i = 0; i < largest.size(); ++i) {
    if (i % kBlock == 0) {
      weights_of_block(largest.subspan(i, std::min(kBlock, largest.size() - i)), top, weights);
    }
    sum += kSlack * static_cast<double>(weights[i % kBlock] * std::min(kBlock, items - i * kBlock));
    bounds.push_back(sum);
  }
}

// The item of the block from `begin` on at which the running sum of weights exceeds `target`, or
// size() if it never does.
size_t find_in_block(const Candidates& candidates, size_t begin, float top, double target) {
  float logits[kBlock], weights[kBlock];
  const std::span<float> block(logits, std::min(kBlock, candidates.size() - begin));
  candidates.read(begin, block);
  const double divisor = candidates.divisor();
  for (float& logit : block) {
    if (divisor != 1) logit = static_cast<float>(logit / divisor);
  }
  weights_of_block(block, top, weights);
  double sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    sum += weights[i];
    if (target < sum) return begin + i;
  }
  return candidates.size();
}

// The largest of each block after the changes and the division.
void find_block_largest(const Candidates& candidates, std::vector<float>& largest) {
  largest_of_blocks(candidates.logits(), largest);
  for (const Candidates::Change& change : candidates.changes()) {
    float logits[kBlock];
    const size_t block = change.index / kBlock, begin = block * kBlock;
    const std::span<float> changed(logits, std::min(kBlock, candidates.size() - begin));
    candidates.read(begin, changed);
    largest_of_blocks(changed, &largest[block]);
  }
  const double divisor = candidates.divisor();
  if (divisor == 1) return;
  for (float& one : largest) one = static_cast<float>(one / divisor);
}

// Draws from the softmax of the candidates without weighing all of them: the line on which u falls
// gives each block the room of its bound, items first and then padding; a u that falls on padding
// is drawn again. What remains is the softmax, exactly, and only the blocks that were hit are
// weighed. The share of padding is below 1 - 1/64. candidates.size() when nothing is above -inf.
size_t draw_index(const Draw& draw, Scratch& scratch) {
  constexpr uint32_t kMostAttempts = 10000;  // (1 - 1/64)^10000 is below 1e-68
  Candidates& candidates = scratch.candidates;
  const size_t size = candidates.size();
  find_block_largest(candidates, scratch.block_largest);
  const Largest top = find_largest(scratch.block_largest);
  if (top.index == scratch.block_largest.size()) return size;

  std::vector<double>& bounds = scratch.block_bounds;
  sum_bounds(scratch.block_largest, top.value, size, bounds);
  for (uint32_t attempt = 0; attempt < kMostAttempts && bounds.back() > 0; ++attempt) {
    const double target = draw.uniform(Draw::kToken, attempt) * bounds.back();
    const auto hit = std::upper_bound(bounds.begin(), bounds.end(), target);
    if (hit == bounds.end()) continue;
    const size_t begin = static_cast<size_t>(hit - bounds.begin()) * kBlock;
    const double before = hit == bounds.begin() ? 0 : *(hit - 1);
    const size_t at = find_in_block(candidates, begin, top.value, target - before);
    if (at < size) return at;
  }
  return candidates.largest().index;  // +inf has no softmax
}

void add_logprobs(std::span<const float> row, int32_t top_logprobs, Scratch& scratch,
                  Choice& choice) {
  const double normaliser = log_sum_exp(row);
  choice.logprob = row[static_cast<size_t>(choice.id)] - normaliser;
  if (top_logprobs == 0) return;

  select_largest(row, static_cast<size_t>(top_logprobs), scratch.indices);
  std::sort(scratch.indices.begin(), scratch.indices.end(), [row](int32_t a, int32_t b) {
    const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  scratch.top.clear();
  for (const int32_t id : scratch.indices) {
    scratch.top.push_back({id, row[static_cast<size_t>(id)] - normaliser});
  }
  choice.top = scratch.top;
}

}  // namespace

Choice choose(const Situation& situation, Scratch& scratch) {
  scratch.start(situation.row);
  for (const Stage stage : StageList(situation)) apply_stage(stage, situation, scratch);
  return draw_choice(situation, scratch);
}

Choice draw_choice(const Situation& situation, Scratch& scratch) {
  const Policy& policy = situation.policy;
  const Candidates& candidates = scratch.candidates;
  Choice choice;
  choice.mirostat_mu = situation.history.mirostat_mu();
  const size_t index = draw_index(situation.draw, scratch);
  if (index == candidates.size()) return choice;

  choice.id = candidates.id(index);
  if (policy.mirostat != 0 && policy.temperature != 0) {
    // arXiv 2007.14966: mu moves against the error of the surprise, measured in what was left after
    // the cut.
    const double surprise = (log_sum_exp(candidates.logits()) - candidates.logits()[index]) / kLn2;
    choice.mirostat_mu -= policy.mirostat_eta * (surprise - policy.mirostat_tau);
  }
  if (policy.logprobs || policy.top_logprobs > 0)
    add_logprobs(situation.row, policy.top_logprobs, scratch, choice);
  return choice;
}

Choice score(std::span<const float> row, base::TokenId id, int32_t top_logprobs, Scratch& scratch) {
  Choice choice;
  choice.id = id;
  add_logprobs(row, top_logprobs, scratch, choice);
  return choice;
}

}  // namespace pawl::policy
