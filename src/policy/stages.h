// SPDX-License-Identifier: Apache-2.0
// The stages between a row and a draw, one function for all of them, and the list of those that
// act. choose and explain walk the same list, so what is shown is what ran.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/token.h"
#include "policy/candidates.h"
#include "policy/history.h"
#include "policy/policy.h"
#include "policy/token_mask.h"

namespace pawl::policy {

// Random numbers of one position: no state. `position` is the index the chosen token will have in
// the sequence.
struct Draw {
  uint64_t seed = 0;
  uint64_t position = 0;

  // What the numbers of one position are for.
  enum Use : uint64_t { kToken, kXtc };
  // In [0, 1). `attempt` counts the numbers drawn for the same use.
  double uniform(Use use, uint32_t attempt = 0) const {
    return base::uniform(seed, position, use | uint64_t{attempt} << 32);
  }
};

// All that decides one token. The policy has passed validate and validate_ids for this row's
// length, and the history was made for it; ids of history, mask and end_ids are below the row's
// length.
struct Situation {
  std::span<const float> row;  // [vocabulary]; never written to
  const Policy& policy;
  const History& history;
  Draw draw;
  const TokenMask* mask = nullptr;  // what the constraint allows; none: everything
  std::span<const base::TokenId> end_ids =
      {};  // what ends a sequence; only these does min_tokens hold back
};

// Buffers of a call. Warm after the first call with a vocabulary: no allocation from then on, but
// for DRY, whose buffers follow the length of its window. What is in them never changes a result.
// Threads: one call at a time; one per worker.
struct Scratch {
  struct Ranked {
    double rank;  // smallest first
    int32_t index;
    float weight;
  };
  struct Repeat {
    base::TokenId id;
    int32_t length;
  };

  Candidates candidates;
  std::vector<int32_t> indices;
  std::vector<Ranked> ranked;
  std::vector<float> block_largest;
  std::vector<double> block_bounds;
  std::vector<int32_t> matches;
  std::vector<Repeat> repeats;
  std::vector<TokenLogprob> top;

  // Sets the candidates to the row and makes room.
  void start(std::span<const float> row);
};

// The stages that act, in order: neutral ones are not there. At temperature 0 the cuts are not
// there either.
class StageList {
 public:
  explicit StageList(const Situation& situation);
  const Stage* begin() const { return stages_; }
  const Stage* end() const { return stages_ + count_; }

 private:
  void add(Stage stage) { stages_[count_++] = stage; }

  Stage stages_[kStages];
  int count_ = 0;
};

// Applies one stage to scratch.candidates. Always keeps at least one candidate above -inf if there
// was one, but for bans, mask and end tokens, which may leave none.
void apply_stage(Stage stage, const Situation& situation, Scratch& scratch);

// Parts of apply_stage: the stages that change logits, and those that cut.
void apply_penalties(const Situation& situation, Scratch& scratch);
void apply_dry(const Situation& situation, Scratch& scratch);
void apply_temperature(const Situation& situation, Scratch& scratch);
void cut_top_n_sigma(double sigmas, Scratch& scratch);
void cut_top_k(int64_t k, Scratch& scratch);
void cut_typical_p(double typical_p, Scratch& scratch);
void cut_top_p(double top_p, Scratch& scratch);
void cut_min_p(double min_p, Scratch& scratch);
void cut_xtc(const Situation& situation, Scratch& scratch);
void cut_mirostat(const Situation& situation, Scratch& scratch);

// Shannon entropy of the candidates' softmax, in nats. REQUIRES: one is above -inf
double entropy(Scratch& scratch);

}  // namespace pawl::policy
