// SPDX-License-Identifier: Apache-2.0
#include "probe/bench.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "probe/cost.h"
#include "probe/passes.h"

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

PassLimits limits_of(const std::vector<BenchCase>& cases) {
  PassLimits limits{.sequences = 1, .positions = 1, .tokens = kChunk};
  for (const BenchCase& shape : cases) {
    limits.positions = std::max(limits.positions, shape.depth + shape.tokens);
    limits.sequences = std::max(limits.sequences, shape.batch);
  }
  limits.tokens = std::max(limits.tokens, limits.sequences);
  return limits;
}

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
std::optional<double> timed(PassRunner& sequences, const BenchCase& shape, const base::Clock& clock,
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
  PAWL_TRY(PassRunner sequences, PassRunner::create(runtime, limits_of(cases), options.seed));
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
