// SPDX-License-Identifier: Apache-2.0
// How fast matmul_a8 and matmul_f32 are, beside what the machine can do: bytes of weights against
// the bandwidth of a bare read, integer operations against a loop of nothing but the instruction
// that does most of them. Weights come from memory, never from a cache: the cases go round a set of
// copies larger than any. Counters are of the best pass (the mean is Google Benchmark's own): GB/s,
// GOP/s (2 per weight and token) and both as a part of the limit. PAWL_ISA forces a variant.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/task_pool.h"
#include "kernels/kernels.h"
#include "kernels/test_weights.h"

namespace pawl::kernels {
namespace {

constexpr int64_t kColdBytes = int64_t{160} << 20;
constexpr int64_t kSliceBytes = int64_t{16} << 20;
constexpr double kSliceOperations = 0.4e9;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const Table& table() {
  const char* forced = std::getenv("PAWL_ISA");
  static const auto chosen = choose_table(forced == nullptr ? "" : forced);
  if (!chosen.ok()) {
    std::fprintf(stderr, "%s\n", chosen.error().message.c_str());
    std::exit(2);
  }
  return **chosen;
}

// ---- the machine's limits
// ------------------------------------------------------------------------------------

struct Limits {
  double read_bytes_per_second = 0;
  double operations_per_second = 0;
};

typedef uint64_t Sixteen __attribute__((vector_size(16)));

uint64_t read_all(const std::byte* bytes, int64_t begin, int64_t end) {
  Sixteen sum[4] = {};
  for (int64_t i = begin; i < end; i += 64) {
    __builtin_prefetch(bytes + i + 4096, 0, 2);
    const auto* line = reinterpret_cast<const Sixteen*>(bytes + i);
    sum[0] ^= line[0];
    sum[1] ^= line[1];
    sum[2] ^= line[2];
    sum[3] ^= line[3];
  }
  const Sixteen all = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
  return all[0] ^ all[1];
}

Limits measure_limits(base::TaskPool& pool) {
  Limits limits;
  const AlignedBytes bytes(kColdBytes);
  constexpr int64_t kTurns = 30000;
  for (int pass = 0; pass < 400; ++pass) {
    const std::byte* slice = bytes.data() + pass * kSliceBytes % kColdBytes;
    double start = seconds();
    pool.run(kSliceBytes / 64, kSliceBytes / 64 / 32, [&](int64_t begin, int64_t end, int) {
      benchmark::DoNotOptimize(read_all(slice, begin * 64, end * 64));
    });
    limits.read_bytes_per_second = std::max(limits.read_bytes_per_second,
                                            static_cast<double>(kSliceBytes) / (seconds() - start));
    int64_t done[8] = {};
    start = seconds();
    pool.run(8, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) done[i] = table().dot_peak(kTurns);
    });
    const double taken = seconds() - start;
    limits.operations_per_second =
        std::max(limits.operations_per_second, 8 * static_cast<double>(done[0]) / taken);
  }
  return limits;
}

const Limits& limits_of(base::TaskPool& pool) {
  static Limits limits[65];
  Limits& mine = limits[std::min(pool.threads(), 64)];
  if (mine.read_bytes_per_second == 0) {
    mine = measure_limits(pool);
    std::printf("limits, %d threads: read %.1f GB/s, int8 %.0f GOP/s (%s)\n", pool.threads(),
                mine.read_bytes_per_second * 1e-9, mine.operations_per_second * 1e-9, table().name);
  }
  return mine;
}

// ---- cases
// ---------------------------------------------------------------------------------------------------

struct Shape {
  const char* name;
  Format format;
  int64_t rows, cols;
  bool is_f32 = false;
};

