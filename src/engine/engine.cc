// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"

namespace pawl::engine {

using base::Error;
using base::ErrorCode;

base::Result<std::unique_ptr<Engine>> Engine::create(Runtime& runtime, const EngineLimits& limits,
                                                     const base::Clock& clock,
                                                     StepObserver* observer) {
  PAWL_CHECK(limits.context > 0 && limits.max_sequences > 0 && limits.prompt_rows > 0 &&
             limits.tokens_per_step >= limits.max_sequences);
  const int64_t positions = std::max(limits.kv_positions, limits.context);
  const int64_t blocks = (positions + kv::kBlockPositions - 1) / kv::kBlockPositions;
  PAWL_TRY(kv::BlockPool pool,
           kv::BlockPool::create(static_cast<int32_t>(std::min<int64_t>(blocks, INT32_MAX)),
                                 runtime.kv_block_bytes()));
  PAWL_TRY(kv::StatePool states,
           kv::StatePool::create(limits.max_sequences, runtime.model()->config().state_floats));
  if (limits.prefix_cache && states.floats() > 0) {
    base::log_info(
        "the model's layers have a state per sequence, so that nothing computed is shared between "
        "requests: the prefix cache is off");
  }
  std::unique_ptr<Engine> engine(
      new Engine(runtime, limits, clock, observer, std::move(pool), std::move(states)));
  const model::Limits model_limits{.max_tokens = static_cast<int>(limits.tokens_per_step),
                                   .max_rows = limits.max_sequences + limits.prompt_rows,
                                   .max_positions = limits.context,
                                   .kv_type = runtime.kv_type()};
  PAWL_TRY(model::Forward forward,
           model::Forward::create(runtime.model(), runtime.kernels(), runtime.pool(),
                                  engine->blocks_, runtime.precision(), model_limits));
  engine->forward_ = std::make_unique<model::Forward>(std::move(forward));
  return engine;
}

Engine::Engine(Runtime& runtime, const EngineLimits& limits, const base::Clock& clock,
               StepObserver* observer, kv::BlockPool blocks, kv::StatePool states)
    : runtime_(runtime),
      limits_(limits),
      clock_(clock),
      observer_(observer),
      blocks_(std::move(blocks)),
      cache_(blocks_),
      states_(std::move(states)) {
  if (states_.floats() > 0) limits_.prefix_cache = false;
  const size_t sequences = static_cast<size_t>(limits.max_sequences);
  slots_.resize(sequences);
  plan_.shares.reserve(sequences);
  plan_.preempted.reserve(sequences);
  segments_.reserve(sequences);
  first_rows_.reserve(sequences);
  rows_.reserve(sequences + static_cast<size_t>(limits.prompt_rows));
  chosen_.reserve(rows_.capacity());
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
  if (request.pooling ? prompt > limits_.context : prompt >= limits_.context) {
    return Error{ErrorCode::kInvalidArgument,
                 "the prompt has " + std::to_string(prompt) +
                     (request.pooling ? " tokens, more than a "
                                      : " tokens, which leaves no room for a completion in a ") +
                     "context of " + std::to_string(limits_.context),
                 "prompt"};
  }
  if (request.stops.max_tokens < 0) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(request.stops.max_tokens) + " is below 0", "max_tokens"};
  }
  if (request.draft_tokens > 0 && states_.floats() > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "this model's layers have a state, which a wrong draft would spoil: none can be "
                 "made",
                 "draft"};
  }
  for (const base::TokenId id : request.prompt)
    PAWL_TRY_VOID(runtime_.tokenizer().vocab().check(id));
  PAWL_TRY_VOID(policy::validate(request.policy));
  PAWL_TRY_VOID(policy::validate_ids(request.policy, runtime_.model()->config().vocabulary));

  PAWL_TRY(text::StopMatcher stops, text::StopMatcher::create(request.stops.strings));

  const int64_t completion =
      request.pooling ? 0 : std::min(request.stops.max_tokens, limits_.context);
  const size_t width = request.pooling ? static_cast<size_t>(runtime_.model()->config().width) : 0;
  auto sequence =
      std::make_unique<Sequence>(std::move(request), std::move(stops), runtime_.tokenizer(),
                                 std::min(limits_.context, prompt + completion));
  sequence->pooled.resize(width);
  return sequence;
}

