// SPDX-License-Identifier: Apache-2.0
// Reading a trace. Nothing of it is believed here but its form.
#include <cctype>
#include <limits>

#include "base/mapped_file.h"
#include "base/utf8.h"
#include "probe/policy_json.h"
#include "probe/trace.h"

namespace pawl::probe {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using base::TokenId;

namespace {

Error bad(std::string_view key, std::string_view wanted) {
  return {ErrorCode::kBadFile, base::quoted_text(key) + " is not " + std::string(wanted), ""};
}

// The member, or null's place when there is none: what reads it then says what it wants.
const Json& member(const Json& json, std::string_view key) {
  static const Json kNothing;
  const Json* found = json.find(key);
  return found != nullptr ? *found : kNothing;
}

Result<int64_t> count_of(const Json& json, std::string_view key) {
  const auto value = member(json, key).to_int64();
  if (!value || *value < 0) return bad(key, "an integer of 0 or more");
  return *value;
}

Result<std::string> text_of(const Json& json, std::string_view key) {
  const std::string* value = member(json, key).as_string();
  if (value == nullptr) return bad(key, "a text");
  return *value;
}

bool is_hex(std::string_view text) {
  for (const char c : text) {
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
  }
  return true;
}

Result<std::string> sha256_of(const Json& json, std::string_view key) {
  const std::string* value = member(json, key).as_string();
  if (value == nullptr || value->size() != 64 || !is_hex(*value)) {
    return bad(key, "64 hexadecimal digits");
  }
  return *value;
}

Result<TokenId> id_of(const Json& json, std::string_view key) {
  const auto value = json.to_int64();
  if (!value || *value < 0 || *value > std::numeric_limits<TokenId>::max()) {
    return bad(key, "a token id");
  }
  return static_cast<TokenId>(*value);
}

Result<std::vector<TokenId>> ids_of(const Json& json, std::string_view key) {
  const Json::Array* items = member(json, key).as_array();
  if (items == nullptr || items->empty()) return bad(key, "an array of token ids");
  std::vector<TokenId> ids;
  ids.reserve(items->size());
  for (const Json& item : *items) {
    PAWL_TRY(const TokenId id, id_of(item, key));
    ids.push_back(id);
  }
  return ids;
}

// For people: what is no text there is no fault.
std::string shown_text(const Json& json) {
  const std::string* text = member(json, "text").as_string();
  return text != nullptr ? *text : std::string();
}

std::vector<std::string> prompt_texts_of(const Json& json, size_t prompt) {
  const Json::Array* items = member(json, "prompt_texts").as_array();
  if (items == nullptr || items->size() != prompt) return {};
  std::vector<std::string> texts;
  for (const Json& item : *items) {
    const std::string* text = item.as_string();
    texts.push_back(text != nullptr ? *text : std::string());
  }
  return texts;
}

// Traces from before there were these have neither.
Result<void> parse_model_options(const Json& json, TraceHeader& header) {
  if (json.find("kv_type") != nullptr) {
    PAWL_TRY(header.kv_type, text_of(json, "kv_type"));
  }
  if (json.find("adapters") == nullptr) return {};
  const Json::Array* items = member(json, "adapters").as_array();
  if (items == nullptr) return bad("adapters", "an array");
  for (const Json& item : *items) {
    TraceAdapter adapter;
    PAWL_TRY(adapter.path, text_of(item, "path"));
    PAWL_TRY(adapter.sha256, sha256_of(item, "sha256"));
    const auto scale = member(item, "scale").to_double();
    if (!scale) return bad("scale", "a number");
    adapter.scale = static_cast<float>(*scale);
    header.adapters.push_back(std::move(adapter));
  }
  return {};
}

Result<TraceHeader> parse_header(const Json& json) {
  const auto schema = member(json, "pawl_trace").to_int64();
  if (!schema) return Error{ErrorCode::kBadFile, "the first line is no header of a trace", ""};
  if (*schema != kTraceSchema) {
    return Error{ErrorCode::kUnsupported,
                 "a trace of schema " + std::to_string(*schema) + "; schema " +
                     std::to_string(kTraceSchema) + " is read here",
                 ""};
  }
  TraceHeader header;
  PAWL_TRY(header.pawl_version, text_of(json, "pawl"));
  PAWL_TRY(header.model, text_of(json, "model"));
  PAWL_TRY(header.model_sha256, sha256_of(json, "model_sha256"));
  PAWL_TRY(header.tokenizer, text_of(json, "tokenizer"));
  PAWL_TRY(header.isa, text_of(json, "isa"));
  PAWL_TRY(const std::string precision, text_of(json, "precision"));
  if (precision != "fast" && precision != "reference") {
    return bad("precision", "fast or reference");
  }
  header.is_reference = precision == "reference";
  PAWL_TRY_VOID(parse_model_options(json, header));
  PAWL_TRY(header.threads, count_of(json, "threads"));
  PAWL_TRY(header.policy, parse_policy(member(json, "policy")));
  const auto seed = member(json, "seed").to_uint64();
  if (!seed) return bad("seed", "an integer of 0 or more");
  header.policy.seed = *seed;
  PAWL_TRY(header.prompt, ids_of(json, "prompt_ids"));
  header.prompt_texts = prompt_texts_of(json, header.prompt.size());
  return header;
}

Result<TraceRow> parse_row(const Json& json) {
  constexpr std::string_view kPrefix = "xxh3-128:";
  TraceRow row;
  PAWL_TRY(row.digest, text_of(json, "logits_digest"));
  if (!row.digest.starts_with(kPrefix) || row.digest.size() != kPrefix.size() + 32 ||
      !is_hex(std::string_view(row.digest).substr(kPrefix.size()))) {
    return bad("logits_digest", "xxh3-128: and 32 hexadecimal digits");
  }
  const Json& gap = member(json, "gap");
  if (!gap.is_null() && !gap.to_double()) return bad("gap", "a number or null");
  row.gap = gap.to_double();
  const Json::Array* top = member(json, "top").as_array();
  if (top == nullptr) return bad("top", "an array");
  for (const Json& entry : *top) {
    TopToken token;
    PAWL_TRY(token.id, id_of(member(entry, "id"), "top"));
    const auto logit = member(entry, "logit").to_double(), p = member(entry, "p").to_double();
    if (!logit || !p) return bad("top", "a list of {id, logit, p}");
    token.logit = static_cast<float>(*logit);
    token.p = *p;
    row.top.push_back(token);
  }
  return row;
}

Result<TraceStep> parse_step(const Json& json) {
  TraceStep step;
  PAWL_TRY(step.step, count_of(json, "step"));
  PAWL_TRY(const std::string kind, text_of(json, "kind"));
  if (kind != "prefill" && kind != "decode") return bad("kind", "prefill or decode");
  step.is_prefill = kind == "prefill";
  PAWL_TRY(step.prefix_len, count_of(json, "prefix_len"));
  PAWL_TRY(step.prefix_sha256, sha256_of(json, "prefix_sha256"));
  PAWL_TRY(step.inputs, ids_of(json, "inputs"));
  const Json* selected = json.find("selected");
  if (selected == nullptr) return bad("selected", "there");
  if (!selected->is_null()) {
    PAWL_TRY(const TokenId id, id_of(member(*selected, "id"), "selected"));
    step.selected = id;
    step.selected_text = shown_text(*selected);
  }
  if (!member(json, "logits_digest").is_null()) {
    PAWL_TRY(TraceRow row, parse_row(json));
    step.row = std::move(row);
    for (const Json& entry : *member(json, "top").as_array()) {
      step.top_texts.push_back(shown_text(entry));
    }
  }
  PAWL_TRY(step.forward_us, count_of(json, "forward_us"));
  PAWL_TRY(step.policy_us, count_of(json, "policy_us"));
  return step;
}

Result<TraceEnd> parse_end(const Json& json) {
  TraceEnd end;
  PAWL_TRY(end.passes, count_of(json, "passes"));
  PAWL_TRY(end.prefill_passes, count_of(json, "prefill_passes"));
  PAWL_TRY(end.selected, count_of(json, "selected"));
  PAWL_TRY(end.finish_reason, text_of(json, "finish_reason"));
  return end;
}

// A line after the header: one step, or the end.
Result<void> parse_line(std::string_view line, Trace& trace) {
  if (trace.end) return Error{ErrorCode::kBadFile, "stands after the closing line", ""};
  PAWL_TRY(const Json json, base::parse_json(line));
  const std::string* kind = member(json, "kind").as_string();
  if (kind != nullptr && *kind == "end") {
    PAWL_TRY(TraceEnd end, parse_end(json));
    trace.end = std::move(end);
    return {};
  }
  PAWL_TRY(TraceStep step, parse_step(json));
  trace.steps.push_back(std::move(step));
  return {};
}

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

Result<Trace> parse_trace(std::string_view text) {
  Trace trace;
  auto first = base::parse_json(take_line(text));
  if (!first.ok()) {
    return Error{ErrorCode::kBadFile,
                 "the first line is no header of a trace: " + first.error().message, ""};
  }
  PAWL_TRY(trace.header, parse_header(*first));
  for (int64_t number = 2; !text.empty(); ++number) {
    const auto read = parse_line(take_line(text), trace);
    if (read.ok()) continue;
    trace.fault = "line " + std::to_string(number) + ": " + read.error().message;
    break;
  }
  return trace;
}

Result<Trace> read_trace(const std::string& path) {
  PAWL_TRY(const base::MappedFile file, base::MappedFile::open(path));
  const auto bytes = file.bytes();
  auto trace = parse_trace({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!trace.ok() && trace.error().where.empty()) trace.error().where = path;
  return trace;
}

}  // namespace pawl::probe
