// SPDX-License-Identifier: Apache-2.0
// Forward passes to be timed: sequences with their blocks and ids, nobody choosing anything.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "engine/runtime.h"
#include "kv/block_pool.h"
#include "kv/state_pool.h"
#include "model/forward.h"
#include "probe/cost.h"

namespace pawl::probe {

struct PassLimits {
  int64_t sequences = 1;
  int64_t positions = 1;  // of each sequence
  int64_t tokens = 1;     // in one pass, of all sequences together
};

// What stands at a position of a sequence is always the same id, so keys and values that one pass
// leaves behind are those that any other would compute; but for what greedy passes append, each
// reading what the one before it chose. Layers with a state go on from whatever pass came last.
// None of it changes a time.
class PassRunner {
 public:
  // runtime: outlives the runner. seed: of the ids, which are random. Errors: kInvalidArgument for
  // positions that the model's context or a pool of blocks cannot hold, kOutOfMemory.
  static base::Result<PassRunner> create(engine::Runtime& runtime, const PassLimits& limits,
                                         uint64_t seed);

  // On the first pass.sequences sequences. REQUIRES: within the limits; the positions before the
  // pass have been computed
  void run(const Pass& pass) { run_from(0, pass); }

  // A greedy pass: the tokens that it finds stand at the next position of their sequences.
  GreedyWork run_greedy(const Pass& pass);

  // Computes the first `depth` positions of the first `sequences` sequences where they are missing.
  // False when stopped.
  bool fill(int64_t sequences, int64_t depth, const std::stop_token& stop);

 private:
  PassRunner(std::unique_ptr<kv::BlockPool> blocks, kv::StatePool states, model::Forward forward,
             const PassLimits& limits, uint64_t seed, int64_t vocabulary);
  model::Logits run_from(int64_t first, const Pass& pass);

  std::unique_ptr<kv::BlockPool> blocks_;
  kv::StatePool states_;  // [sequences]
  model::Forward forward_;
  PassLimits limits_;
  std::vector<base::TokenId> ids_;  // [sequences, positions]
  std::vector<kv::BlockTable> tables_;
  std::vector<int64_t> filled_;  // positions of each sequence whose keys and values exist
  std::vector<model::Segment> segments_;
};

}  // namespace pawl::probe
