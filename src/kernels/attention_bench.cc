// SPDX-License-Identifier: Apache-2.0
// Attention of one KV head, per variant: decode of one token and prefill tiles, over the shapes of
// two models. GFLOP/s counts two per multiply-add of both products; GB/s the KV bytes of the blocks
// that are read.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/vector_variants.h"

namespace pawl::kernels {
namespace {

struct Case {
  const char* model;
  int head_dim, group;
  int tokens = 1;
  KvType type = KvType::kF16;
  int64_t depth = 0;  // positions before the tile
  bool cold = false;  // a cache that was not read for long, as when weights stream by in between
};

// Copies of the K and V blocks of one KV head, enough of them that a cold one is in no cache of the
// CPU.
class Caches {
 public:
  Caches(const VectorEntries& entries, const Case& c)
      : blocks_((c.depth + c.tokens + kKvBlock - 1) / kKvBlock),
        key_bytes_((kv_key_bytes(c.type, c.head_dim) + 63) / 64 * 64),
        block_bytes_(key_bytes_ + (kv_value_bytes(c.type, c.head_dim) + 63) / 64 * 64) {
    const int64_t copies = c.cold ? (int64_t{128} << 20) / bytes() + 1 : 1;
    memory_ =
        static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(copies * bytes())));
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> key(static_cast<size_t>(c.head_dim));
    for (int64_t position = 0; position < blocks_ * kKvBlock; ++position) {
      for (float& x : key) x = normal(random);
      std::byte* block = memory_ + position / kKvBlock * block_bytes_;
      entries.store_kv(c.type, key.data(), c.head_dim, key.data(), c.head_dim,
                       static_cast<int>(position % kKvBlock), block, block + key_bytes_);
    }
    for (int64_t copy = 0; copy < copies; ++copy) {
      std::byte* begin = memory_ + copy * bytes();
      if (copy > 0) std::memcpy(begin, memory_, static_cast<size_t>(bytes()));
      std::vector<const std::byte*> k, v;
      for (int64_t b = 0; b < blocks_; ++b) {
        k.push_back(begin + b * block_bytes_);
        v.push_back(begin + b * block_bytes_ + key_bytes_);
      }
      k_.push_back(k);
      v_.push_back(v);
    }
  }
  ~Caches() { std::free(memory_); }
  Caches(const Caches&) = delete;
  Caches& operator=(const Caches&) = delete;

  int64_t bytes() const { return blocks_ * block_bytes_; }  // of one copy
  // The blocks of the copies in turn.
  void next(AttentionTile* tile) {
    turn_ = (turn_ + 1) % k_.size();
    tile->k = k_[turn_].data();
    tile->v = v_[turn_].data();
  }

 private:
  int64_t blocks_, key_bytes_, block_bytes_;
  std::byte* memory_;
  std::vector<std::vector<const std::byte*>> k_, v_;
  size_t turn_ = 0;
};

void run(benchmark::State& state, const VectorEntries& entries, const Case& c) {
  Caches caches(entries, c);
  const int rows = c.tokens * c.group;
  std::vector<float> q(static_cast<size_t>(rows * c.head_dim), 0.3f), out(q.size()), acc(q.size());
  std::vector<float> m(static_cast<size_t>(rows)), l(m.size());
  void* scratch =
      std::aligned_alloc(64, static_cast<size_t>(attention_scratch_bytes(c.head_dim, c.head_dim)));
  AttentionTile tile = {.type = c.type,
                        .k = nullptr,
                        .v = nullptr,
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
    caches.next(&tile);
    m.assign(m.size(), -__builtin_inff());
    entries.attention_spans(tile, 0, spans, running, scratch);
    entries.attention_finish(running, c.tokens, c.group, c.head_dim, nullptr, out.data(),
                             c.group * c.head_dim);
    benchmark::DoNotOptimize(out.data());
  }
  const double pairs = static_cast<double>(c.group) * c.tokens *
                       (static_cast<double>(c.depth) + (c.tokens + 1) / 2.0);
  const double runs = static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["GFLOP/s"] = Counter(4e-9 * pairs * c.head_dim * runs, Counter::kIsRate);
  state.counters["GB/s"] =
      Counter(1e-9 * static_cast<double>(caches.bytes()) * runs, Counter::kIsRate);
  std::free(scratch);
}

void add_for_each_type(const VectorVariant& variant, Case c) {
  const std::pair<KvType, const char*> types[] = {
      {KvType::kF16, "f16"}, {KvType::kQ8_0, "q8_0"}, {KvType::kF16Q8_0, "f16-q8_0"}};
  for (const auto& [type, type_name] : types) {
    c.type = type;
    const std::string name = std::string(c.model) + "/" + variant.name + "/" + type_name +
                             "/tokens:" + std::to_string(c.tokens) +
                             "/depth:" + std::to_string(c.depth) + (c.cold ? "/cold" : "/warm");
    const VectorEntries* entries = variant.entries;
    benchmark::RegisterBenchmark(
        name.c_str(), [entries, c](benchmark::State& state) { run(state, *entries, c); });
  }
}

void add_benchmarks() {
  const Case models[] = {{.model = "gemma3-270m", .head_dim = 256, .group = 4},
                         {.model = "qwen2.5-0.5b", .head_dim = 64, .group = 7}};
  for (const VectorVariant& variant : vector_variants()) {
    for (int tokens : {1, 16}) {
      for (int64_t depth : {128, 512, 2048}) {
        for (bool cold : {false, true}) {
          for (Case c : models) {
            c.tokens = std::min(tokens, kAttentionRows / c.group);
            c.depth = depth;
            c.cold = cold;
            add_for_each_type(variant, c);
          }
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
