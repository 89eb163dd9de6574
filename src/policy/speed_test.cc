// SPDX-License-Identifier: Apache-2.0
// S-013 (../shared/cases/sampling.md): what a choice costs at a vocabulary of 262,144, on one core.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "policy/choose.h"
#include "policy/test_rows.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define PAWL_SLOW_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PAWL_SLOW_BUILD 1
#endif
#endif

namespace pawl::policy {
namespace {

constexpr size_t kVocabulary = 262144;

double milliseconds(const std::vector<float>& row, const Policy& policy, int position) {
  static Scratch scratch;
  const History history(policy);
  const auto begin = std::chrono::steady_clock::now();
  const Choice choice = choose({.row = row,
                                .policy = policy,
                                .history = history,
                                .draw = {1, static_cast<uint64_t>(position)}},
                               scratch);
  const auto end = std::chrono::steady_clock::now();
  EXPECT_NE(choice.id, kNoToken);
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// The policies take turns, so that a neighbour on the machine disturbs them alike; the fastest of
// many counts.
std::vector<double> fastest(const std::vector<float>& row, const std::vector<Policy>& policies) {
  std::vector<double> best(policies.size(), 1e9);
  for (int turn = 0; turn < 40; ++turn) {
    for (size_t i = 0; i < policies.size(); ++i) {
      best[i] = std::min(best[i], milliseconds(row, policies[i], turn));
    }
  }
  return best;
}

TEST(SamplingSpeed, S013_NoTopKIsOneLinearPassAndNoSort) {
#ifdef PAWL_SLOW_BUILD
  GTEST_SKIP() << "needs an optimised build without sanitizers";
#endif
  std::vector<Policy> policies(9);
  policies[1].top_k = 40;
  policies[2].temperature = 0.8;
  policies[3].temperature = 0;
  policies[4].top_p = 0.95;
  policies[5].min_p = 0.05;
  policies[6].typical_p = 0.95;
  policies[7].top_logprobs = 20;
  policies[8].top_n_sigma = 1;
  const char* names[] = {"no cut",         "top_k 40",        "temperature 0.8",
                         "greedy",         "top_p 0.95",      "min_p 0.05",
                         "typical_p 0.95", "top_logprobs 20", "top_n_sigma 1"};
  for (const double deviation : {1.0, 3.0}) {
    const std::vector<double> best = fastest(normal_row(kVocabulary, deviation, 5), policies);
    for (size_t i = 0; i < policies.size(); ++i) {
      std::printf("[ ms      ] deviation %.0f, %-15s %.3f\n", deviation, names[i], best[i]);
    }
    EXPECT_LT(best[0], 2.0);
    EXPECT_LT(best[2], 2.0);
    EXPECT_LT(best[0], 1.5 * best[1] + 0.1);  // 0.1 ms of slack for a machine at work
  }
}

}  // namespace
}  // namespace pawl::policy
