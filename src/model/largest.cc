// SPDX-License-Identifier: Apache-2.0
#include "model/largest.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "kernels/coarse.h"
#include "model/forward.h"

namespace pawl::model {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr int64_t kRows = kernels::kRowsPerBlock;
constexpr std::integral_constant<int, kRows> kAllRows;
// More than one in so many row-blocks to be multiplied in full, and the whole row is; but a few
// always may.
constexpr int64_t kMostCandidates = 4;
constexpr int64_t kAlwaysAllowed = 16;
// A row that is computed in vain costs half a row. After n failures 2^n - 2 passes are not tried,
// of this many n at most.
constexpr int kMostFailures = 6;
// Candidates are looked for in so many row-blocks at a time.
constexpr int64_t kSearched = 64;
// Looking for more excluded ids in every piece would cost more than it saves.
constexpr size_t kMostExcluded = 64;

bool contains(std::span<const base::TokenId> ids, int64_t id) {
  return std::ranges::find(ids, static_cast<base::TokenId>(id)) != ids.end();
}

float from_upper_half(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Coarse logits become upper ends; gives the highest lower end among `n`.
template <typename Count>
float to_upper_ends(float* logits, const uint16_t* errors, float length, Count n) {
  float floors[kRows];
  for (int i = 0; i < n; ++i) {
    const float error = from_upper_half(errors[i]) * length;
    floors[i] = logits[i] - error;
    logits[i] += error;
  }
  float highest = kNothing;
  for (int i = 0; i < n; ++i) highest = floors[i] > highest ? floors[i] : highest;
  return highest;
}

// True where one of `n` upper ends is at least `floor`, or no number.
template <typename Count>
bool any_reaches(const float* upper, float floor, Count n) {
  int reaching = 0;
  for (int i = 0; i < n; ++i) reaching |= !(upper[i] < floor);
  return reaching != 0;
}

// Of equals the lowest id, whatever the order in which they come.
bool is_larger(const Largest& a, const Largest& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

}  // namespace

struct LargestSearch::Job {
  const Matrix& m;
  const kernels::Table& table;
  base::TaskPool& pool;
  const Rows& rows;

  int64_t count() const { return static_cast<int64_t>(rows.excluded.size()); }
  int64_t most_candidates() const {
    return std::max(kAlwaysAllowed, m.row_blocks() / kMostCandidates);
  }
  // Rows of a matrix's block that are there.
  int64_t rows_of(int64_t block) const { return std::min(kRows, m.rows - block * kRows); }

  // Of one row-block, in full; what is no number is never the largest.
  Largest largest_of_block(int64_t row, int64_t block) const {
    float logits[kRows];
    table.matmul_a8({.format = m.format,
                     .w = m.packed + block * m.block_bytes,
                     .fine = m.fine + block * m.fine_bytes,
                     .row_blocks = 1,
                     .rows = rows_of(block),
                     .cols = m.cols,
                     .x = rows.x8 + row * rows.x8_bytes,
                     .x_row_bytes = rows.x8_bytes,
                     .tokens = 1,
                     .out = logits,
                     .out_stride = kRows});
    Largest largest{0, kNothing};
    for (int64_t i = 0; i < rows_of(block); ++i) {
      const auto id = static_cast<base::TokenId>(block * kRows + i);
      const bool is_excluded = contains(rows.excluded[static_cast<size_t>(row)], id);
      if (logits[i] > largest.logit && !is_excluded) largest = {id, logits[i]};
    }
    return largest;
  }
};

LargestSearch::LargestSearch(int threads)
    : found_(static_cast<size_t>(threads) * static_cast<size_t>(kMostRows)) {
  largest_.reserve(static_cast<size_t>(kMostRows));
}

bool LargestSearch::find(const Matrix& matrix, const kernels::Table& table, base::TaskPool& pool,
                         const Rows& rows) {
  const Job job{matrix, table, pool, rows};
  PAWL_CHECK(can_search(matrix) && job.count() <= kMostRows);
  if (skipped_ < (1 << failures_) - 2) {
    ++skipped_;
    counts_.not_tried += job.count();
    return false;
  }
  bool can_be_bound = true;
  for (int64_t row = 0; row < job.count(); ++row) {
    const float length = kernels::a8_length(rows.x8 + row * rows.x8_bytes, matrix.cols);
    lengths_[static_cast<size_t>(row)] = length;
    can_be_bound = can_be_bound && std::isfinite(length) &&
                   rows.excluded[static_cast<size_t>(row)].size() <= kMostExcluded;
  }
  if (!can_be_bound) {
    counts_.fell_back += job.count();
    return false;
  }
  std::ranges::fill(found_, Found{kNothing, -1, {0, kNothing}});
  std::ranges::fill(candidates_, 0);
  bound(job);
  raise_floors(job);
  compare_candidates(job);
  const bool is_found = gather(job);
  (is_found ? counts_.found : counts_.fell_back) += job.count();
  failures_ = is_found ? 0 : std::min(failures_ + 1, kMostFailures);
  skipped_ = 0;
  return is_found;
}

// Logits become upper ends; found_ gets the highest lower ends.
void LargestSearch::bound(const Job& job) {
  const Matrix& m = job.m;
  const auto bound_some = [&](int64_t begin, int64_t end, int worker) {
    const int64_t first = begin * kRows, count = std::min(end * kRows, m.rows) - first;
    job.table.matmul_a8({.format = kernels::Format::kQ8_0Coarse,
                         .w = m.packed + begin * m.block_bytes,
                         .row_blocks = end - begin,
                         .rows = count,
                         .cols = m.cols,
                         .x = job.rows.x8,
                         .x_row_bytes = job.rows.x8_bytes,
                         .tokens = job.count(),
                         .out = job.rows.logits + first,
                         .out_stride = m.rows});
    for (int64_t row = 0; row < job.count(); ++row) {
      Found& found = found_[static_cast<size_t>(worker * kMostRows + row)];
      const float length = lengths_[static_cast<size_t>(row)];
      float* logits = job.rows.logits + row * m.rows + first;
      for (const base::TokenId id : job.rows.excluded[static_cast<size_t>(row)]) {
        if (id >= first && id < first + count) logits[id - first] = kNothing;
      }
      for (int64_t i = 0; i < count; i += kRows) {
        const uint16_t* errors = m.coarse_errors + first + i;
        const float floor = count - i >= kRows ? to_upper_ends(logits + i, errors, length, kAllRows)
                                               : to_upper_ends(logits + i, errors, length,
                                                               static_cast<int>(count - i));
        if (floor > found.floor) found = {floor, first + i, found.largest};
      }
    }
  };
  const int64_t piece = piece_blocks(m, job.pool.threads());
  job.pool.run((m.row_blocks() + piece - 1) / piece, 1,
               [&](int64_t begin, int64_t end, int worker) {
                 for (int64_t i = begin; i < end; ++i) {
                   bound_some(i * piece, std::min((i + 1) * piece, m.row_blocks()), worker);
                 }
               });
}

// In full, the most promising logit of a row raises its floor by about its error.
void LargestSearch::raise_floors(const Job& job) {
  job.pool.run(job.count(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      Found best{kNothing, -1, {0, kNothing}};
      for (size_t i = static_cast<size_t>(row); i < found_.size();
           i += static_cast<size_t>(kMostRows)) {
        if (found_[i].floor > best.floor) best = found_[i];
      }
      const float exact = best.at < 0 ? kNothing : job.largest_of_block(row, best.at / kRows).logit;
      floors_[static_cast<size_t>(row)] = std::max(best.floor, exact);
    }
  });
}

// The largest of all whose upper end reaches the floor, as long as they are not too many.
void LargestSearch::compare_candidates(const Job& job) {
  const Matrix& m = job.m;
  const int64_t blocks = m.row_blocks(), most = job.most_candidates();
  const auto compare = [&](int64_t row, int64_t block, int worker) {
    const int64_t there = job.rows_of(block);
    const float floor = floors_[static_cast<size_t>(row)];
    const float* upper = job.rows.logits + row * m.rows + block * kRows;
    const bool reaches = there == kRows ? any_reaches(upper, floor, kAllRows)
                                        : any_reaches(upper, floor, static_cast<int>(there));
    if (!reaches) return;
    std::atomic_ref<int64_t> candidates(candidates_[static_cast<size_t>(row)]);
    if (candidates.fetch_add(1, std::memory_order_relaxed) >= most) return;
    Found& found = found_[static_cast<size_t>(worker * kMostRows + row)];
    const Largest one = job.largest_of_block(row, block);
    if (is_larger(one, found.largest)) found.largest = one;
  };
  job.pool.run(job.count() * blocks, kSearched, [&](int64_t begin, int64_t end, int worker) {
    int64_t row = begin / blocks, block = begin % blocks;
    for (int64_t i = begin; i < end; ++i) {
      compare(row, block, worker);
      if (++block == blocks) block = 0, ++row;
    }
  });
}

bool LargestSearch::gather(const Job& job) {
  largest_.clear();
  int64_t exact_rows = 0;
  for (int64_t row = 0; row < job.count(); ++row) {
    Largest largest{0, kNothing};
    for (size_t i = static_cast<size_t>(row); i < found_.size();
         i += static_cast<size_t>(kMostRows)) {
      if (is_larger(found_[i].largest, largest)) largest = found_[i].largest;
    }
    const int64_t candidates = candidates_[static_cast<size_t>(row)];
    if (candidates > job.most_candidates() || largest.logit == kNothing) return false;
    exact_rows += candidates * kRows;
    largest_.push_back(largest);
  }
  counts_.exact_rows += exact_rows;
  return true;
}

}  // namespace pawl::model
