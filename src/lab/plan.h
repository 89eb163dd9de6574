// SPDX-License-Identifier: Apache-2.0
// Requests planned, shuffled and sent: what sweep, compare and the score of predict have in common.
// Repetitions go round all shapes, each round in an order of its own, so that drift of the machine
// does not become a slope.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lab/openai_client.h"
#include "lab/prompts.h"
#include "lab/record.h"

namespace pawl::lab {

struct Planned {
  std::string arm, label;          // label: "512x16"
  int64_t prompt = 0, output = 0;  // tokens
  int64_t repetition = 0;
  bool is_warm_up = false;
  bool is_stream = true;
  bool repeats_prompt = false;  // sends the prompt of the request planned before it once more
};

// "512x16".
std::string shape_label(int64_t prompt, int64_t output);

// Each of `shapes` once in each of `rounds`; the order within a round is random and f(seed).
std::vector<Planned> interleave(std::span<const Planned> shapes, int64_t rounds, uint64_t seed);

// What identifies a planned request in a records file.
std::string key_of(const Planned& planned);
std::string key_of(const RequestRecord& record);
// Those that have no successful record yet, in their order. Warm-ups are always done again.
std::vector<Planned> remaining(std::span<const Planned> plan, std::span<const RequestRecord> done);

// A rough weight of its time, for telling how much is left: prompt tokens, and output tokens at
// `exchange` prompt tokens each.
double weight_of(const Planned& planned, double exchange = 10);

struct RunOptions {
  int64_t concurrency = 1;
  int64_t first_index = 0;  // of the records
  // Sends a "cache_salt" of its own with each prompt, so that not even the template is a hit. Only
  // for servers that know it: others may refuse the member.
  bool salts_cache = false;
};

struct RunEvents {
  // Called for each record as it ends. An Error ends the run and becomes its result.
  std::function<base::Result<void>(const RequestRecord&)> record;
  std::function<bool()> should_stop;  // asked between reads; open requests are left then
};

// When a run in which requests fail is ended.
class FailureStreak {
 public:
  // Counts a finished request of any state. Error kNetwork, with what the server at `url` said, for
  // three failures in a row and where the first of all fails.
  base::Result<void> add(const RequestRecord& record, const std::string& url);

  static std::string reason(const RequestRecord& record);  // REQUIRES: it failed

 private:
  int64_t finished_ = 0, in_a_row_ = 0;
};

// Sends all of it, `concurrency` at a time. A request
// that fails is a record like others; three in a row, or the first of all, end the run: Error
// kNetwork with what the server said. kCancelled when stopped.
base::Result<void> run_plan(OpenAiClient& client, PromptMaker& prompts,
                            std::span<const Planned> plan, const RunOptions& options,
                            const base::Clock& clock, const RunEvents& events);

}  // namespace pawl::lab
