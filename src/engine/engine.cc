// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace pawl::engine {

using base::Error;
using base::ErrorCode;

base::Result<std::unique_ptr<Engine>> Engine::create(Runtime& runtime, const EngineLimits& limits,
                                                     const base::Clock& clock,
                                                     StepObserver* observer) {
  PAWL_CHECK(limits.context > 0 && limits.max_sequences > 0 &&
             limits.tokens_per_step >= limits.max_sequences);
  const bool is_exact = runtime.precision() == model::Precision::kReference;
  const int64_t positions = std::max(limits.kv_positions, limits.context);
  const int64_t blocks = (positions + kv::kBlockPositions - 1) / kv::kBlockPositions;
  PAWL_TRY(kv::BlockPool pool,
           kv::BlockPool::create(static_cast<int32_t>(std::min<int64_t>(blocks, INT32_MAX)),
                                 runtime.model()->kv_layout(is_exact).block_bytes()));
  std::unique_ptr<Engine> engine(new Engine(runtime, limits, clock, observer, std::move(pool)));
  const model::Limits model_limits{.max_tokens = static_cast<int>(limits.tokens_per_step),
                                   .max_rows = limits.max_sequences,
                                   .max_positions = limits.context};
  PAWL_TRY(model::Forward forward,
           model::Forward::create(runtime.model(), runtime.kernels(), runtime.pool(),
                                  engine->blocks_, runtime.precision(), model_limits));
  engine->forward_ = std::make_unique<model::Forward>(std::move(forward));
  return engine;
}

Engine::Engine(Runtime& runtime, const EngineLimits& limits, const base::Clock& clock,
               StepObserver* observer, kv::BlockPool blocks)
    : runtime_(runtime),
      limits_(limits),
      clock_(clock),
      observer_(observer),
      blocks_(std::move(blocks)) {
  scratch_.resize(static_cast<size_t>(limits.max_sequences));
  choices_.resize(static_cast<size_t>(limits.max_sequences));
  plan_.reserve(static_cast<size_t>(limits.max_sequences));
  segments_.reserve(static_cast<size_t>(limits.max_sequences));
  rows_.reserve(static_cast<size_t>(limits.max_sequences));
}

base::Result<int64_t> Engine::submit(Request request) {
  PAWL_TRY(std::unique_ptr<Sequence> sequence, prepare(std::move(request)));
  sequence->id = next_id_++;
  const int64_t id = sequence->id;
  accept(std::move(sequence));
  return id;
}

base::Result<std::unique_ptr<Sequence>> Engine::prepare(Request request) const {
  const int64_t prompt = static_cast<int64_t>(request.prompt.size());
  PAWL_CHECK(request.sink != nullptr);
  if (prompt == 0) return Error{ErrorCode::kInvalidArgument, "the prompt is empty", "prompt"};
  if (prompt >= limits_.context) {
    return Error{ErrorCode::kInvalidArgument,
                 "the prompt has " + std::to_string(prompt) +
                     " tokens, which leaves no room for a completion in a " + "context of " +
                     std::to_string(limits_.context),
                 "prompt"};
  }
  if (request.stops.max_tokens < 0) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(request.stops.max_tokens) + " is below 0", "max_tokens"};
  }
  for (const base::TokenId id : request.prompt)
    PAWL_TRY_VOID(runtime_.tokenizer().vocab().check(id));
  PAWL_TRY_VOID(policy::validate(request.policy));
  PAWL_TRY_VOID(policy::validate_ids(request.policy, runtime_.model()->config().vocabulary));

  PAWL_TRY(text::StopMatcher stops, text::StopMatcher::create(request.stops.strings));

  const int64_t max_length =
      std::min(limits_.context, prompt + std::min(request.stops.max_tokens, limits_.context));
  return std::make_unique<Sequence>(0, std::move(request), std::move(stops), runtime_.tokenizer(),
                                    max_length);
}

void Engine::accept(std::unique_ptr<Sequence> sequence) {
  sequences_.push_back(std::move(sequence));
  candidates_.reserve(sequences_.size());
}

