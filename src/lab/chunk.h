// SPDX-License-Identifier: Apache-2.0
// One chunk of an OpenAI-compatible answer, or a whole answer, as facts. What servers of the field
// add beside the API is read where it tells something: thinking under either of its two names,
// timings, token ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "lab/record.h"

namespace pawl::lab {

struct Chunk {
  EventKind kind = EventKind::kOther;
  std::string id;
  std::string model;
  std::string content;            // of all choices, in their order
  std::string reasoning;          // "reasoning_content" or "reasoning"
  std::string tool_text;          // names and arguments of tool calls
  std::string finish_reason;      // empty: none
  std::string error;              // of kError, one line
  std::optional<int32_t> tokens;  // by token_ids or logprobs of the choices
  std::optional<int32_t> forced;  // of these, by token_forced
  // From "usage"; null members are absent.
  std::optional<int64_t> prompt_tokens, completion_tokens, cached_tokens;
  // From "timings", of pawl or llama.cpp.
  std::optional<int64_t> timed_prompt_tokens, timed_completion_tokens, timed_cached_tokens;
  std::optional<double> queue_ms, prefill_ms, decode_ms;
};

// Reads the object; members of a kind that the API does not give them are skipped. Error kBadFile
// for what is no JSON object.
base::Result<Chunk> read_chunk(std::string_view json);

// The message of an error object {"error": {"message", …}} or {"error": "…"}, or of others' ways
// of saying it ("message", "detail"); nothing where there is none. One line.
std::optional<std::string> error_message(const base::Json& body);

}  // namespace pawl::lab
