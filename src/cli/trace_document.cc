// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_document.h"

namespace pawl::cli {

using base::Json;
using probe::Verdict;

namespace {

Json step_json(const probe::TraceStep& step) {
  Json json;
  json["step"] = step.step;
  json["kind"] = step.is_prefill ? "prefill" : "decode";
  json["inputs"] = step.inputs.size();
  json["prefix_len"] = step.prefix_len;
  json["prefix_sha256"] = step.prefix_sha256;
  json["selected"] = step.selected ? Json(step.selected_text) : Json();
  json["p"] = Json();
  json["gap"] = Json();
  json["logits_digest"] = Json();
  if (step.row) {
    for (const probe::TopToken& token : step.row->top) {
      if (token.id == step.selected) json["p"] = token.p;
    }
    json["gap"] = step.row->gap;
    json["logits_digest"] = step.row->digest;
  }
  json["forward_us"] = step.forward_us;
  json["policy_us"] = step.policy_us;
  return json;
}

}  // namespace

std::string_view outcome_name(Verdict::Outcome outcome) {
  switch (outcome) {
    case Verdict::Outcome::kHolds:
      return "holds";
    case Verdict::Outcome::kFails:
      return "fails";
    case Verdict::Outcome::kNotChecked:
      return "not checked";
  }
  return "";
}

Json verdicts_json(const std::vector<Verdict>& verdicts) {
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json json;
    json["name"] = verdict.name;
    json["outcome"] = outcome_name(verdict.outcome);
    json["checked"] = verdict.checked.empty() ? Json() : Json(verdict.checked);
    json["step"] = verdict.step;
    json["reason"] = verdict.reason.empty() ? Json() : Json(verdict.reason);
    list.push_back(std::move(json));
  }
  return list;
}

Json trace_document(const probe::Trace& trace, const std::vector<Verdict>& verdicts) {
  const probe::TraceHeader& header = trace.header;
  Json document;
  document["kind"] = "trace";
  Json& conditions = document["conditions"];
  conditions["model"] = header.model;
  conditions["model_sha256"] = header.model_sha256;
  conditions["pawl"] = header.pawl_version;
  conditions["isa"] = header.isa;
  conditions["precision"] = header.is_reference ? "reference" : "fast";
  conditions["threads"] = header.threads;
  conditions["seed"] = header.policy.seed;
  std::string prompt;
  for (const std::string& text : header.prompt_texts) prompt += text;
  document["prompt"] = prompt;
  document["prompt_tokens"] = header.prompt.size();
  document["passes"] = Json::array();
  for (const probe::TraceStep& step : trace.steps) document["passes"].push_back(step_json(step));
  document["finish_reason"] = trace.end ? Json(trace.end->finish_reason) : Json();
  document["fault"] = trace.fault.empty() ? Json() : Json(trace.fault);
  document["verdicts"] = verdicts_json(verdicts);
  return document;
}

}  // namespace pawl::cli