void Engine::finish_all(FinishReason reason) {
  for (const auto& sequence : sequences_) finish(*sequence, reason);
  retire_finished();
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  for (const auto& sequence : sequences_)
    ++(sequence->is_running() ? stats.running : stats.waiting);
  stats.kv_blocks = blocks_.blocks();
  stats.kv_blocks_free = blocks_.free_blocks();
  return stats;
}

bool Engine::step() {
  drop_cancelled();
  if (sequences_.empty()) return false;
  plan();
  const int64_t start_ns = clock_.now_ns();
  const model::Logits logits = forward();
  const int64_t computed_ns = clock_.now_ns();
  choose_all(logits);
  forward_ns_ = computed_ns - start_ns;
  policy_ns_ = clock_.now_ns() - computed_ns;
  observe();
  retire_finished();
  ++stats_.steps;
  return !sequences_.empty();
}

void Engine::drop_cancelled() {
  for (const auto& sequence : sequences_) {
    const Request& request = sequence->request;
    if (request.stop_token.stop_requested()) {
      finish(*sequence, FinishReason::kCancelled);
    } else if (request.deadline_ns != 0 && clock_.now_ns() >= request.deadline_ns) {
      finish(*sequence, FinishReason::kDeadline);
    }
  }
  retire_finished();
}

void Engine::plan() {
  candidates_.clear();
  for (const auto& sequence : sequences_) candidates_.push_back(sequence->candidate());
  const Budget budget{.tokens = limits_.tokens_per_step,
                      .rows = limits_.max_sequences,
                      .free_blocks = blocks_.free_blocks()};
  plan_step(candidates_, budget, plan_);
  PAWL_CHECK(!plan_.empty());  // one sequence always fits into an empty pool
}

void Engine::admit(Sequence& sequence) {
  for (int64_t i = sequence.candidate().blocks_needed; i > 0; --i) {
    const std::optional<kv::BlockId> block = blocks_.take();
    PAWL_CHECK(block.has_value());
    sequence.blocks.push_back(*block);
  }
  sequence.timeline.scheduled_ns = clock_.now_ns();
  stats_.prompt_tokens += sequence.usage.prompt_tokens;
}

model::Logits Engine::forward() {
  segments_.clear();
  for (const Share& share : plan_) {
    Sequence& sequence = *sequences_[static_cast<size_t>(share.sequence)];
    if (!sequence.is_running()) admit(sequence);
    const bool is_whole = sequence.computed + share.tokens == sequence.length();
    const bool wants_row = is_whole && sequence.length() < sequence.max_length;
    const std::span<const base::TokenId> ids(sequence.ids);
    segments_.push_back(
        {sequence.computed,
         ids.subspan(static_cast<size_t>(sequence.computed), static_cast<size_t>(share.tokens)),
         wants_row ? 1 : 0, &sequence.blocks});
  }
  return forward_->run({segments_});
}

void Engine::choose_all(const model::Logits& logits) {
  // Rows are chosen side by side; what follows from a choice happens in order, on this thread.
  int wanted = 0;
  for (const model::Segment& segment : segments_) wanted += segment.wanted;
  runtime_.pool().run(
      static_cast<int64_t>(segments_.size()), 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          if (segments_[static_cast<size_t>(i)].wanted == 0) continue;
          int row = 0;
          for (int64_t before = 0; before < i; ++before)
            row += segments_[static_cast<size_t>(before)].wanted;
          const Sequence& sequence =
              *sequences_[static_cast<size_t>(plan_[static_cast<size_t>(i)].sequence)];
          const policy::Situation situation{
              .row = logits.row(row),
              .policy = sequence.request.policy,
              .history = sequence.history,
              .draw = {sequence.request.policy.seed, static_cast<uint64_t>(sequence.length())},
              .end_ids = runtime_.tokenizer().vocab().end_ids()};
          choices_[static_cast<size_t>(i)] =
              policy::choose(situation, scratch_[static_cast<size_t>(i)]);
        }
      });
  PAWL_CHECK(wanted == logits.rows);
  rows_.clear();
  int row = 0;
  for (size_t i = 0; i < plan_.size(); ++i) {
    Sequence& sequence = *sequences_[static_cast<size_t>(plan_[i].sequence)];
    const model::Segment& segment = segments_[i];
    sequence.computed += plan_[i].tokens;
    sequence.usage.computed_tokens += plan_[i].tokens;
    stats_.computed_tokens += plan_[i].tokens;
    ++sequence.usage.forward_passes;
    const bool has_row = segment.wanted == 1;
    rows_.push_back({sequence.id, segment.first_position, segment.ids,
                     has_row ? logits.row(row++) : std::span<const float>(),
                     has_row ? &choices_[i] : nullptr});
    if (has_row) {
      take_choice(sequence, choices_[i], rows_.back().logits);
    } else if (sequence.computed == sequence.max_length) {
      finish(sequence, FinishReason::kLength);  // nothing was to be generated
    }
  }
}

