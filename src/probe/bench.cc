// SPDX-License-Identifier: Apache-2.0
#include "probe/bench.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/rng.h"
#include "kv/block_pool.h"
#include "kv/layout.h"
#include "model/forward.h"
#include "probe/cost.h"

namespace pawl::probe {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int64_t kChunk = 512;  // positions of a prefill pass, as the engine cuts them
constexpr int64_t kWarmUpSteps = 4;

std::vector<BenchCase> cases_of(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  for (const int64_t depth : options.depths) {
    for (const int64_t prompt : options.prompts) {
      if (prompt > 0) cases.push_back({BenchCase::Kind::kPrefill, prompt, 1, depth});
    }
  }
  for (const int64_t depth : options.depths) {
    for (const int64_t batch : options.batches) {
      if (options.steps == 0) continue;
      cases.push_back({BenchCase::Kind::kDecode, options.steps, batch, depth});
    }
  }
  return cases;
}

// The passes that a case is made of.
template <typename F>
void for_each_pass(const BenchCase& shape, F&& pass) {
  const int64_t chunk = shape.kind == BenchCase::Kind::kPrefill ? kChunk : 1;
  for (int64_t done = 0; done < shape.tokens; done += chunk) {
    const int64_t tokens = std::min(chunk, shape.tokens - done);
    const bool has_rows = shape.kind == BenchCase::Kind::kDecode || done + tokens == shape.tokens;
    pass(Pass{.sequences = shape.batch,
              .tokens = tokens,
              .first_position = shape.depth + done,
              .rows = has_rows ? shape.batch : 0});
  }
}

// Sequences with their blocks. What stands at a position of a sequence is always the same id, so
// keys and values that one case leaves behind are those that the next would compute.
class Sequences {
 public:
  static Result<Sequences> create(engine::Runtime& runtime, const std::vector<BenchCase>& cases,
                                  uint64_t seed) {
    int64_t positions = 1, batch = 1;
    for (const BenchCase& shape : cases) {
      positions = std::max(positions, shape.depth + shape.tokens);
      batch = std::max(batch, shape.batch);
    }
    const int64_t context = runtime.model()->config().context_length;
    if (positions > context) {
      return Error{ErrorCode::kInvalidArgument,
                   "depth and tokens make " + std::to_string(positions) +
                       " positions, the model's context holds " + std::to_string(context),
                   ""};
    }
    const int64_t each = (positions + kv::kBlockPositions - 1) / kv::kBlockPositions;
    if (each * batch > INT32_MAX) {
      return Error{ErrorCode::kInvalidArgument,
                   std::to_string(batch) + " sequences of " + std::to_string(positions) +
                       " positions are more than can be held",
                   ""};
    }
    const bool is_exact = runtime.precision() == model::Precision::kReference;
    PAWL_TRY(kv::BlockPool pool,
             kv::BlockPool::create(static_cast<int32_t>(each * batch),
                                   runtime.model()->kv_layout(is_exact).block_bytes()));
    auto blocks = std::make_unique<kv::BlockPool>(std::move(pool));
    const model::Limits limits{.max_tokens = static_cast<int>(std::max(kChunk, batch)),
                               .max_rows = static_cast<int>(batch),
                               .max_positions = positions};
    PAWL_TRY(model::Forward forward,
             model::Forward::create(runtime.model(), runtime.kernels(), runtime.pool(), *blocks,
                                    runtime.precision(), limits));
    return Sequences(std::move(blocks), std::move(forward), batch, positions, seed,
                     runtime.model()->config().vocabulary);
  }

  void run(const Pass& pass) { run_from(0, pass); }

  // Computes the first `depth` positions of the first `batch` sequences where they are missing.
  // False when stopped.
  bool fill(int64_t batch, int64_t depth, const std::stop_token& stop) {
    for (int64_t s = 0; s < batch; ++s) {
      int64_t& filled = filled_[static_cast<size_t>(s)];
      while (filled < depth) {
        if (stop.stop_requested()) return false;
        const int64_t tokens = std::min(kChunk, depth - filled);
        run_from(s, {.sequences = 1, .tokens = tokens, .first_position = filled, .rows = 0});
        filled += tokens;
      }
    }
    return true;
  }

 private:
  Sequences(std::unique_ptr<kv::BlockPool> blocks, model::Forward forward, int64_t batch,
            int64_t positions, uint64_t seed, int64_t vocabulary)
      : blocks_(std::move(blocks)),
        forward_(std::move(forward)),
        positions_(positions),
        tables_(static_cast<size_t>(batch)),
        filled_(static_cast<size_t>(batch), 0) {
    for (kv::BlockTable& table : tables_) {
      for (int64_t p = 0; p < positions; p += kv::kBlockPositions) {
        table.push_back(*blocks_->take());
      }
    }
    for (int64_t s = 0; s < batch; ++s) {
      for (int64_t p = 0; p < positions; ++p) {
        const double u = base::uniform(seed, static_cast<uint64_t>(p), static_cast<uint64_t>(s));
        ids_.push_back(static_cast<base::TokenId>(u * static_cast<double>(vocabulary)));
      }
    }
  }

