// SPDX-License-Identifier: Apache-2.0
#include "probe/bench.h"

#include <algorithm>
#include <utility>

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
      const auto kind = options.greedy ? BenchCase::Kind::kGreedy : BenchCase::Kind::kDecode;
      cases.push_back({kind, options.steps, batch, depth});
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
    const bool has_rows = shape.kind != BenchCase::Kind::kPrefill || done + tokens == shape.tokens;
    pass(Pass{.sequences = shape.batch,
              .tokens = tokens,
              .first_position = shape.depth + done,
              .rows = has_rows ? shape.batch : 0,
              .is_greedy = shape.kind == BenchCase::Kind::kGreedy});
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

// What passes of a model cost.
class PassCosts {
 public:
  explicit PassCosts(const engine::Runtime& runtime)
      : config_(runtime.model()->config()),
        weights_(weight_bytes(*runtime.model())),
        kv_type_(runtime.kv_type()) {}

  Cost of(const Pass& pass) const { return pass_cost(config_, weights_, kv_type_, pass); }
  Cost saved_by(const Pass& pass, const GreedyWork& work) const {
    return saved(config_, weights_, pass, work);
  }

 private:
  const model::ModelConfig& config_;
  WeightBytes weights_;
  kernels::KvType kv_type_;
};

// What a stretch is measured with, and where its limits are collected.
class Stopwatch {
 public:
  Stopwatch(LimitMeter& meter, const base::Clock& clock)
      : meter_(meter), clock_(clock), before_(meter.measure()) {
    keep(before_);
  }

  // Runs what gives its cost, and adds it to the stretch at hand.
  template <typename F>
  void run(F&& work) {
    const int64_t start_ns = clock_.now_ns();
    const Cost cost = work();
    at_hand_.ns += std::max<int64_t>(clock_.now_ns() - start_ns, 1);
    at_hand_.bytes += static_cast<double>(cost.bytes);
    at_hand_.operations += static_cast<double>(cost.operations);
    if (at_hand_.ns >= kStretchNs) close();
  }

  // Ends the stretch at hand and gives all since the last call.
  std::vector<Stretch> take() {
    if (at_hand_.ns > 0) close();
    return std::exchange(stretches_, {});
  }

  MachineLimits median() const {
    return {spread_of(read_rates_).median, spread_of(int8_rates_).median};
  }

 private:
  static constexpr int64_t kStretchNs = 150'000'000;

  void keep(const MachineLimits& limits) {
    read_rates_.push_back(limits.read_bytes_per_s);
    int8_rates_.push_back(limits.int8_operations_per_s);
  }

  void close() {
    const MachineLimits after = meter_.measure();
    keep(after);
    at_hand_.limits = {(before_.read_bytes_per_s + after.read_bytes_per_s) / 2,
                       (before_.int8_operations_per_s + after.int8_operations_per_s) / 2};
    stretches_.push_back(std::exchange(at_hand_, {}));
    before_ = after;
  }

  LimitMeter& meter_;
  const base::Clock& clock_;
  MachineLimits before_;
  Stretch at_hand_;
  std::vector<Stretch> stretches_;
  std::vector<double> read_rates_, int8_rates_;
};

// Over the time of the stretches.
MachineLimits mean_limits(std::span<const Stretch> stretches) {
  MachineLimits mean;
  double ns = 0;
  for (const Stretch& stretch : stretches) ns += static_cast<double>(stretch.ns);
  for (const Stretch& stretch : stretches) {
    const double share = static_cast<double>(stretch.ns) / ns;
    mean.read_bytes_per_s += stretch.limits.read_bytes_per_s * share;
    mean.int8_operations_per_s += stretch.limits.int8_operations_per_s * share;
  }
  return mean;
}

// What all repetitions of a case came to.
struct Measured {
  std::vector<double> rates, shares;  // of each repetition
  std::vector<Stretch> stretches;
  int64_t with_rows = 0, exact_rows = 0;

  void add(const BenchCase& shape, std::span<const Stretch> more) {
    int64_t ns = 0;
    for (const Stretch& stretch : more) ns += stretch.ns;
    rates.push_back(static_cast<double>(shape.tokens * shape.batch) * 1e9 /
                    static_cast<double>(ns));
    shares.push_back(reached(more).of_limit);
    stretches.insert(stretches.end(), more.begin(), more.end());
  }

