// SPDX-License-Identifier: Apache-2.0
// The requests of a study, sent.
#include <fmt/format.h>

#include <set>

#include "lab/schema_study.h"

namespace pawl::lab {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

std::string with_fields(std::string text, std::string_view told) {
  for (size_t at = text.find(kFieldsMark); at != std::string::npos;
       at = text.find(kFieldsMark, at + told.size())) {
    text.replace(at, kFieldsMark.size(), told);
  }
  return text;
}

std::string key_of(std::string_view arm, std::string_view label, int64_t repetition) {
  return fmt::format("{}\n{}\n{}", arm, label, repetition);
}

Question question_of(const StudyPlan& plan, std::span<const StudyPrompt> prompts,
                     const StudyRequest& request, const StudyRun& run, int64_t index) {
  const StudyVariant& variant = plan.variants[request.variant];
  Question question;
  question.asked.arm = variant.name;
  question.asked.label = std::to_string(request.prompt);
  question.asked.repetition = request.repetition;
  question.asked.is_warm_up = request.is_warm_up;
  question.prompt = with_fields(prompts[request.prompt].text, variant.told);
  question.keeps_text = true;
  question.fields["max_tokens"] = request.is_warm_up ? int64_t{1} : run.max_tokens;
  Json form;
  form["type"] = "json_schema";
  form["json_schema"]["name"] = "answer";
  form["json_schema"]["strict"] = true;
  form["json_schema"]["schema"] = variant.schema;
  question.fields["response_format"] = std::move(form);
  if (run.asks_tokens) {
    question.fields["return_token_ids"] = true;
    question.fields["return_token_times"] = true;
  }
  // The same prompt is sent many times: no answer may find the passes of an earlier one.
  if (run.salts_cache) question.fields["cache_salt"] = fmt::format("{:016x}-{}", run.salt, index);
  return question;
}

}  // namespace

std::vector<StudyRequest> remaining_requests(const StudyPlan& plan,
                                             std::span<const StudyRequest> requests,
                                             std::span<const RequestRecord> done) {
  std::set<std::string> keys;
  for (const RequestRecord& record : done) {
    const Asked& asked = record.asked;
    if (!asked.is_warm_up && record.state == RequestState::kSuccess) {
      keys.insert(key_of(asked.arm, asked.label, asked.repetition));
    }
  }
  std::vector<StudyRequest> rest;
  bool has_measured = false;
  for (const StudyRequest& request : requests) {
    const std::string key = key_of(plan.variants[request.variant].name,
                                   std::to_string(request.prompt), request.repetition);
    if (!request.is_warm_up && keys.contains(key)) continue;
    has_measured = has_measured || !request.is_warm_up;
    rest.push_back(request);
  }
  if (!has_measured) rest.clear();
  return rest;
}

Result<void> run_study(OpenAiClient& client, const StudyPlan& plan,
                       std::span<const StudyPrompt> prompts, std::span<const StudyRequest> requests,
                       const StudyRun& run, const base::Clock& clock, const RunEvents& events) {
  constexpr int64_t kPatienceNs = 50'000'000;  // so that a stop is noticed
  size_t next = 0;
  FailureStreak failures;
  while (next < requests.size() || client.in_flight() > 0) {
    if (events.should_stop && events.should_stop()) {
      return Error{ErrorCode::kCancelled, "stopped", client.endpoint().base_url};
    }
    const bool waits = next < requests.size() && client.in_flight() > 0 && next > 0 &&
                       requests[next - 1].is_warm_up && !requests[next].is_warm_up;
    if (next < requests.size() && client.in_flight() < run.concurrency && !waits) {
      client.ask(question_of(plan, prompts, requests[next], run,
                             run.first_index + static_cast<int64_t>(next)));
      ++next;
      continue;
    }
    client.run(clock.now_ns() + kPatienceNs);
    for (RequestRecord& record : client.take_finished()) {
      record.index += run.first_index;
      if (events.record) PAWL_TRY_VOID(events.record(record));
      auto goes_on = failures.add(record, client.endpoint().base_url);
      if (record.http_status == 400 || record.http_status == 422) {  // no other will be taken
        goes_on = Error{ErrorCode::kInvalidArgument, FailureStreak::reason(record),
                        client.endpoint().base_url};
      }
      if (!goes_on.ok()) {
        goes_on.error().message =
            fmt::format("'{}': {}", record.asked.arm, goes_on.error().message);
        return goes_on;
      }
    }
  }
  return {};
}

}  // namespace pawl::lab
