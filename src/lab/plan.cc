// SPDX-License-Identifier: Apache-2.0
#include "lab/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/rng.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Result;

std::string shape_label(int64_t prompt, int64_t output) {
  return fmt::format("{}x{}", prompt, output);
}

std::vector<Planned> interleave(std::span<const Planned> shapes, int64_t rounds, uint64_t seed) {
  std::vector<Planned> plan;
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<Planned> order(shapes.begin(), shapes.end());
    for (size_t i = order.size(); i > 1; --i) {
      const double at = base::uniform(seed, static_cast<uint64_t>(round), i);
      std::swap(order[i - 1],
                order[std::min(static_cast<size_t>(at * static_cast<double>(i)), i - 1)]);
    }
    for (Planned& planned : order) {
      planned.repetition = round;
      plan.push_back(std::move(planned));
    }
  }
  return plan;
}

std::string key_of(const Planned& planned) {
  return fmt::format("{} {} {} {} {}", planned.arm, planned.prompt, planned.output,
                     planned.repetition, planned.repeats_prompt ? "again" : "");
}

std::string key_of(const RequestRecord& record) {
  const Asked& asked = record.asked;
  return fmt::format("{} {} {} {} {}", asked.arm, asked.prompt_tokens.value_or(0),
                     asked.output_tokens.value_or(0), asked.repetition,
                     asked.label == "again" ? "again" : "");
}

std::vector<Planned> remaining(std::span<const Planned> plan, std::span<const RequestRecord> done) {
  std::set<std::string> keys;
  for (const RequestRecord& record : done) {
    if (!record.asked.is_warm_up && record.state == RequestState::kSuccess)
      keys.insert(key_of(record));
  }
  std::vector<Planned> rest;
  for (size_t i = 0; i < plan.size(); ++i) {
    // A pair is done together, or its second request would repeat another prompt.
    const bool has_partner = i + 1 < plan.size() && plan[i + 1].repeats_prompt;
    const bool is_done =
        keys.contains(key_of(plan[i])) && (!has_partner || keys.contains(key_of(plan[i + 1])));
    const bool follows = plan[i].repeats_prompt && !rest.empty() && i > 0 &&
                         key_of(rest.back()) == key_of(plan[i - 1]);
    if (plan[i].is_warm_up || follows || (!is_done && !plan[i].repeats_prompt))
      rest.push_back(plan[i]);
  }
  return rest;
}

double weight_of(const Planned& planned, double exchange) {
  return static_cast<double>(planned.prompt) + exchange * static_cast<double>(planned.output) + 20;
}

Result<void> FailureStreak::add(const RequestRecord& record, const std::string& url) {
  constexpr int64_t kMost = 3;
  ++finished_;
  const bool is_success = record.state == RequestState::kSuccess;
  in_a_row_ = is_success ? 0 : in_a_row_ + 1;
  if (record.state == RequestState::kCancelled || is_success) return {};
  if (finished_ > 1 && in_a_row_ < kMost) return {};
  return Error{ErrorCode::kNetwork,
               fmt::format("{} of {} requests failed: {}", in_a_row_, finished_, reason(record)),
               url};
}

std::string FailureStreak::reason(const RequestRecord& record) {
  return record.error.empty() ? std::string(failure_kind_name(record.failure)) : record.error;
}

namespace {

struct Run {
  OpenAiClient& client;
  PromptMaker& prompts;
  const RunEvents& events;
  const RunOptions& options;
  std::string last_prompt;
  FailureStreak failures;

  Result<void> send(const Planned& planned) {
    if (!planned.repeats_prompt) {
      PAWL_TRY(last_prompt, prompts.make(planned.prompt));
    }
    Question question;
    question.asked.arm = planned.arm;
    question.asked.label = planned.label;
    question.asked.repetition = planned.repetition;
    question.asked.is_warm_up = planned.is_warm_up;
    question.asked.is_stream = planned.is_stream;
    question.asked.prompt_tokens = planned.prompt;
    question.asked.output_tokens = planned.output;
    question.prompt = last_prompt;
    if (options.salts_cache) {
      question.fields["cache_salt"] = base::xxh3_128(std::as_bytes(std::span(last_prompt)));
    }
    client.ask(std::move(question));
    return {};
  }

  Result<void> take_finished() {
    for (RequestRecord& record : client.take_finished()) {
      record.index += options.first_index;
      if (events.record) PAWL_TRY_VOID(events.record(record));
      PAWL_TRY_VOID(failures.add(record, client.endpoint().base_url));
    }
    return {};
  }
};

}  // namespace

Result<void> run_plan(OpenAiClient& client, PromptMaker& prompts, std::span<const Planned> plan,
                      const RunOptions& options, const base::Clock& clock,
                      const RunEvents& events) {
  constexpr int64_t kPatienceNs = 50'000'000;  // so that a stop is noticed
  Run run{client, prompts, events, options, "", {}};
  size_t next = 0;
  while (next < plan.size() || client.in_flight() > 0) {
    if (events.should_stop && events.should_stop()) {
      return Error{ErrorCode::kCancelled, "stopped", client.endpoint().base_url};
    }
    // A repeated prompt waits until its first request is over: the cache is filled by then. So do
    // the measured ones for the warm-up.
    const bool must_wait = next < plan.size() && client.in_flight() > 0 &&
                           (plan[next].repeats_prompt ||
                            (next > 0 && plan[next - 1].is_warm_up && !plan[next].is_warm_up));
    if (next < plan.size() && client.in_flight() < options.concurrency && !must_wait) {
      PAWL_TRY_VOID(run.send(plan[next++]));
      continue;
    }
    client.run(clock.now_ns() + kPatienceNs);
    PAWL_TRY_VOID(run.take_finished());
  }
  return {};
}

}  // namespace pawl::lab
