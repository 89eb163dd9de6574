// SPDX-License-Identifier: Apache-2.0
// The second half of the step: rows of logits become tokens, tokens become text and events.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "engine/engine.h"
#include "policy/largest.h"

namespace pawl::engine {

// Ids that one choice and what follows from it may append: a step stays short.
constexpr int64_t kMostAtOnce = 64;

// Rows are chosen side by side; what follows from a choice happens in order, on this thread.
void Engine::choose_all(const model::Logits& logits) {
  const auto is_chosen = [this](size_t i) {
    const model::Segment& s = segments_[i];
    const Sequence& sequence = planned(i);
    return s.wanted > 0 && sequence.length() < sequence.max_length &&
           s.first_position + static_cast<int64_t>(s.ids.size()) - sequence.drafts() ==
               sequence.length();
  };
  // Of the last id that is known; the rows of the guesses come after it.
  const auto last_row = [&](size_t i) {
    return first_rows_[i] + segments_[i].wanted - 1 - static_cast<int>(planned(i).drafts());
  };
  const auto choose_some = [&](int64_t begin, int64_t end, int) {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (!is_chosen(i)) continue;
      if (!logits.largest.empty()) {
        const model::Largest& largest = logits.largest[static_cast<size_t>(last_row(i))];
        slots_[i].choice =
            policy::largest_choice(situation_of(planned(i), {}, nullptr), largest.id);
      } else {
        choose(slots_[i], planned(i), logits.row(last_row(i)));
      }
    }
  };
  runtime_.pool().run(static_cast<int64_t>(segments_.size()), 1, choose_some);

  rows_.clear();
  chosen_.clear();
  for (size_t i = 0; i < segments_.size(); ++i) {
    Sequence& sequence = planned(i);
    const model::Segment& segment = segments_[i];
    const int64_t computed = static_cast<int64_t>(segment.ids.size());
    const int64_t tokens = computed - sequence.drafts();
    const bool has_choice = is_chosen(i);
    if (!has_choice) {
      rows_.push_back({sequence.id, segment.first_position, segment.ids, {}, nullptr});
    }
    if (sequence.wants_prompt_rows()) tell_prompt_tokens(sequence, segment, logits, first_rows_[i]);
    sequence.computed += tokens;
    sequence.usage.computed_tokens += computed;
    stats_.computed_tokens += computed;
    ++sequence.usage.forward_passes;
    keep_computed(sequence);
    if (has_choice) {
      const std::span<const float> row = logits.row(last_row(i));
      show_choice(sequence, segment.first_position, segment.ids.first(static_cast<size_t>(tokens)),
                  row, slots_[i].choice);
      take_choice(sequence, slots_[i], row);
      if (sequence.drafts() > 0) accept_drafts(sequence, slots_[i], logits, last_row(i));
    } else if (sequence.computed == sequence.max_length) {
      finish(sequence, FinishReason::kLength);  // nothing was to be generated
    }
  }
}

// Rows of which only the largest logit matters need not be computed; whoever observes may need
// them.
void Engine::ask_for_largest() {
  if (observer_ != nullptr && observer_->needs_rows()) return;
  for (size_t i = 0; i < segments_.size(); ++i) {
    model::Segment& segment = segments_[i];
    const Sequence& sequence = planned(i);
    if (segment.wanted != 1 || sequence.wants_prompt_rows() ||
        sequence.request.constraint != nullptr) {
      continue;
    }
    std::vector<base::TokenId>& excluded = slots_[i].excluded;
    segment.only_largest = policy::takes_largest(situation_of(sequence, {}, nullptr), excluded);
    segment.excluded = excluded;
  }
}

void Engine::show_choice(const Sequence& sequence, int64_t position,
                         std::span<const base::TokenId> inputs, std::span<const float> row,
                         const policy::Choice& choice) {
  PAWL_CHECK(chosen_.size() < chosen_.capacity());
  chosen_.push_back(choice);
  rows_.push_back({sequence.id, position, inputs, row, &chosen_.back()});
}

// A guess stays while it is what was chosen: then its keys and values are those of the sequence,
// and its row is the next choice's. Each is chosen as ever, by position.
void Engine::accept_drafts(Sequence& sequence, Slot& slot, const model::Logits& logits,
                           int first_row) {
  int64_t right = 0;
  while (right < sequence.drafts() && !sequence.is_finished && sequence.came_last == 1 &&
         sequence.ids.back() == sequence.drafted[static_cast<size_t>(right) + 1]) {
    ++right;
    ++sequence.computed;
    keep_computed(sequence);
    chosen_.back().top = {};  // the next choice takes its place
    const std::span<const float> row = logits.row(first_row + static_cast<int>(right));
    choose(slot, sequence, row);
    show_choice(sequence, sequence.length() - 1,
                std::span(sequence.drafted).subspan(static_cast<size_t>(right), 1), row,
                slot.choice);
    take_choice(sequence, slot, row);
  }
  sequence.draft.record(sequence.drafts(), right);
  sequence.usage.accepted_draft_tokens += right;
}

policy::Situation Engine::situation_of(const Sequence& sequence, std::span<const float> row,
                                       const policy::TokenMask* mask) const {
  const policy::Policy& policy = sequence.request.policy;
  return {.row = row,
          .policy = policy,
          .history = sequence.history,
          .draw = {policy.seed, static_cast<uint64_t>(sequence.length())},
          .mask = mask,
          .end_ids = runtime_.tokenizer().vocab().end_ids()};
}

