// SPDX-License-Identifier: Apache-2.0
#include "probe/trace.h"

#include <algorithm>

#include "base/digest.h"
#include "base/utf8.h"
#include "policy/row_math.h"
#include "probe/policy_json.h"

namespace pawl::probe {

using base::Json;
using base::TokenId;

namespace {

void add_text(Json& json, const text::Tokenizer& tokenizer, TokenId id) {
  std::string bytes;
  tokenizer.append_piece(id, true, bytes);
  if (!base::is_valid_utf8(bytes)) {
    json["bytes"] = Json::array();
    for (const char c : bytes) json["bytes"].push_back(int{static_cast<unsigned char>(c)});
  }
  json["text"] = std::move(bytes);  // dump() makes it valid
}

Json ids_json(std::span<const TokenId> ids) {
  return Json::array_of({ids.begin(), ids.end()});
}

}  // namespace

std::string prefix_sha256(std::span<const TokenId> ids) {
  std::vector<std::byte> bytes;
  bytes.reserve(ids.size() * 4);
  for (const TokenId id : ids) {
    const auto value = static_cast<uint32_t>(id);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(std::byte(value >> shift & 0xff));
  }
  return base::sha256_hex(bytes);
}

TraceRow trace_row(std::span<const float> row, int top) {
  TraceRow kept;
  kept.digest = base::xxh3_128(std::as_bytes(row));
  const size_t wanted = std::max<size_t>(static_cast<size_t>(top), 2);  // the gap needs two
  std::vector<int32_t> indices;
  policy::select_largest(row, wanted, indices);
  std::stable_sort(indices.begin(), indices.end(), [&](int32_t a, int32_t b) {
    return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
  });
  if (indices.empty()) return kept;
  const float largest = row[static_cast<size_t>(indices[0])];
  if (indices.size() > 1) {
    kept.gap = double{largest} - double{row[static_cast<size_t>(indices[1])]};
  }
  const double sum = policy::sum_of_weights(row, largest);
  indices.resize(std::min<size_t>(indices.size(), static_cast<size_t>(top)));
  for (const int32_t id : indices) {
    const float logit = row[static_cast<size_t>(id)];
    kept.top.push_back({id, logit, policy::exact_exp(double{logit} - double{largest}) / sum});
  }
  return kept;
}

std::string header_line(const TraceHeader& header) {
  Json json;
  json["kind"] = "header";
  json["pawl_trace"] = kTraceSchema;
  json["pawl"] = header.pawl_version;
  json["model"] = header.model;
  json["model_sha256"] = header.model_sha256;
  json["tokenizer"] = header.tokenizer;
  json["isa"] = header.isa;
  json["precision"] = header.is_reference ? "reference" : "fast";
  json["threads"] = header.threads;
  json["seed"] = header.policy.seed;
  json["policy"] = policy_json(header.policy);
  json["prompt_ids"] = ids_json(header.prompt);
  return json.dump();
}

std::string step_line(const TraceStep& step, const text::Tokenizer& tokenizer) {
  Json json;
  json["step"] = step.step;
  json["kind"] = step.is_prefill ? "prefill" : "decode";
  json["prefix_len"] = step.prefix_len;
  json["prefix_sha256"] = step.prefix_sha256;
  json["inputs"] = ids_json(step.inputs);
  json["selected"] = Json();
  if (step.selected) {
    Json& selected = json["selected"];
    selected["id"] = int64_t{*step.selected};
    add_text(selected, tokenizer, *step.selected);
  }
  json["top"] = Json::array();
  if (step.row) {
    for (const TopToken& token : step.row->top) {
      Json entry;
      entry["id"] = int64_t{token.id};
      add_text(entry, tokenizer, token.id);
      entry["logit"] = token.logit;
      entry["p"] = token.p;
      json["top"].push_back(std::move(entry));
    }
  }
  json["gap"] = step.row ? Json(step.row->gap) : Json();
  json["logits_digest"] = step.row ? Json(step.row->digest) : Json();
  json["forward_us"] = step.forward_us;
  json["policy_us"] = step.policy_us;
  return json.dump();
}

std::string end_line(const TraceEnd& end) {
  Json json;
  json["kind"] = "end";
  json["passes"] = end.passes;
  json["prefill_passes"] = end.prefill_passes;
  json["selected"] = end.selected;
  json["finish_reason"] = end.finish_reason;
  return json.dump();
}

}  // namespace pawl::probe
