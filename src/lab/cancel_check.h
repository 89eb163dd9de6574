// SPDX-License-Identifier: Apache-2.0
// What leaving a stream saves, and that no request gives the end of an answer without its
// beginning. Three words are kept apart: landed (tokens that reached us), saved (tokens that the
// server is known not to have decoded) and unverified (tokens of which nobody can tell).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "lab/conditions.h"
#include "lab/openai_client.h"
#include "lab/server_facts.h"

namespace pawl::lab {

struct CancelOptions {
  std::string prompt;
  int64_t after = 300;       // tokens, then we leave
  int64_t of = 800;          // tokens of the whole answer
  int64_t step_tokens = 2;   // what may be decoded before the server notices: two steps
  double patience_s = 10;    // for a server that does not notice at once
  bool uses_records = true;  // off: as if the server had none, to see what timing alone tells
  bool uses_metrics = true;
};

// How it is known what the server decoded.
enum class DecodedSource {
  kNone,     // it is not: the server may still be computing
  kRecord,   // its record of the request
  kMetrics,  // its counter of generated tokens: right as long as nobody else uses it
  kProbe,    // a short request that had, or had not, to wait for the one we left
};
std::string_view decoded_source_name(DecodedSource source);

enum class Outcome { kHolds, kFails, kUnverified };
std::string_view outcome_name(Outcome outcome);

struct CancelVerdict {
  std::string name;
  Outcome outcome = Outcome::kUnverified;
  std::string reason;  // one line, with the numbers
};
base::Json verdicts_json(std::span<const CancelVerdict> verdicts);

// How long a short request waits for its first token, ms.
struct ProbeTimes {
  std::optional<double> idle;    // the median of three, nobody else served
  std::optional<double> beside;  // while the whole answer was being computed
  std::optional<double> rest;    // what the whole answer still took when that one was sent
  std::optional<double> after;   // right after we left
};

// One way to the tokens after the K-th, and what it took.
struct SuffixRoute {
  std::string name;           // "whole", "direct", or "continued": the first K given as prompt
  std::string prompt_sha256;  // of the prompt's ids as little-endian uint32, or of its text
  bool is_digest_of_ids = false;
  std::optional<int64_t> prompt_tokens, decoded_tokens, forward_passes;
  double ms = 0;
  std::string text;  // what it gives in place of tokens K+1 … N
};

struct CancelResult {
  ServerFacts facts;
  Conditions conditions;
  RequestRecord whole;  // the answer to its end
  RequestRecord cancelled;
  RequestRecord direct;       // the request for the suffix alone
  int64_t after = 0, of = 0;  // as asked
  int64_t whole_tokens = 0;   // of the whole answer
  int64_t landed = 0;
  std::string landed_source;  // "stated by the server" or "chunks": a lower bound
  DecodedSource source = DecodedSource::kNone;
  std::optional<int64_t> decoded;  // of the cancelled request
  bool is_decoded_bound = false;   // at most so many, by time
  std::optional<RequestFacts> record;
  ProbeTimes probes;
  std::optional<double> ms_per_token;  // of the whole answer: (last − first) / (tokens − 1)
  std::optional<int64_t> saved_tokens;
  std::optional<double> saved_s;
  int64_t unverified_tokens = 0;
  std::optional<double> unverified_s;
  std::string true_suffix;    // text of tokens K+1 … N, from the whole answer
  bool begins_alike = false;  // the cancelled answer is the beginning of the whole one
  std::vector<SuffixRoute> routes;
  std::vector<CancelVerdict> verdicts;

  bool has_failed() const;
};

// Called with what is being done, for a line of progress.
using ProgressLine = std::function<void(std::string_view)>;

// Errors: of the requests (kNetwork, naming what failed), kInvalidArgument when the whole answer
// has no more than `after` tokens, kCancelled when `stop` says so.
base::Result<CancelResult> check_cancel(const Endpoint& endpoint, const CancelOptions& options,
                                        const base::Clock& clock, const ProgressLine& progress,
                                        const std::function<bool()>& stop);

// Decides from what was measured; a pure function, for tests.
void judge_cancel(const CancelOptions& options, CancelResult& result);

base::Json cancel_json(const CancelResult& result);

}  // namespace pawl::lab
