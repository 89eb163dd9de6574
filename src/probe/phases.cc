// SPDX-License-Identifier: Apache-2.0
#include "probe/phases.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/check.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "probe/bench.h"
#include "probe/passes.h"

namespace pawl::probe {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Positions of a pass, as the engine cuts prompts.
const int64_t kStepTokens = engine::EngineLimits{}.tokens_per_step;
// A short pass is measured several times.
constexpr int64_t kTokensEnough = 128;
constexpr int64_t kMostRepeats = 4;

// The passes of a prompt that is computed from nothing.
template <typename F>
void for_each_pass(int64_t tokens, F&& pass) {
  for (int64_t done = 0; done < tokens; done += kStepTokens) {
    const int64_t now = std::min(kStepTokens, tokens - done);
    pass(Pass{.tokens = now, .first_position = done, .rows = done + now == tokens ? 1 : 0});
  }
}

int64_t repeats_of(int64_t tokens) {
  return std::clamp<int64_t>(kTokensEnough / tokens, 1, kMostRepeats);
}

class Meter {
 public:
  Meter(const engine::Runtime& runtime, int threads, const PhasesOptions& options,
        PassRunner& runner, const base::Clock& clock, const std::stop_token& stop)
      : config_(runtime.model()->config()),
        weights_(weight_bytes(*runtime.model())),
        threads_(threads),
        kv_type_(runtime.kv_type()),
        options_(options),
        runner_(runner),
        clock_(clock),
        stop_(stop) {}

  PhasesLength counted(int64_t prompt) const {
    PhasesLength length;
    length.prompt = prompt;
    length.pass_tokens = std::min(prompt, kStepTokens) / 2 * 2;
    for_each_pass(prompt, [&](const Pass& pass) { length.prefill += cost(pass); });
    for_each_pass(prompt + 1, [&](const Pass& pass) { length.uncached += cost(pass); });
    for (int64_t i = 0; i < options_.steps; ++i) {
      length.decode += cost({.first_position = prompt + i});
    }
    length.decode.bytes /= options_.steps;
    length.decode.operations /= options_.steps;
    return length;
  }

  // Everything but the limits. Stops early when asked to; what it gives then means nothing.
  PhasesRound measured(const PhasesLength& length, uint64_t round) {
    PhasesRound result;
    const int64_t prompt = length.prompt;
    const int64_t tokens = length.pass_tokens;
    if (!runner_.fill(2, prompt + options_.steps, stop_)) return result;
    std::array<int, 6> order = {0, 1, 2, 3, 4, 5};
    for (size_t i = order.size() - 1; i > 0; --i) {
      const double u = base::uniform(options_.seed, round, static_cast<uint64_t>(prompt) * 8 + i);
      std::swap(order[i], order[static_cast<size_t>(u * static_cast<double>(i + 1))]);
    }
    const int64_t start_ns = clock_.now_ns();
    const std::clock_t start_cpu = std::clock();
    for (const int arm : order) {
      if (arm == 0) result.prefill_s = prompt_seconds(prompt);
      if (arm == 1) result.uncached_s = prompt_seconds(prompt + 1);
      if (arm == 2) result.pass_s = pass_seconds(prompt, tokens);
      if (arm == 3) result.half_pass_s = pass_seconds(prompt, tokens / 2);
      if (arm == 4) result.decode_s = step_seconds(prompt, 1);
      if (arm == 5) result.double_decode_s = step_seconds(prompt, 2);
    }
    const double cpu_s = static_cast<double>(std::clock() - start_cpu) / CLOCKS_PER_SEC;
    const double wall_s = static_cast<double>(clock_.now_ns() - start_ns) * 1e-9;
    if (wall_s > 0) result.cores = std::min(1.0, cpu_s / (threads_ * wall_s));
    return result;
  }

  // Tokens that measured() computes.
  int64_t work(const PhasesLength& length) const {
    return (2 * length.prompt + 1) * repeats_of(length.prompt) +
           length.pass_tokens * 2 * repeats_of(length.pass_tokens) + 20 * options_.steps;
  }

 private:
  Cost cost(const Pass& pass) const { return pass_cost(config_, weights_, kv_type_, pass); }