  // The pass on sequences from `first` on.
  void run_from(int64_t first, const Pass& pass) {
    segments_.clear();
    for (int64_t s = first; s < first + pass.sequences; ++s) {
      const std::span<const base::TokenId> ids(ids_.data() + s * positions_ + pass.first_position,
                                               static_cast<size_t>(pass.tokens));
      segments_.push_back(
          {pass.first_position, ids, pass.rows > 0 ? 1 : 0, &tables_[static_cast<size_t>(s)]});
    }
    forward_.run({segments_});
  }

  std::unique_ptr<kv::BlockPool> blocks_;
  model::Forward forward_;
  int64_t positions_;
  std::vector<base::TokenId> ids_;  // [batch, positions]
  std::vector<kv::BlockTable> tables_;
  std::vector<int64_t> filled_;  // positions of each sequence whose keys and values exist
  std::vector<model::Segment> segments_;
};

BenchRow counted(const engine::Runtime& runtime, const BenchCase& shape) {
  const int element_bytes = runtime.precision() == model::Precision::kReference ? 4 : 2;
  const WeightBytes weights = weight_bytes(*runtime.model());
  Cost cost;
  for_each_pass(shape, [&](const Pass& pass) {
    cost += pass_cost(runtime.model()->config(), weights, element_bytes, pass);
  });
  const auto tokens = static_cast<double>(shape.tokens * shape.batch);
  BenchRow row;
  row.shape = shape;
  row.bytes_per_token = static_cast<double>(cost.bytes) / tokens;
  row.operations_per_token = static_cast<double>(cost.operations) / tokens;
  return row;
}

// Tokens per second, or nothing when stopped.
std::optional<double> timed(Sequences& sequences, const BenchCase& shape, const base::Clock& clock,
                            const std::stop_token& stop) {
  const int64_t start_ns = clock.now_ns();
  for_each_pass(shape, [&](const Pass& pass) {
    if (!stop.stop_requested()) sequences.run(pass);
  });
  const int64_t ns = std::max<int64_t>(clock.now_ns() - start_ns, 1);
  if (stop.stop_requested()) return std::nullopt;
  return static_cast<double>(shape.tokens * shape.batch) * 1e9 / static_cast<double>(ns);
}

}  // namespace

std::string_view case_name(BenchCase::Kind kind) {
  return kind == BenchCase::Kind::kPrefill ? "prefill" : "decode";
}

Spread spread_of(std::vector<double> values) {
  PAWL_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

Achieved achieved(const BenchRow& row, const MachineLimits& limits) {
  Achieved result;
  result.bytes_per_s = row.bytes_per_token * row.tokens_per_s.median;
  result.operations_per_s = row.operations_per_token * row.tokens_per_s.median;
  const double reading = result.bytes_per_s / limits.read_bytes_per_s;
  const double arithmetic = result.operations_per_s / limits.int8_operations_per_s;
  result.is_bound_by_reading = reading >= arithmetic;
  result.of_limit = std::max(reading, arithmetic);
  return result;
}

Result<BenchReport> bench(engine::Runtime& runtime, const BenchOptions& options,
                          const base::Clock& clock, const std::stop_token& stop,
                          const std::function<void(const BenchProgress&)>& progress) {
  const std::vector<BenchCase> cases = cases_of(options);
  PAWL_TRY(Sequences sequences, Sequences::create(runtime, cases, options.seed));
  PAWL_TRY(LimitMeter meter, LimitMeter::create(runtime.pool(), runtime.kernels(), clock));
  const Error cancelled{ErrorCode::kCancelled, "interrupted", ""};
  std::vector<double> read_rates, int8_rates;
  std::vector<std::vector<double>> rates(cases.size());
  for (int round = 0; round <= options.repetitions; ++round) {
    const MachineLimits limits = meter.measure();
    read_rates.push_back(limits.read_bytes_per_s);
    int8_rates.push_back(limits.int8_operations_per_s);
    for (size_t i = 0; i < cases.size(); ++i) {
      BenchCase shape = cases[i];
      progress({round, &cases[i]});
      if (!sequences.fill(shape.batch, shape.depth, stop)) return cancelled;
      if (round == 0 && shape.kind == BenchCase::Kind::kDecode) {
        shape.tokens = std::min(shape.tokens, kWarmUpSteps);
      }
      const auto rate = timed(sequences, shape, clock, stop);
      if (!rate) return cancelled;
      if (round > 0) rates[i].push_back(*rate);
    }
  }
  BenchReport report;
  report.limits = {spread_of(std::move(read_rates)).median,
                   spread_of(std::move(int8_rates)).median};
  for (size_t i = 0; i < cases.size(); ++i) {
    report.rows.push_back(counted(runtime, cases[i]));
    report.rows.back().tokens_per_s = spread_of(std::move(rates[i]));
  }
  return report;
}

}  // namespace pawl::probe