void Engine::accept(std::unique_ptr<Sequence> sequence) {
  const auto before = [](const auto& a, const auto& b) {
    return a->request.priority < b->request.priority;
  };
  sequences_.insert(std::upper_bound(sequences_.begin(), sequences_.end(), sequence, before),
                    std::move(sequence));
  candidates_.reserve(sequences_.size());
}

void Engine::finish_all(FinishReason reason) {
  for (const auto& sequence : sequences_) finish(*sequence, reason);
  retire_finished();
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  for (const auto& sequence : sequences_) ++(sequence->is_running ? stats.running : stats.waiting);
  stats.largest = forward_->largest_counts();
  stats.kv_blocks = blocks_.blocks();
  stats.kv_blocks_free = blocks_.free_blocks();
  stats.kv_blocks_evictable = blocks_.evictable_blocks();
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
  record_pace();
  observe();
  retire_finished();
  ++stats_.steps;
  return !sequences_.empty();
}

void Engine::drop_cancelled() {
  const int64_t now_ns = clock_.now_ns();
  for (const auto& sequence : sequences_) {
    const Request& request = sequence->request;
    if (request.stop_token.stop_requested()) {
      finish(*sequence, FinishReason::kCancelled);
    } else if (request.deadline_ns != 0 && now_ns >= request.deadline_ns) {
      finish(*sequence, FinishReason::kDeadline);
    }
  }
  retire_finished();
}

void Engine::plan() {
  do {
    list_candidates();
    const int64_t beside = limits_.tokens_beside_decode > 0 ? limits_.tokens_beside_decode
                                                            : pace_.tokens_beside_decode();
    plan_step(candidates_,
              {.tokens = limits_.tokens_per_step,
               .tokens_beside_decode = beside,
               .tokens_at_start = limits_.tokens_at_start,
               .rows = limits_.max_sequences + limits_.prompt_rows,
               .sequences = limits_.max_sequences,
               .free_blocks = cache_.available()},
              plan_);
    for (const int index : plan_.preempted) preempt(*sequences_[static_cast<size_t>(index)]);
    // One sequence always fits into an empty pool.
    PAWL_CHECK(!plan_.shares.empty() || !plan_.preempted.empty());
  } while (plan_.shares.empty());
}

void Engine::list_candidates() {
  candidates_.clear();
  int64_t slots = limits_.max_sequences;
  for (const auto& sequence : sequences_) slots -= sequence->is_running ? 1 : 0;
  // Who could be preempted for what matters only where blocks are short.
  const bool is_short = cache_.available() < limits_.max_sequences;
  for (const auto& sequence : sequences_) {
    Candidate c{.length = sequence->length(),
                .computed = sequence->computed,
                .is_running = sequence->is_running,
                .decodes = sequence->decodes(),
                .blocks = static_cast<int64_t>(sequence->blocks.size()),
                .wants_all_rows = sequence->wants_prompt_rows(),
                .priority = sequence->request.priority};
    if (c.is_running && is_short) {
      c.own_blocks = std::ranges::count_if(
          sequence->blocks, [this](kv::BlockId block) { return blocks_.count(block) == 1; });
    } else if (!c.is_running && slots-- > 0 && may_reuse(*sequence)) {
      const kv::PrefixCache::Found found = cache_.look_up(sequence->salt, reusable_ids(*sequence));
      c.computed = found.positions;
      c.blocks = found.held;
      c.awaits_prefix = awaits_prefix(*sequence, found.positions);
    }
    candidates_.push_back(c);
  }
}

// It starts, or goes on after a preemption: with what the prefix cache has, and blocks for the ids
// that are known.
void Engine::admit(Sequence& sequence) {
  if (may_reuse(sequence))
    sequence.computed = cache_.reuse(sequence.salt, reusable_ids(sequence), sequence.blocks);
  sequence.kept = sequence.computed / kv::kBlockPositions;
  std::ranges::fill(sequence.pooled, 0.0f);
  sequence.is_running = true;
  const std::optional<kv::StateId> state = states_.take();
  PAWL_CHECK(state.has_value());
  sequence.state = *state;
  if (sequence.was_scheduled) return;
  sequence.was_scheduled = true;
  sequence.timeline.scheduled_ns = clock_.now_ns();
  sequence.usage.cached_tokens = sequence.computed;
  stats_.prompt_tokens += sequence.usage.prompt_tokens;
  stats_.prefix_hit_tokens += sequence.computed;
  if (may_reuse(sequence)) stats_.prefix_queried_tokens += sequence.usage.prompt_tokens;
}

