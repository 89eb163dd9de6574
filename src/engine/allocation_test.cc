// SPDX-License-Identifier: Apache-2.0
// No allocation in a step once its buffers are warm: every new of this program is counted.
#include <atomic>
#include <cstdlib>
#include <new>

#include "engine/engine_for_test.h"
#include "support/golden.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PAWL_COUNTS_ALLOCATIONS 1

[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
#endif

namespace pawl::engine {
namespace {

class Quiet final : public EventSink {
 public:
  void on_delta(const Delta&) override { ++tokens; }
  void on_finished(const Finished&) override {}
  int tokens = 0;
};

// Decodes that cross the borders of blocks, one of them preempted and computed again on the way.
TEST(Allocation, NoneInAStepOnceItsBuffersAreWarm) {
#ifndef PAWL_COUNTS_ALLOCATIONS
  GTEST_SKIP() << "needs its own operator new, which a sanitizer brings too";
#endif
  const auto path = tests::golden_path("tiny/gemma3.gguf");
  if (!path) GTEST_SKIP() << "missing: golden/tiny/gemma3.gguf";
  auto runtime = Runtime::open(*path, {.threads = 2});
  ASSERT_TRUE(runtime.ok());
  const base::SteadyClock clock;
  auto engine = Engine::create(**runtime, {.context = 512, .kv_positions = 512}, clock);
  ASSERT_TRUE(engine.ok());
  Quiet sinks[3];
  for (int i = 0; i < 3; ++i) {
    Recorder unused;
    Request r = request_for(unused, numbered_prompt(40, i), 250);
    r.policy.top_p = 0.95;
    r.policy.top_logprobs = 3;
    r.stops.strings = {"never said"};
    r.sink = &sinks[i];
    ASSERT_TRUE((*engine)->submit(std::move(r)).ok());
  }
  while (sinks[2].tokens < 30) (*engine)->step();
  const int64_t before = allocations;
  while (sinks[0].tokens < 245) (*engine)->step();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_GT((*engine)->stats().preemptions, 0);
}

}  // namespace
}  // namespace pawl::engine
