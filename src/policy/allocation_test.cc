// SPDX-License-Identifier: Apache-2.0
// No allocation after the scratch is warm: every new of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "policy/choose.h"
#include "policy/test_rows.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PAWL_COUNTS_ALLOCATIONS 1

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
#endif

namespace pawl::policy {
namespace {

TEST(Allocation, NoneInChooseAndAcceptOnceTheScratchIsWarm) {
#ifndef PAWL_COUNTS_ALLOCATIONS
  GTEST_SKIP() << "needs its own operator new, which a sanitizer brings too";
#endif
  constexpr int32_t kVocabulary = 5000;
  Policy all;  // every stage but mirostat
  all.logit_bias = {{1, 2}};
  all.banned = {2};
  all.allowed.clear();
  all.temperature = 0.8;
  all.dynatemp_range = 0.2;
  all.top_k = 3000;
  all.top_p = 0.99;
  all.typical_p = 0.99;
  all.min_p = 1e-6;
  all.top_n_sigma = 5;
  all.xtc_probability = 0.5;
  all.presence_penalty = 0.5;
  all.min_tokens = 10;
  all.top_logprobs = 20;
  Policy mirostat;
  mirostat.mirostat = 1;
  const TokenMask mask(kVocabulary, true);
  const std::vector<base::TokenId> end_ids = {3};
  std::vector<std::vector<float>> rows;
  for (uint64_t i = 0; i < 20; ++i) rows.push_back(normal_row(kVocabulary, 0.1 + 0.3 * i, i));

  for (const Policy& policy : {Policy{}, all, mirostat}) {
    History history(policy, end_ids, 100);
    Scratch scratch;
    const auto step = [&](uint64_t position) {
      const Choice choice = choose({.row = rows[position % rows.size()],
                                    .policy = policy,
                                    .history = history,
                                    .draw = {0, position},
                                    .mask = &mask,
                                    .end_ids = end_ids},
                                   scratch);
      history.accept(choice);
    };
    step(0);
    const int64_t before = allocations;
    for (uint64_t position = 1; position < 80; ++position) step(position);
    EXPECT_EQ(allocations - before, 0);
  }
}

}  // namespace
}  // namespace pawl::policy