bool Engine::may_reuse(const Sequence& sequence) const {
  return limits_.prefix_cache && !sequence.wants_prompt_rows() && !sequence.request.pooling;
}

// Whether one before it in line is about to compute and keep a block that it begins with, too,
// beyond the `found` positions that are there.
bool Engine::awaits_prefix(const Sequence& sequence, int64_t found) const {
  const std::span<const base::TokenId> mine = reusable_ids(sequence);
  for (const auto& other : sequences_) {
    if (other.get() == &sequence) return false;
    if (other->salt != sequence.salt || !may_reuse(*other)) continue;
    const std::span<const base::TokenId> theirs = other->ids;
    const int64_t shared = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
    const int64_t kept = shared / kv::kBlockPositions * kv::kBlockPositions;
    if (kept > std::max(found, other->computed)) return true;
  }
  return false;
}

// The last id is always computed: the choice is made from its row.
std::span<const base::TokenId> Engine::reusable_ids(const Sequence& sequence) const {
  return std::span(sequence.ids).first(sequence.ids.size() - 1);
}

void Engine::preempt(Sequence& sequence) {
  give_blocks_back(sequence);
  ++sequence.usage.preemptions;
  ++stats_.preemptions;
}

void Engine::grow_blocks(Sequence& sequence, int64_t positions) {
  while (static_cast<int64_t>(sequence.blocks.size()) * kv::kBlockPositions < positions) {
    const std::optional<kv::BlockId> block = cache_.take();
    PAWL_CHECK(block.has_value());
    sequence.blocks.push_back(*block);
  }
}

void Engine::give_blocks_back(Sequence& sequence) {
  if (!sequence.is_running) return;
  cache_.release(sequence.salt,
                 limits_.prefix_cache ? sequence.computed_ids() : std::span<const base::TokenId>(),
                 sequence.blocks);
  states_.release(sequence.state);
  sequence.is_running = false;
  sequence.computed = sequence.kept = 0;
}

// Whole blocks are there for others from the step on in which they are computed.
void Engine::keep_computed(Sequence& sequence) {
  while (limits_.prefix_cache && (sequence.kept + 1) * kv::kBlockPositions <= sequence.computed) {
    ++sequence.kept;
    cache_.insert(
        sequence.salt,
        std::span(sequence.ids).first(static_cast<size_t>(sequence.kept * kv::kBlockPositions)),
        sequence.blocks);
  }
}

model::Logits Engine::forward() {
  segments_.clear();
  first_rows_.clear();
  int rows = 0;
  for (size_t i = 0; i < plan_.shares.size(); ++i) {
    Sequence& sequence = planned(i);
    if (!sequence.is_running) admit(sequence);
    grow_blocks(sequence, sequence.length());
    sequence.drafted.clear();
    const int64_t tokens = std::min(plan_.shares[i].tokens, sequence.length() - sequence.computed);
    const bool is_whole = sequence.computed + tokens == sequence.length();
    int64_t wanted = is_whole && sequence.length() < sequence.max_length ? 1 : 0;
    if (sequence.wants_prompt_rows()) wanted = tokens;
    const std::span<const base::TokenId> ids(sequence.ids);
    segments_.push_back(
        {sequence.computed,
         ids.subspan(static_cast<size_t>(sequence.computed), static_cast<size_t>(tokens)),
         static_cast<int>(wanted), &sequence.blocks, states_.state(sequence.state)});
    if (sequence.request.pooling) {
      segments_.back().pooled = sequence.pooled.data();
      segments_.back().pooling = *sequence.request.pooling;
    }
  }
  add_drafts();
  for (const model::Segment& segment : segments_) {
    first_rows_.push_back(rows);
    rows += segment.wanted;
  }
  ask_for_largest();
  return forward_->run({segments_});
}