// On any worker: touches the sequence's constraint, and nothing else that others see.
void Engine::choose(Slot& slot, const Sequence& sequence, std::span<const float> row) {
  const Request& request = sequence.request;
  slot.choice = {};
  slot.error.clear();
  if (request.constraint != nullptr) {
    const int32_t vocabulary = static_cast<int32_t>(row.size());
    if (slot.mask.vocabulary() != vocabulary) slot.mask = policy::TokenMask(vocabulary);
    const base::Result<void> filled = request.constraint->fill_mask(slot.mask);
    if (!filled.ok()) {
      slot.error = filled.error().message;
      return;
    }
  }
  const policy::Situation situation =
      situation_of(sequence, row, request.constraint != nullptr ? &slot.mask : nullptr);
  do {
    slot.choice = policy::choose(situation, slot.scratch);
  } while (request.constraint != nullptr && slot.choice.id != policy::kNoToken &&
           !request.constraint->permits(slot.choice.id, slot.mask));
}

void Engine::tell_prompt_tokens(Sequence& sequence, const model::Segment& segment,
                                const model::Logits& logits, int first_row) {
  for (int64_t i = 0; i < segment.wanted; ++i) {
    const int64_t position = segment.first_position + i + 1;  // what the row speaks of
    if (position < sequence.prompt_told || position >= sequence.usage.prompt_tokens) continue;
    const base::TokenId id = sequence.ids[static_cast<size_t>(position)];
    const policy::Choice seen =
        policy::score(logits.row(first_row + static_cast<int>(i)), id,
                      sequence.request.policy.top_logprobs, prompt_scratch_);
    sequence.request.sink->on_prompt_token(
        {.position = position, .id = id, .logprob = seen.logprob, .top = seen.top});
    sequence.prompt_told = position + 1;
  }
}

void Engine::end_without_choice(Sequence& sequence, const Slot& slot, std::span<const float> row) {
  const policy::Constraint* constraint = sequence.request.constraint.get();
  if (slot.error.empty() && constraint != nullptr && constraint->is_complete()) {
    finish(sequence, FinishReason::kStop);  // nothing can follow a whole answer
    return;
  }
  const bool has_numbers = std::ranges::any_of(row, [](float x) { return !std::isnan(x); });
  sequence.finished.error = !slot.error.empty() ? slot.error
                            : has_numbers
                                ? "no token is allowed here"
                                : "the logits are not numbers: the model's weights are damaged";
  finish(sequence, FinishReason::kError);
}

void Engine::take_choice(Sequence& sequence, const Slot& slot, std::span<const float> row) {
  const policy::Choice& choice = slot.choice;
  if (choice.id == policy::kNoToken) return end_without_choice(sequence, slot, row);
  if (sequence.request.constraint != nullptr) {
    const base::Result<void> accepted = sequence.request.constraint->accept(choice.id);
    if (!accepted.ok()) {
      sequence.finished.error = accepted.error().message;
      return finish(sequence, FinishReason::kError);
    }
  }
  sequence.came_last = 0;
  append(sequence, choice.id, &choice);
  if (sequence.request.constraint != nullptr) append_forced(sequence);
}

void Engine::append(Sequence& sequence, base::TokenId id, const policy::Choice* choice) {
  sequence.timeline.last_token_ns = clock_.now_ns();
  ++stats_.completion_tokens;
  if (sequence.usage.completion_tokens++ == 0)
    sequence.timeline.first_token_ns = sequence.timeline.last_token_ns;
  sequence.ids.push_back(id);
  ++sequence.came_last;
  if (choice != nullptr) {
    sequence.history.accept(*choice);
  } else {
    sequence.history.push(id);
  }
  if (runtime_.tokenizer().vocab().is_end(id)) {
    sequence.request.sink->on_delta(
        {.id = id, .text = {}, .choice = choice, .stamp_ns = sequence.timeline.last_token_ns});
    sequence.finished.end_token = id;
    finish(sequence, FinishReason::kStop);
    return;
  }
  emit_text(sequence, id, choice);
  if (!sequence.is_finished && sequence.length() == sequence.max_length)
    finish(sequence, FinishReason::kLength);
}

// What the constraint leaves one way for needs no logits: it is computed together with the token
// before it, as a prompt would be. Who wants log-probabilities gets each from its row.
void Engine::append_forced(Sequence& sequence) {
  policy::Constraint& constraint = *sequence.request.constraint;
  if (!sequence.is_finished && !sequence.request.policy.logprobs) {
    for (const base::TokenId id : constraint.forced()) {
      if (sequence.is_finished || sequence.came_last >= kMostAtOnce) break;
      if (!constraint.accept(id).ok()) break;
      ++sequence.usage.forced_tokens;
      append(sequence, id, nullptr);
    }
  }
  if (!sequence.is_finished) constraint.prepare_mask();
}

void Engine::emit_text(Sequence& sequence, base::TokenId id, const policy::Choice* choice) {
  sequence.decoded.clear();
  sequence.released.clear();
  sequence.decoder.push(id, sequence.decoded);
  const bool is_stopped = sequence.stops.push(sequence.decoded, sequence.released);
  sequence.request.sink->on_delta({.id = id,
                                   .text = sequence.released,
                                   .choice = choice,
                                   .stamp_ns = sequence.timeline.last_token_ns});
  if (is_stopped) {
    sequence.finished.stop_string = sequence.request.stops.strings[*sequence.stops.found()];
    finish(sequence, FinishReason::kStop);
  }
}

}  // namespace pawl::engine
