// SPDX-License-Identifier: Apache-2.0
// Attention of one KV head, per variant: decode of one token and prefill tiles, over the shapes of
// two models. GFLOP/s counts two per multiply-add of both products; GB/s the KV bytes of the blocks
// that are read.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "kernels/vector_variants.h"

namespace pawl::kernels {
namespace {

struct Case {
  const char* model;
  int head_dim, group;
  int tokens;
  int64_t depth;  // positions before the tile
};

void run(benchmark::State& state, const VectorEntries& entries, const Case& c) {
  const int64_t blocks = (c.depth + c.tokens + kKvBlock - 1) / kKvBlock;
  const int64_t block_bytes = int64_t{2} * c.head_dim * kKvBlock;
  const auto bytes = static_cast<size_t>(2 * blocks * block_bytes);
  auto* cache = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
  std::vector<const std::byte*> k, v;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> key(static_cast<size_t>(c.head_dim)), value(key.size());
  for (int64_t b = 0; b < blocks; ++b) {
    std::byte* block = cache + 2 * b * block_bytes;
    for (int slot = 0; slot < kKvBlock; ++slot) {
      for (float& x : key) x = normal(random);
      for (float& x : value) x = normal(random);
      entries.store_kv(KvType::kF16, key.data(), c.head_dim, value.data(), c.head_dim, slot, block,
                       block + block_bytes);
    }
    k.push_back(block);
    v.push_back(block + block_bytes);
  }
  const int rows = c.tokens * c.group;
  std::vector<float> q(static_cast<size_t>(rows * c.head_dim)), out(q.size()), acc(q.size());
  for (float& x : q) x = normal(random);
  std::vector<float> m(static_cast<size_t>(rows)), l(m.size());
  void* scratch =
      std::aligned_alloc(64, static_cast<size_t>(attention_scratch_bytes(c.head_dim, c.head_dim)));
  const AttentionTile tile = {.type = KvType::kF16,
                              .k = k.data(),
                              .v = v.data(),
                              .head_dim = c.head_dim,
                              .value_dim = c.head_dim,
                              .q = q.data(),
                              .q_token_stride = c.group * c.head_dim,
                              .tokens = c.tokens,
                              .group = c.group,
                              .first_position = c.depth,
                              .window = 0,
                              .scale = 0.1f,
                              .cap = 0,
                              .slopes = nullptr};
  const int64_t spans = (c.depth + c.tokens - 1) / kKvSpan + 1;
  const AttentionState running = {m.data(), l.data(), acc.data()};
  for (auto _ : state) {
    m.assign(m.size(), -__builtin_inff());
    entries.attention_spans(tile, 0, spans, running, scratch);
    entries.attention_finish(running, c.tokens, c.group, c.head_dim, nullptr, out.data(),
                             c.group * c.head_dim);
    benchmark::DoNotOptimize(out.data());
  }
  const double pairs = static_cast<double>(c.group) * c.tokens *
                       (static_cast<double>(c.depth) + (c.tokens + 1) / 2.0);
  const double runs = static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] =
      benchmark::Counter(4e-9 * pairs * c.head_dim * runs, benchmark::Counter::kIsRate);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(bytes) * runs, benchmark::Counter::kIsRate);
  std::free(scratch);
  std::free(cache);
}

void add_benchmarks() {
  for (const VectorVariant& variant : vector_variants()) {
    for (int tokens : {1, 16}) {
      for (int64_t depth : {128, 512, 2048}) {
        for (const Case& c : {Case{"gemma3-270m", 256, 4, tokens, depth},
                              Case{"qwen2.5-0.5b", 64, 7, tokens, depth}}) {
          Case fitting = c;
          if (c.tokens * c.group > kAttentionRows) fitting.tokens = kAttentionRows / c.group;
          const std::string name = std::string(c.model) + "/" + variant.name +
                                   "/tokens:" + std::to_string(fitting.tokens) +
                                   "/depth:" + std::to_string(depth);
          const VectorEntries* entries = variant.entries;
          benchmark::RegisterBenchmark(name.c_str(), [entries, fitting](benchmark::State& state) {
            run(state, *entries, fitting);
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace pawl::kernels

int main(int argc, char** argv) {
  pawl::kernels::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