// Sequences that decode get guesses beside their token, as far as rows, tokens and blocks are left
// that nobody was promised.
void Engine::add_drafts() {
  int64_t rows = limits_.max_sequences + limits_.prompt_rows, tokens = limits_.tokens_per_step;
  for (const model::Segment& segment : segments_) {
    rows -= segment.wanted;
    tokens -= static_cast<int64_t>(segment.ids.size());
  }
  for (size_t i = 0; i < segments_.size(); ++i) {
    Sequence& sequence = planned(i);
    model::Segment& segment = segments_[i];
    const bool decodes = segment.ids.size() == 1 && segment.wanted == 1;
    if (!decodes || sequence.request.draft_tokens == 0) continue;
    const int64_t room = std::min(
        {rows, tokens, sequence.max_length - sequence.length() - 1, room_for_drafts(sequence)});
    const std::span<const base::TokenId> guesses = sequence.draft.propose(sequence.ids, room);
    if (guesses.empty()) continue;
    sequence.drafted.assign(segment.ids.begin(), segment.ids.end());
    sequence.drafted.insert(sequence.drafted.end(), guesses.begin(), guesses.end());
    segment.ids = sequence.drafted;
    segment.wanted = static_cast<int>(segment.ids.size());
    rows -= static_cast<int64_t>(guesses.size());
    tokens -= static_cast<int64_t>(guesses.size());
    sequence.usage.drafted_tokens += static_cast<int64_t>(guesses.size());
  }
}

// Positions after the sequence's last that it has blocks for; one block more where enough are left
// for all that run.
int64_t Engine::room_for_drafts(Sequence& sequence) {
  if (cache_.available() > limits_.max_sequences && sequence.length() < sequence.max_length) {
    grow_blocks(sequence, sequence.length() + 1);
  }
  return static_cast<int64_t>(sequence.blocks.size()) * kv::kBlockPositions - sequence.length();
}

void Engine::record_pace() {
  int64_t decodes = 0, prompt_tokens = 0;
  for (size_t i = 0; i < segments_.size(); ++i) {
    const int64_t drafts = planned(i).drafts();
    const int64_t tokens = static_cast<int64_t>(segments_[i].ids.size()) - drafts;
    (tokens == 1 ? decodes : prompt_tokens) += tokens;
    prompt_tokens += drafts;  // a guess costs what a prompt token costs
  }
  pace_.record(decodes, prompt_tokens, forward_ns_ + policy_ns_);
}

void Engine::observe() {
  if (observer_ == nullptr) return;
  observer_->on_step({.step = stats_.steps,
                      .forward_ns = forward_ns_,
                      .policy_ns = policy_ns_,
                      .kv_blocks_in_use = blocks_.blocks() - cache_.available(),
                      .rows = rows_});
}

void Engine::finish(Sequence& sequence, FinishReason reason) {
  sequence.is_finished = true;
  sequence.finished.reason = reason;
}

// The one end of every life. Its blocks are free before its sink hears of it.
void Engine::retire_finished() {
  for (const auto& sequence : sequences_) {
    if (!sequence->is_finished) continue;
    give_blocks_back(*sequence);
    Finished& finished = sequence->finished;
    if (!sequence->stops.found()) {
      sequence->decoded.clear();
      sequence->decoder.flush(sequence->decoded);
      sequence->stops.push(sequence->decoded, finished.text);
      sequence->stops.flush(finished.text);
    }
    if (sequence->request.pooling && finished.reason == FinishReason::kLength) {
      const bool is_finite =
          model::finish_pooling(*sequence->request.pooling, sequence->usage.prompt_tokens,
                                sequence->request.is_normalised, sequence->pooled);
      finished.embedding = std::move(sequence->pooled);
      if (!is_finite) {
        finished.reason = FinishReason::kError;
        finished.error = "the model's hidden states hold what is no number";
        finished.embedding.clear();
      }
    }
    sequence->timeline.finished_ns = clock_.now_ns();
    finished.usage = sequence->usage;
    finished.timeline = sequence->timeline;
    ++finished_;
    sequence->request.sink->on_finished(finished);
  }
  std::erase_if(sequences_, [](const auto& sequence) { return sequence->is_finished; });
}

}  // namespace pawl::engine
