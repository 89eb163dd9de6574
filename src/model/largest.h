// SPDX-License-Identifier: Apache-2.0
// The largest logit of a row without the row. A first product with the upper bits of the output
// matrix says of every logit in which interval it lies (kernels/coarse.h); the highest lower end
// leaves few rows of the matrix whose upper end reaches it, and these are multiplied in full. What
// comes out is the largest logit to the last bit: whatever was left out is smaller for certain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/task_pool.h"
#include "kernels/kernels.h"
#include "model/batch.h"
#include "model/packing.h"

namespace pawl::model {

// Of rows of logits of which only the largest was asked for.
struct LargestCounts {
  int64_t found = 0;       // without the row
  int64_t fell_back = 0;   // the row was computed after all
  int64_t not_tried = 0;   // it was computed at once, as that had come several times in a row
  int64_t exact_rows = 0;  // of those found: rows of the matrix multiplied in full
};

// Buffers of a search, made once. Threads: one find at a time; it works on a pool.
class LargestSearch {
 public:
  // With more rows at once arithmetic binds, and a product with fewer bits is no faster.
  static constexpr int kMostRows = 4;

  explicit LargestSearch(int threads);

  // The matrix has what it takes.
  static bool can_search(const Matrix& matrix) { return matrix.coarse_errors != nullptr; }

  struct Rows {
    const std::byte* x8;  // [rows] quantised hidden states, x8_bytes apart
    int64_t x8_bytes;
    std::span<const std::span<const base::TokenId>> excluded;  // [rows] ids that do not count
    float* logits;  // [rows, vocabulary], written to: afterwards no logits, but bounds
  };
  // False where some row's largest needs too much of the row, or has none that is a number: then
  // all rows are better computed whole. After some such passes in a row, more and more are not
  // tried.
  bool find(const Matrix& matrix, const kernels::Table& table, base::TaskPool& pool,
            const Rows& rows);

  std::span<const Largest> largest() const { return largest_; }  // [rows], after find
  const LargestCounts& counts() const { return counts_; }

 private:
  struct Job;
  // Of one thread and row.
  struct Found {
    float floor;  // the highest lower end seen
    int64_t at;   // whose
    Largest largest;
  };

  void bound(const Job& job);
  void raise_floors(const Job& job);
  void compare_candidates(const Job& job);
  bool gather(const Job& job);

  std::vector<Found> found_;       // [threads][kMostRows]
  float lengths_[kMostRows];       // of the quantised hidden states
  float floors_[kMostRows];        // some logit is at least so large
  int64_t candidates_[kMostRows];  // row-blocks that reach the floor
  std::vector<Largest> largest_;   // [rows]
  int failures_ = 0;               // in a row
  int skipped_ = 0;                // passes since the last of them
  LargestCounts counts_;
};

}  // namespace pawl::model
