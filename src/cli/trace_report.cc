// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_report.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "base/json.h"
#include "base/pending_file.h"
#include "cli/terminal.h"
#include "probe/policy_json.h"

namespace pawl::cli {

using base::Json;
using base::Result;

extern const char kTracePage[];

namespace {

constexpr std::string_view kPlace = "@TRACE@";

Json token_json(base::TokenId id, const std::vector<std::string>& texts, size_t index) {
  Json json;
  json["id"] = int64_t{id};
  json["text"] = index < texts.size() ? Json(texts[index]) : Json();
  return json;
}

Json step_json(const probe::TraceStep& step) {
  Json json;
  json["kind"] = step.is_prefill ? "prefill" : "decode";
  json["prefix_len"] = step.prefix_len;
  json["inputs"] = step.inputs.size();
  json["selected"] = step.selected ? token_json(*step.selected, {step.selected_text}, 0) : Json();
  json["top"] = Json::array();
  json["gap"] = step.row ? Json(step.row->gap) : Json();
  const size_t entries = step.row ? step.row->top.size() : 0;
  for (size_t i = 0; i < entries; ++i) {
    const probe::TopToken& token = step.row->top[i];
    Json entry = token_json(token.id, step.top_texts, i);
    entry["logit"] = token.logit;
    entry["p"] = token.p;
    json["top"].push_back(std::move(entry));
  }
  json["forward_us"] = step.forward_us;
  json["policy_us"] = step.policy_us;
  return json;
}

// Knobs that are not neutral, in words.
std::string policy_text(const policy::Policy& policy) {
  const Json knobs = probe::policy_json(policy);
  std::string text;
  for (const auto& [key, value] : *knobs.as_object()) {
    if (key == "temperature" && value.to_double() == 0.0) {
      text += text.empty() ? "greedy" : ", greedy";
    } else {
      text += (text.empty() ? "" : ", ") + key + " " + value.dump();
    }
  }
  return text.empty() ? "drawn from the whole row" : text;
}

std::string fault_text(const probe::Trace& trace) {
  std::string text;
  if (!trace.fault.empty()) text = "The trace could be read up to " + trace.fault + ". ";
  if (trace.steps.size() > kMostPagePasses) {
    text += fmt::format("Shown are the first {} of {} passes.", grouped(kMostPagePasses),
                        grouped(static_cast<int64_t>(trace.steps.size())));
  }
  return text;
}

// JSON inside of a script element: nothing in it may end the element or begin a comment.
std::string safe_in_page(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string trace_page(const probe::Trace& trace) {
  const probe::TraceHeader& header = trace.header;
  Json json;
  json["model"] = header.model;
  json["isa"] = header.isa;
  json["threads"] = header.threads;
  json["policy"] = policy_text(header.policy);
  json["seed"] = std::to_string(header.policy.seed);  // exact: beyond what a script's numbers hold
  json["finish_reason"] = trace.end ? Json(trace.end->finish_reason) : Json();
  json["fault"] = fault_text(trace);
  json["prompt"] = Json::array();
  for (size_t i = 0; i < header.prompt.size(); ++i) {
    json["prompt"].push_back(token_json(header.prompt[i], header.prompt_texts, i));
  }
  json["steps"] = Json::array();
  for (const probe::TraceStep& step : trace.steps) {
    if (json.find("steps")->as_array()->size() == kMostPagePasses) break;
    json["steps"].push_back(step_json(step));
  }
  std::string page = kTracePage;
  const size_t place = page.find(kPlace);
  return page.replace(place, kPlace.size(), safe_in_page(json.dump()));
}

Result<void> write_trace_page(const probe::Trace& trace, const std::string& path) {
  const std::string page = trace_page(trace);
  PAWL_TRY(base::PendingFile file,
           base::PendingFile::create(path + ".tmp", base::PendingFile::Unfinished::kRemove));
  PAWL_TRY_VOID(file.write(std::as_bytes(std::span(page))));
  return file.commit(path);
}

}  // namespace pawl::cli
