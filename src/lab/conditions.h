// SPDX-License-Identifier: Apache-2.0
// What a measurement depends on: written with every result, and compared before two results are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pawl::lab {

// Empty texts and absent numbers are "not known", which is never equal to anything.
struct Conditions {
  std::string endpoint;        // URL without user and password
  std::string api;             // "chat" or "completions"
  std::string model;           // as asked for
  std::string answered_model;  // as the server names it
  std::string server;          // its name, from what it says of itself
  std::string server_version;
  std::string server_machine;  // where the server tells it, or the user: --machine
  std::string client_machine;  // processor, CPUs
  std::optional<int64_t> server_threads;
  std::optional<int64_t> concurrency;    // closed loop: requests at once
  std::optional<double> rate;            // open loop: requests per second
  std::optional<int64_t> max_in_flight;  // open loop with a cap
  std::string cache;                     // "unique prompt heads", "reused prompts"
  std::string sampling;                  // "temperature 0" and what else was asked for
  std::string prompt_counting;           // "exact by /tokenize", "calibrated by usage", …
  std::string output_counting;           // "usage", "timings", "tokenizer", "chunks"
  std::string date;                      // UTC, "2026-01-31T12:00:00Z"
  std::optional<uint64_t> seed;
  std::string client_version;  // of pawl
};

base::Json conditions_json(const Conditions& conditions);
// Members that are missing or null stay unknown. Error kBadFile names a member of another kind.
base::Result<Conditions> parse_conditions(const base::Json& value);

// One condition that two measurements do not share, or of which one is not known.
struct Difference {
  std::string name;  // as in the JSON
  std::string a, b;  // shown; "not known"
};
// Those that decide whether times may be compared: model, server, version, machine, threads,
// concurrency, rate, cache, sampling. Date, seed and endpoint do not.
std::vector<Difference> differences(const Conditions& a, const Conditions& b);

// Of this machine: "AMD EPYC 7B13, 2 CPUs".
std::string client_machine();
// The present, as in `date`.
std::string utc_date();

}  // namespace pawl::lab
