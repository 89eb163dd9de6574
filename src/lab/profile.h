// SPDX-License-Identifier: Apache-2.0
// A profile: what a sweep keeps for those who come later. The points of its requests and the
// conditions that they hold under; fits and intervals are computed from them again by whoever reads
// it, so that there is one definition of each number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "lab/conditions.h"
#include "lab/record.h"

namespace pawl::lab {

inline constexpr std::string_view kPromptArm = "prompt";  // the output is fixed, the prompt grows
inline constexpr std::string_view kOutputArm = "output";  // the prompt is fixed, the output grows
inline constexpr std::string_view kJointArm = "joint";    // both at once: held out of every fit

// One successful request, reduced to what the fits need. Times in milliseconds.
struct Point {
  std::string arm;
  int64_t record = 0;  // index of its raw record
  int64_t repetition = 0;
  int64_t prompt_asked = 0, output_asked = 0;  // tokens
  int64_t prompt = 0, output = 0;              // tokens as counted
  bool is_estimated = false;                   // a count that the server did not make
  std::optional<int64_t> cached;               // of the prompt; absent is not 0
  double ttft_ms = 0;
  std::optional<double> tpot_ms;  // nothing for a single token
  double e2e_ms = 0;

  // The context that a token of its answer saw on average.
  double context() const { return static_cast<double>(prompt) + static_cast<double>(output) / 2; }
};

// Nothing for warm-ups, for what is no success, and where a count or a time is missing.
std::optional<Point> point_of(const RequestRecord& record);
std::vector<Point> points_of(std::span<const RequestRecord> records);

// Tokens with which every prompt begins and that a cache held each time: the chat template's. 0
// where the server tells of none, and where hits grow with the prompt, which are hits of prompts.
int64_t shared_head(std::span<const Point> points);

struct Profile {
  Conditions conditions;
  uint64_t seed = 0;  // of the bootstrap
  std::vector<Point> points;
  std::vector<std::string> void_because;  // why the split does not hold; empty: it does
};

inline constexpr int64_t kProfileSchema = 1;
// `pawl_profile`, `conditions`, `seed`, `void_because`, `points[…]`: an object to add to.
base::Json profile_json(const Profile& profile);
// Error kBadFile names the member.
base::Result<Profile> parse_profile(const base::Json& value);

}  // namespace pawl::lab
