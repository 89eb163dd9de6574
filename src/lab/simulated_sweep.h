// SPDX-License-Identifier: Apache-2.0
// Requests of a made-up server whose truth is known, for the tests of what the lab concludes.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "lab/profile.h"
#include "lab/record.h"
#include "lab/stats.h"

namespace pawl::lab::testing {

struct Truth {
  double start = 20, per_prompt = 0.4, bend = 0;  // ms: a, b, d
  double per_output = 12, per_context = 0.002;    // ms: c0, c1
  double noise = 0.03;                            // relative, of each part
  double held_back = 0;                           // share of the tail before the first text
  double interaction = 0;                         // ms for a prompt token times an output token
};

// One answer, as raw as a real one: every gap an event, a token each.
inline RequestRecord simulated(const Truth& truth, std::string arm, int64_t prompt, int64_t output,
                               uint64_t seed, int64_t index,
                               const std::function<double(int64_t, double)>& gap = {}) {
  RequestRecord record;
  record.index = index;
  record.asked.arm = std::move(arm);
  record.asked.label = std::to_string(prompt) + "x" + std::to_string(output);
  record.asked.prompt_tokens = prompt;
  record.asked.output_tokens = output;
  record.asked.prompt_digest = "p" + std::to_string(index);
  record.http_status = 200;
  record.state = RequestState::kSuccess;
  record.finish_reason = "length";
  record.has_done = true;
  record.prompt.usage = prompt;
  record.output.usage = output;
  record.sent_ns = 1'000'000'000;
  const auto p = static_cast<double>(prompt), o = static_cast<double>(output);
  const auto position = static_cast<uint64_t>(index);
  const double start = (truth.start + truth.per_prompt * p + truth.bend * p * p) *
                       (1 + truth.noise * standard_normal(seed, 2 * position));
  const double token = (truth.per_output + truth.per_context * (p + o / 2)) *
                           (1 + truth.noise * standard_normal(seed, 2 * position + 1)) +
                       truth.interaction * p;
  double ms = start + truth.held_back * token * (o - 1);
  for (int64_t i = 0; i < output; ++i) {
    if (i > 0) {
      const double own = token * (1 - truth.held_back);
      ms += gap ? gap(i, own) : own;
    }
    RawEvent event;
    event.stamp_ns = *record.sent_ns + static_cast<int64_t>(ms * 1e6);
    event.read = static_cast<int32_t>(i);
    event.kind = EventKind::kContent;
    event.text_bytes = event.answer_bytes = 4;
    event.tokens = 1;
    record.events.push_back(event);
  }
  record.closed_ns = record.events.back().stamp_ns;
  record.reads = static_cast<int32_t>(output);
  return record;
}

// Two arms and two held-out shapes, `reps` times.
inline std::vector<RequestRecord> simulated_sweep(const Truth& truth, uint64_t seed, int reps = 5) {
  std::vector<RequestRecord> records;
  const auto add = [&](std::string_view arm, int64_t prompt, int64_t output) {
    records.push_back(simulated(truth, std::string(arm), prompt, output, seed,
                                static_cast<int64_t>(records.size())));
  };
  for (int rep = 0; rep < reps; ++rep) {
    for (const int64_t prompt : {32, 128, 256, 512, 1024, 2048}) add(kPromptArm, prompt, 16);
    for (const int64_t output : {1, 16, 64, 128}) add(kOutputArm, 128, output);
    add(kJointArm, 512, 64);
    add(kJointArm, 2048, 128);
  }
  return records;
}

}  // namespace pawl::lab::testing