constexpr Shape kShapes[] = {
    {"gemma3-270m/output", Format::kQ8_0, 262144, 640},
    {"gemma3-270m/output", Format::kQ8_0Split, 262144, 640},
    {"gemma3-270m/output", Format::kQ8_0Coarse, 262144, 640},
    {"gemma3-270m/gate", Format::kQ5_0, 2048, 640},
    {"gemma3-270m/down", Format::kQ8_0, 640, 2048},
    {"qwen2.5-1.5b/up", Format::kQ4_K, 8960, 1536},
    {"qwen2.5-1.5b/down", Format::kQ6_K, 1536, 8960},
    {"square", Format::kQ4_0, 2048, 2048},
    {"square", Format::kQ4_1, 2048, 2048},
    {"square", Format::kQ5_1, 2048, 2048},
    {"square", Format::kQ5_K, 2048, 2048},
    {"square", Format::kQ3_K, 2048, 2048},
    {"square", Format::kQ2_K, 2048, 2048},
    {"square", Format::kIQ4_NL, 2048, 2048},
    {"square", Format::kIQ4_XS, 2048, 2048},
    {"square", Format::kMXFP4, 2048, 2048},
    {"square", Format::kF16, 2048, 2048, true},
    {"square", Format::kBF16, 2048, 2048, true},
    {"square", Format::kF32, 2048, 2048, true},
    {"square-float-x", Format::kQ8_0, 2048, 2048, true},
    {"square-float-x", Format::kQ4_K, 2048, 2048, true},
    {"square-float-x", Format::kMXFP4, 2048, 2048, true},
};

// The rows of a slice: a chunk of the matrix that takes about a millisecond.
int64_t slice_rows(const Shape& shape, int64_t tokens) {
  const int64_t block_bytes = packed_block_bytes(shape.format, shape.cols);
  const double block_operations = 2.0 * 16 * static_cast<double>(shape.cols * tokens);
  const int64_t blocks = std::min(kSliceBytes / block_bytes,
                                  static_cast<int64_t>(kSliceOperations / block_operations));
  return std::min(shape.rows, 16 * std::max<int64_t>(2, blocks));
}

// Copies of one packed matrix, enough to leave no cache warm.
struct ColdWeights {
  int64_t matrix_bytes, fine_bytes, copies;
  AlignedBytes bytes, fine;

  explicit ColdWeights(const Shape& shape)
      : matrix_bytes((shape.rows + 15) / 16 * packed_block_bytes(shape.format, shape.cols)),
        fine_bytes((shape.rows + 15) / 16 * fine_block_bytes(shape.format, shape.cols)),
        copies(kColdBytes / matrix_bytes + 1),
        bytes(matrix_bytes * copies),
        fine(fine_bytes * copies) {
    std::mt19937 random(1);
    const TestMatrix one(shape.format, 16, shape.cols, random);
    const int64_t block_bytes = packed_block_bytes(shape.format, shape.cols);
    for (int64_t at = 0; at < matrix_bytes * copies; at += block_bytes) {
      std::memcpy(bytes.data() + at, one.packed.data(), static_cast<size_t>(block_bytes));
    }
  }
};

