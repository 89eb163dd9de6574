// SPDX-License-Identifier: Apache-2.0
#include "probe/machine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace pawl::probe {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kPieceBytes = 256 << 10;  // taken by a thread at a time
constexpr int64_t kLeastBytes = int64_t{128} << 20;
constexpr int64_t kMostBytes = int64_t{1} << 30;

// Four times the last-level caches, so that no pass finds much of the one before. Where cores have
// several, each thread may read beside one of its own.
int64_t buffer_bytes(int threads) {
  int64_t bytes = 4 * int64_t{sysconf(_SC_LEVEL3_CACHE_SIZE)} * std::min(threads, 8);
  bytes = std::clamp(bytes, kLeastBytes, kMostBytes);
  return bytes / kPieceBytes * kPieceBytes;
}

// 16 bytes, which every processor here loads at once.
using Sixteen [[gnu::vector_size(16)]] = uint64_t;

// The fastest way to read that we know: processors follow an ascending stream by themselves, up to
// the end of a page, so the first lines of the page after the next are asked for.
// REQUIRES: bytes begins a page, count is a multiple of one
uint64_t read_lines(const std::byte* bytes, int64_t count) {
  constexpr int64_t kPageBytes = 4096;
  constexpr int64_t kAhead = 2 * kPageBytes;
  Sixteen sums[kLineBytes / sizeof(Sixteen)] = {};
  for (int64_t i = 0; i < count; i += kLineBytes) {
    if (i % kPageBytes == 0) {
      for (int64_t line = 0; line < 4; ++line) {
        __builtin_prefetch(bytes + i + kAhead + line * kLineBytes, 0, 2);
      }
    }
    const auto* line = reinterpret_cast<const Sixteen*>(bytes + i);
    sums[0] ^= line[0];
    sums[1] ^= line[1];
    sums[2] ^= line[2];
    sums[3] ^= line[3];
  }
  const Sixteen all = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  return all[0] ^ all[1];
}

double rate(int64_t amount, int64_t ns) {
  return ns > 0 ? static_cast<double>(amount) * 1e9 / static_cast<double>(ns) : 0;
}

}  // namespace

std::optional<std::string> cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return std::nullopt;
}

base::Result<LimitMeter> LimitMeter::create(base::TaskPool& pool, const kernels::Table& table,
                                            const base::Clock& clock) {
  const int64_t bytes = buffer_bytes(pool.threads());
  PAWL_TRY(base::Arena buffer, base::Arena::create(bytes));
  // Pages that were never written are all the same page of zeros, and stay in the cache.
  pool.run(bytes / kPieceBytes, 1, [&](int64_t begin, int64_t end, int) {
    std::memset(buffer.data() + begin * kPieceBytes, 0x5a,
                static_cast<size_t>((end - begin) * kPieceBytes));
  });
  return LimitMeter(pool, table, clock, std::move(buffer), bytes);
}

MachineLimits LimitMeter::measure() {
  constexpr int kTurns = 3;
  MachineLimits mean;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double read = read_once();
    mean.read_bytes_per_s += read / kTurns;
    mean.int8_operations_per_s += compute_once() / kTurns;
    best_read_ = std::max(best_read_, read);
  }
  return mean;
}

base::Result<MachineLimits> measure_machine(int threads, const base::Clock& clock) {
  const char* forced = std::getenv("PAWL_ISA");
  PAWL_TRY(const kernels::Table* table, kernels::choose_table(forced != nullptr ? forced : ""));
  base::TaskPool pool(threads > 0 ? threads : base::TaskPool::available_cpus());
  PAWL_TRY(LimitMeter meter, LimitMeter::create(pool, *table, clock));
  return meter.measure();
}

double LimitMeter::read_once() {
  std::atomic<uint64_t> all{0};
  const int64_t start_ns = clock_.now_ns();
  pool_.run(bytes_ / kPieceBytes, 1, [&](int64_t begin, int64_t end, int) {
    all ^= read_lines(buffer_.data() + begin * kPieceBytes, (end - begin) * kPieceBytes);
  });
  return rate(bytes_, clock_.now_ns() - start_ns);
}

double LimitMeter::compute_once() {
  constexpr int64_t kRepeats = 10000;       // about 0.1 ms
  constexpr int64_t kPiecesPerThread = 50;  // about as long as reading the buffer
  std::atomic<int64_t> operations{0};
  const int64_t start_ns = clock_.now_ns();
  pool_.run(kPiecesPerThread * pool_.threads(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) operations += table_.dot_peak(kRepeats);
  });
  return rate(operations, clock_.now_ns() - start_ns);
}

}  // namespace pawl::probe