  template <typename F>
  double seconds(int64_t repeats, F&& work) {
    std::vector<double> times;
    for (int64_t i = 0; i < repeats && !stop_.stop_requested(); ++i) {
      const int64_t start_ns = clock_.now_ns();
      work(i);
      times.push_back(static_cast<double>(std::max<int64_t>(clock_.now_ns() - start_ns, 1)) * 1e-9);
    }
    return times.empty() ? 0 : spread_of(std::move(times)).median;
  }

  double prompt_seconds(int64_t tokens) {
    return seconds(repeats_of(tokens), [&](int64_t) {
      for_each_pass(tokens, [&](const Pass& pass) {
        if (!stop_.stop_requested()) runner_.run(pass);
      });
    });
  }

  // The last `tokens` of the prompt.
  double pass_seconds(int64_t prompt, int64_t tokens) {
    return seconds(repeats_of(tokens), [&](int64_t) {
      runner_.run({.tokens = tokens, .first_position = prompt - tokens});
    });
  }

  double step_seconds(int64_t prompt, int64_t sequences) {
    return seconds(options_.steps, [&](int64_t i) {
      runner_.run({.sequences = sequences, .first_position = prompt + i, .rows = sequences});
    });
  }

  const model::ModelConfig& config_;
  WeightBytes weights_;
  int threads_;
  kernels::KvType kv_type_;
  const PhasesOptions& options_;
  PassRunner& runner_;
  const base::Clock& clock_;
  const std::stop_token& stop_;
};

bool is_float(kernels::Format format) {
  return format == kernels::Format::kF32 || format == kernels::Format::kF16 ||
         format == kernels::Format::kBF16;
}

}  // namespace

Result<PhasesSamples> measure_phases(engine::Runtime& runtime, const PhasesOptions& options,
                                     const base::Clock& clock, const std::stop_token& stop,
                                     const std::function<void(const PhasesProgress&)>& progress) {
  PAWL_CHECK(!options.prompts.empty() && options.steps >= 1 && options.rounds >= 1);
  const int64_t longest = options.prompts.back();
  PAWL_TRY(PassRunner runner,
           PassRunner::create(
               runtime,
               {.sequences = 2, .positions = longest + options.steps + 1, .tokens = kStepTokens},
               options.seed));
  PAWL_TRY(LimitMeter limits, LimitMeter::create(runtime.pool(), runtime.kernels(), clock));
  Meter meter(runtime, runtime.pool().threads(), options, runner, clock, stop);
  PhasesSamples samples;
  samples.step_tokens = kStepTokens;
  samples.has_float_weights = is_float(runtime.model()->weights().layers.front().q.format);
  PhasesProgress now;
  now.total = 2 * (longest + options.steps);  // the warm-up: both sequences once
  for (const int64_t prompt : options.prompts) {
    samples.lengths.push_back(meter.counted(prompt));
    now.total += meter.work(samples.lengths.back()) * options.rounds;
  }
  const Error cancelled{ErrorCode::kCancelled, "interrupted", ""};
  progress(now);
  if (!runner.fill(2, longest + options.steps, stop)) return cancelled;
  now.done = 2 * (longest + options.steps);
  for (now.round = 1; now.round <= options.rounds; ++now.round) {
    for (PhasesLength& length : samples.lengths) {
      now.prompt = length.prompt;
      progress(now);
      const MachineLimits before = limits.measure();
      PhasesRound round = meter.measured(length, static_cast<uint64_t>(now.round));
      if (stop.stop_requested()) return cancelled;
      round.limits = before;
      length.rounds.push_back(round);
      now.done += meter.work(length);
    }
  }
  return samples;
}

std::optional<int64_t> crossing_of(const engine::Runtime& runtime, double ridge) {
  const WeightBytes weights = weight_bytes(*runtime.model());
  for (int64_t tokens = 1; tokens <= kStepTokens; ++tokens) {
    const Cost cost =
        pass_cost(runtime.model()->config(), weights, runtime.kv_type(), {.tokens = tokens});
    if (static_cast<double>(cost.operations) >= ridge * static_cast<double>(cost.bytes)) {
      return tokens;
    }
  }
  return std::nullopt;
}

}  // namespace pawl::probe