  BenchRow row(const BenchCase& shape, int repetitions) const {
    BenchRow row;
    row.shape = shape;
    row.tokens_per_s = spread_of(rates);
    row.of_limit = spread_of(shares);
    const auto tokens = static_cast<double>(shape.tokens * shape.batch * repetitions);
    double bytes = 0, operations = 0;
    for (const Stretch& stretch : stretches) {
      bytes += stretch.bytes;
      operations += stretch.operations;
    }
    row.bytes_per_token = bytes / tokens;
    row.operations_per_token = operations / tokens;
    row.is_bound_by_reading = reached(stretches).is_bound_by_reading;
    row.limits = mean_limits(stretches);
    row.whole_rows = static_cast<double>(with_rows * shape.batch) / tokens;
    row.exact_rows = static_cast<double>(exact_rows) / tokens;
    return row;
  }
};

// Gives what it cost; a greedy pass is counted in `row`, unless that is null.
Cost run_pass(const Pass& pass, const PassCosts& costs, PassRunner& sequences, Measured* row) {
  Cost cost = costs.of(pass);
  if (!pass.is_greedy) {
    sequences.run(pass);
    return cost;
  }
  const GreedyWork work = sequences.run_greedy(pass);
  cost -= costs.saved_by(pass, work);
  if (row != nullptr) {
    row->with_rows += work.has_rows ? 1 : 0;
    row->exact_rows += work.exact_rows;
  }
  return cost;
}

}  // namespace

std::string_view case_name(BenchCase::Kind kind) {
  switch (kind) {
    case BenchCase::Kind::kPrefill:
      return "prefill";
    case BenchCase::Kind::kDecode:
      return "decode";
    case BenchCase::Kind::kGreedy:
      return "greedy";
  }
  return "";
}

Spread spread_of(std::vector<double> values) {
  PAWL_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

Reached reached(std::span<const Stretch> stretches) {
  double bytes = 0, operations = 0, s = 0;
  for (const Stretch& stretch : stretches) {
    bytes += stretch.bytes;
    operations += stretch.operations;
    s += static_cast<double>(stretch.ns) * 1e-9;
  }
  const MachineLimits limits = mean_limits(stretches);
  const double reading = bytes / s / limits.read_bytes_per_s;
  const double arithmetic = operations / s / limits.int8_operations_per_s;
  return {reading >= arithmetic, std::max(reading, arithmetic)};
}

Result<BenchReport> bench(engine::Runtime& runtime, const BenchOptions& options,
                          const base::Clock& clock, const std::stop_token& stop,
                          const std::function<void(const BenchProgress&)>& progress) {
  const std::vector<BenchCase> cases = cases_of(options);
  PAWL_TRY(PassRunner sequences, PassRunner::create(runtime, limits_of(cases), options.seed));
  PAWL_TRY(LimitMeter meter, LimitMeter::create(runtime.pool(), runtime.kernels(), clock));
  const PassCosts costs(runtime);
  Stopwatch watch(meter, clock);
  const Error cancelled{ErrorCode::kCancelled, "interrupted", ""};
  std::vector<Measured> measured(cases.size());
  for (int round = 0; round <= options.repetitions; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) {
      BenchCase shape = cases[i];
      progress({round, &cases[i]});
      if (!sequences.fill(shape.batch, shape.depth, stop)) return cancelled;
      if (round == 0 && shape.kind == BenchCase::Kind::kDecode) {
        shape.tokens = std::min(shape.tokens, kWarmUpSteps);
      }
      Measured& row = measured[i];
      for_each_pass(shape, [&](const Pass& pass) {
        if (stop.stop_requested()) return;
        watch.run([&] { return run_pass(pass, costs, sequences, round > 0 ? &row : nullptr); });
      });
      if (stop.stop_requested()) return cancelled;
      const std::vector<Stretch> stretches = watch.take();
      if (round > 0) row.add(shape, stretches);
    }
  }
  BenchReport report;
  report.limits = watch.median();
  report.best_read_bytes_per_s = meter.best_read();
  for (size_t i = 0; i < cases.size(); ++i) {
    report.rows.push_back(measured[i].row(cases[i], options.repetitions));
  }
  return report;
}

}  // namespace pawl::probe