void run_case(benchmark::State& state, Shape shape, int64_t tokens, int threads) {
  shape.rows = slice_rows(shape, tokens);
  base::TaskPool pool(threads);
  const Limits& limits = limits_of(pool);
  const ColdWeights weights(shape);
  const int64_t row_bytes = shape.is_f32 ? shape.cols * 4 : a8_row_bytes(shape.cols);
  std::vector<float> x(static_cast<size_t>(tokens * shape.cols));
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(random);
  AlignedBytes rows(tokens * row_bytes);
  for (int64_t t = 0; t < tokens; ++t) {
    const float* from = x.data() + t * shape.cols;
    if (shape.is_f32) {
      std::memcpy(rows.data() + t * row_bytes, from, static_cast<size_t>(row_bytes));
    } else {
      table().quantize_a8(from, shape.cols, rows.data() + t * row_bytes);
    }
  }
  std::vector<float> out(static_cast<size_t>(tokens * shape.rows));
  const int64_t blocks = (shape.rows + 15) / 16;
  const int64_t block_bytes = packed_block_bytes(shape.format, shape.cols);
  const int64_t fine_bytes = fine_block_bytes(shape.format, shape.cols);
  const int64_t grain = std::clamp<int64_t>(blocks / (8 * threads), 1, 64);
  double best = 1e9;
  int64_t copy = 0;
  for (auto _ : state) {
    const std::byte* w = weights.bytes.data() + copy * weights.matrix_bytes;
    const std::byte* fine = weights.fine.data() + copy * weights.fine_bytes;
    copy = (copy + 1) % weights.copies;
    const double start = seconds();
    pool.run(blocks, grain, [&](int64_t begin, int64_t end, int) {
      const MatmulTile tile = {.format = shape.format,
                               .w = w + begin * block_bytes,
                               .fine = fine + begin * fine_bytes,
                               .row_blocks = end - begin,
                               .rows = std::min(shape.rows, end * 16) - begin * 16,
                               .cols = shape.cols,
                               .x = rows.data(),
                               .x_row_bytes = row_bytes,
                               .tokens = tokens,
                               .out = out.data() + begin * 16,
                               .out_stride = shape.rows};
      (shape.is_f32 ? table().matmul_f32 : table().matmul_a8)(tile);
    });
    best = std::min(best, seconds() - start);
  }
  const double bytes_rate = static_cast<double>(weights.matrix_bytes + weights.fine_bytes) / best;
  const double operation_rate = 2.0 * static_cast<double>(shape.rows * shape.cols * tokens) / best;
  state.counters["GB/s"] = bytes_rate * 1e-9;
  state.counters["%read"] = 100 * bytes_rate / limits.read_bytes_per_second;
  state.counters["GOP/s"] = operation_rate * 1e-9;
  if (!shape.is_f32) state.counters["%int8"] = 100 * operation_rate / limits.operations_per_second;
}

// Packing, as when a model is loaded: bytes of the file per second.
void run_pack(benchmark::State& state, Format format, int threads) {
  base::TaskPool pool(threads);
  constexpr int64_t kCols = 2048;
  const int64_t row_bytes = raw_row_bytes(format, kCols);
  const int64_t blocks = (int64_t{64} << 20) / (16 * row_bytes);
  const int64_t block_bytes = packed_block_bytes(format, kCols);
  const int64_t fine_bytes = fine_block_bytes(format, kCols);
  AlignedBytes file(blocks * 16 * row_bytes), packed(blocks * block_bytes);
  AlignedBytes fine(blocks * fine_bytes);
  double best = 1e9;
  for (auto _ : state) {
    const double start = seconds();
    pool.run(blocks, 8, [&](int64_t begin, int64_t end, int) {
      for (int64_t b = begin; b < end; ++b) {
        const std::byte* rows[kRowsPerBlock];
        for (int64_t r = 0; r < 16; ++r) rows[r] = file.data() + (b * 16 + r) * row_bytes;
        pack_block(format, rows, kCols, packed.data() + b * block_bytes,
                   fine.data() + b * fine_bytes);
      }
    });
    best = std::min(best, seconds() - start);
  }
  state.counters["GB/s"] = static_cast<double>(blocks * 16 * row_bytes) / best * 1e-9;
}

void run_quantize(benchmark::State& state) {
  std::vector<float> x(8192, 1.5F);
  AlignedBytes out(a8_row_bytes(8192));
  for (auto _ : state) table().quantize_a8(x.data(), 8192, out.data());
  state.SetBytesProcessed(state.iterations() * 8192 * 4);
}

void register_cases() {
  for (const Shape& shape : kShapes) {
    for (int threads : {1, 2}) {
      for (int64_t tokens : {1, 2, 4, 8, 64, 512}) {
        const std::string name = std::string(shape.name) + "/" + format_info(shape.format)->name +
                                 "/tokens:" + std::to_string(tokens) +
                                 "/threads:" + std::to_string(threads);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [shape, tokens, threads](benchmark::State& state) {
                                       run_case(state, shape, tokens, threads);
                                     })
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond)
            ->MinTime(0.3);
      }
    }
  }
  for (Format format : kAllFormats) {
    benchmark::RegisterBenchmark((std::string("pack/") + format_info(format)->name).c_str(),
                                 [format](benchmark::State& state) { run_pack(state, format, 2); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("quantize_a8/8192", run_quantize);
}

}  // namespace
}  // namespace pawl::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  pawl::kernels::register_cases();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