void Engine::take_choice(Sequence& sequence, const policy::Choice& choice,
                         std::span<const float> row) {
  if (choice.id == policy::kNoToken) {
    const bool has_numbers = std::ranges::any_of(row, [](float x) { return !std::isnan(x); });
    sequence.finished.error = has_numbers
                                  ? "no token is allowed here"
                                  : "the logits are not numbers: the model's weights are damaged";
    finish(sequence, FinishReason::kError);
    return;
  }
  sequence.timeline.last_token_ns = clock_.now_ns();
  ++stats_.completion_tokens;
  if (sequence.usage.completion_tokens++ == 0)
    sequence.timeline.first_token_ns = sequence.timeline.last_token_ns;
  sequence.ids.push_back(choice.id);
  sequence.history.accept(choice);
  if (runtime_.tokenizer().vocab().is_end(choice.id)) {
    sequence.request.sink->on_delta({.id = choice.id,
                                     .text = {},
                                     .choice = &choice,
                                     .stamp_ns = sequence.timeline.last_token_ns});
    sequence.finished.end_token = choice.id;
    finish(sequence, FinishReason::kStop);
    return;
  }
  emit_text(sequence, choice);
  if (!sequence.is_finished && sequence.length() == sequence.max_length)
    finish(sequence, FinishReason::kLength);
}

void Engine::emit_text(Sequence& sequence, const policy::Choice& choice) {
  sequence.decoded.clear();
  sequence.released.clear();
  sequence.decoder.push(choice.id, sequence.decoded);
  const bool is_stopped = sequence.stops.push(sequence.decoded, sequence.released);
  sequence.request.sink->on_delta({.id = choice.id,
                                   .text = sequence.released,
                                   .choice = &choice,
                                   .stamp_ns = sequence.timeline.last_token_ns});
  if (is_stopped) {
    sequence.finished.stop_string = sequence.request.stops.strings[*sequence.stops.found()];
    finish(sequence, FinishReason::kStop);
  }
}

void Engine::observe() {
  if (observer_ == nullptr) return;
  observer_->on_step({.step = stats_.steps,
                      .forward_ns = forward_ns_,
                      .policy_ns = policy_ns_,
                      .kv_blocks_in_use = blocks_.blocks() - blocks_.free_blocks(),
                      .rows = rows_});
}

void Engine::finish(Sequence& sequence, FinishReason reason) {
  sequence.is_finished = true;
  sequence.finished.reason = reason;
}

// The one end of every life, and the one place that gives blocks back.
void Engine::retire_finished() {
  for (const auto& sequence : sequences_) {
    if (!sequence->is_finished) continue;
    for (const kv::BlockId block : sequence->blocks) blocks_.release(block);
    Finished& finished = sequence->finished;
    if (!sequence->stops.found()) {
      sequence->decoded.clear();
      sequence->decoder.flush(sequence->decoded);
      sequence->stops.push(sequence->decoded, finished.text);
      sequence->stops.flush(finished.text);
    }
    sequence->timeline.finished_ns = clock_.now_ns();
    finished.usage = sequence->usage;
    finished.timeline = sequence->timeline;
    sequence->request.sink->on_finished(finished);
  }
  std::erase_if(sequences_, [](const auto& sequence) { return sequence->is_finished; });
}

}  // namespace pawl::engine
