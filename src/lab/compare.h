// SPDX-License-Identifier: Apache-2.0
// Two shapes of a request at one server: which takes longer, what part of each decides it, and what
// other rules would have said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "lab/conditions.h"
#include "lab/plan.h"
#include "lab/record.h"
#include "lab/split.h"

namespace pawl::lab {

struct Shape {
  double prompt = 0, output = 0;  // tokens
};
// "20000,50" or with "@" and a name behind it. Nothing for what is none; prompt from 0, output from
// 1 on.
struct NamedShape {
  Shape shape;
  std::string name;  // behind "@"; may be empty
};
std::optional<NamedShape> parse_shape(std::string_view text);

enum class Slower { kA, kB, kCannotTell };
std::string_view slower_name(Slower slower);  // "a", "b", "cannot tell"
// The one whose interval lies above the other's.
Slower slower_of(const Interval& a, const Interval& b);

// Output tokens times the exchange rate, plus prompt tokens: time in units of a prompt token.
double weighted_tokens(const Shape& shape, double exchange);
// The exchange rate at which both take equally long; nothing where none above 0 does: then the same
// shape is slower at every rate.
std::optional<double> flip_rate(const Shape& a, const Shape& b);

// Claimed of data-centre accelerators, one request: prompt tokens for one output token.
inline constexpr double kClaimedExchange = 140;

// How much of a shape fell before and after its first text.
struct Half {
  int64_t n = 0;
  double prompt = 0, output = 0;  // tokens, as counted, means
  std::vector<double> ttft_ms, tail_ms, e2e_ms;
  Estimate mean_ms;
  double before_ms = 0, after_ms = 0;  // means; their sum is mean_ms.value
};

struct Comparison {
  Half a, b;
  int64_t failed = 0;
  Slower slower = Slower::kCannotTell;
  Estimate ratio;                          // mean time of a over that of b
  Slower by_output = Slower::kCannotTell;  // what each rule would have said, from the counts
  Slower by_total = Slower::kCannotTell;
  std::optional<double> flips_at;    // exchange rate
  std::optional<Estimate> exchange;  // as these two shapes show it; nothing where they cannot
  double claimed_ratio = 0;          // at kClaimedExchange
};

// Arms "a" and "b", in turn and in random order, with a warm-up.
std::vector<Planned> plan_comparison(const Shape& a, const Shape& b, int64_t repetitions,
                                     int64_t warm_ups, uint64_t seed);

// Nothing when fewer than two requests of each succeeded.
std::optional<Comparison> conclude_comparison(std::span<const RequestRecord> records,
                                              uint64_t seed);

base::Json comparison_json(const Comparison& comparison, const Conditions& conditions);

}  // namespace pawl::lab
