// SPDX-License-Identifier: Apache-2.0
// A trace: what one request's forward passes were given, what they returned and what was selected,
// so exactly that anybody can compute it again. One JSON object per line:
//
//   {"kind": "header", "pawl_trace": 1, "pawl", "model", "model_sha256", "tokenizer", "isa",
//    "precision", "kv_type", "adapters": [{"path", "sha256", "scale"}], "threads", "seed",
//    "policy", "prompt_ids", "prompt_texts"}
//   {"step": 0, "kind": "prefill" | "decode", "prefix_len", "prefix_sha256", "inputs",
//    "selected": {"id", "text"} | null, "top": [{"id", "text", "logit", "p"}], "gap",
//    "logits_digest", "forward_us", "policy_us"}                        one for each forward pass
//   {"kind": "end", "passes", "prefill_passes", "selected", "finish_reason"}
//
// The prefix of a pass is all that its last position can see: the ids up to and with its inputs.
// A pass over a part of the prompt only has no row: "selected", "gap" and "logits_digest" are null.
// Texts are UTF-8 with U+FFFD for what is none; a member "bytes" then holds what is meant.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/task_pool.h"
#include "base/token.h"
#include "kernels/kernels.h"
#include "policy/policy.h"
#include "text/tokenizer.h"

namespace pawl::probe {

inline constexpr int64_t kTraceSchema = 1;

struct TraceAdapter {
  std::string path;    // as it was named
  std::string sha256;  // of the file
  float scale = 1;
};

struct TraceHeader {
  std::string pawl_version;
  std::string model;         // as it was named
  std::string model_sha256;  // of the file
  std::string tokenizer;     // the algorithm, as the model's file names it
  std::string isa;           // kernel variant
  bool is_reference = false;
  std::string kv_type = "f16";  // what keys and values were kept as: kernels::kv_type_name
  std::vector<TraceAdapter> adapters;
  int64_t threads = 0;
  policy::Policy policy;  // with the seed
  std::vector<base::TokenId> prompt;
  std::vector<std::string> prompt_texts;  // one for each id, or none; nothing depends on them
};

struct TopToken {
  base::TokenId id = 0;
  float logit = 0;
  double p = 0;  // of the whole row's softmax, to 1e-5 of itself
  bool operator==(const TopToken&) const = default;
};

struct TraceRow {
  std::string digest;         // base::xxh3_128 of the float32 bytes
  std::vector<TopToken> top;  // largest first, the lowest id first among equals
  std::optional<double> gap;  // largest logit less the second; none with one entry only
  bool operator==(const TraceRow&) const = default;
};

struct TraceStep {
  int64_t step = 0;
  bool is_prefill = false;  // inputs are of the prompt
  int64_t prefix_len = 0;
  std::string prefix_sha256;
  std::vector<base::TokenId> inputs;
  std::optional<base::TokenId> selected;
  std::optional<TraceRow> row;
  int64_t forward_us = 0, policy_us = 0;
  // As a trace that was read has them, empty where it has none. Nothing depends on them.
  std::string selected_text;
  std::vector<std::string> top_texts;  // of row->top
};

struct TraceEnd {
  int64_t passes = 0;
  int64_t prefill_passes = 0;
  int64_t selected = 0;
  std::string finish_reason;
};

// SHA-256 of the ids as little-endian uint32, 64 hex digits.
std::string prefix_sha256(std::span<const base::TokenId> ids);

// What a trace keeps of a row [vocabulary, at least 1]. `top` largest entries, at least 1. The same
// bits with every table and any number of threads. Called from the thread that runs the pool.
TraceRow trace_row(std::span<const float> row, int top, const kernels::Table& table,
                   base::TaskPool& pool);

// One line each, without its end.
std::string header_line(const TraceHeader& header);
std::string step_line(const TraceStep& step, const text::Tokenizer& tokenizer);
std::string end_line(const TraceEnd& end);

// A trace as far as it can be read.
struct Trace {
  TraceHeader header;
  std::vector<TraceStep> steps;
  std::optional<TraceEnd> end;
  std::string fault;  // why reading ended before the file did; names the line
};

// Foreign bytes. Error kBadFile when the first line is no header of a trace, kUnsupported for
// another schema, kNotFound, kIo. A broken line further on is no Error: it is `fault`, and the
// steps before it are there.
base::Result<Trace> read_trace(const std::string& path);
base::Result<Trace> parse_trace(std::string_view text);

}  // namespace pawl::probe
