// SPDX-License-Identifier: Apache-2.0
#include "probe/diverge.h"

#include <algorithm>
#include <array>

#include "base/rng.h"
#include "engine/engine.h"
#include "model/model.h"

namespace pawl::probe {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::TokenId;

namespace {

constexpr int kFirstWord = 2, kLastWord = 5;
constexpr int32_t kCandidates = 20;  // of a row, among which a runner-up is looked for

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z');
}

std::string word_of(std::string_view piece) {
  std::string word;
  for (const char c : piece) {
    if (c != ' ') word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word;
}

// One greedy answer while it is made, with the largest entries of its early rows.
class Answer final : public engine::EventSink {
 public:
  explicit Answer(size_t kept_rows) : kept_rows_(kept_rows) {}

  void on_delta(const engine::Delta& delta) override {
    ids_.push_back(delta.id);
    if (rows_.size() == kept_rows_) return;
    auto& row = rows_.emplace_back();
    for (const auto& [id, logprob] : delta.choice->top) row.push_back(id);
  }
  void on_finished(const engine::Finished& finished) override { finished_ = finished; }

  const std::vector<TokenId>& ids() const { return ids_; }
  const std::vector<std::vector<TokenId>>& rows() const { return rows_; }
  const engine::Finished& finished() const { return finished_; }

 private:
  size_t kept_rows_;
  std::vector<TokenId> ids_;
  std::vector<std::vector<TokenId>> rows_;
  engine::Finished finished_;
};

struct Place {
  int64_t at;
  int word;
  TokenId other;
};

// The words among which one is changed, each with the runner-up that starts another word.
std::vector<Place> places(const text::Tokenizer& tokenizer, const Answer& answer) {
  std::vector<Place> found;
  std::string text;
  int word = 0;
  for (size_t i = 0; i < answer.rows().size() && word <= kLastWord; ++i) {
    const TokenId id = answer.ids()[i];
    std::string piece;
    tokenizer.append_piece(id, false, piece);
    if (starts_word(text, piece)) {
      ++word;
      for (const TokenId other : answer.rows()[i]) {
        std::string candidate;
        tokenizer.append_piece(other, false, candidate);
        if (word < kFirstWord || word > kLastWord || other == id) continue;
        if (!starts_word(text, candidate) || !are_other_words(piece, candidate)) continue;
        found.push_back({static_cast<int64_t>(i), word, other});
        break;
      }
    }
    text += piece;
  }
  return found;
}

// A group of prompts that run together: first their answers, then the changed ones.
class Group {
 public:
  Group(engine::Runtime& runtime, const DivergeOptions& options, const base::Clock& clock,
        const std::stop_token& stop)
      : runtime_(runtime), options_(options), clock_(clock), stop_(stop) {}

  Result<void> add(int64_t index, const std::string& text) {
    PAWL_TRY(auto ids, runtime_.tokenizer().encode(text));
    prompts_.push_back(std::move(ids));
    cases_.emplace_back().prompt = index;
    if (prompts_.back().empty()) cases_.back().skipped = "the prompt has no token";
    return {};
  }

  // Error kCancelled leaves nothing of the group.
  Result<std::vector<DivergeCase>> run() {
    PAWL_TRY(const auto engine, make_engine());
    const auto kept_rows = static_cast<size_t>(std::min<int64_t>(options_.tokens, 16));
    std::vector<Answer> answers(cases_.size(), Answer(kept_rows));
    for (size_t i = 0; i < cases_.size(); ++i) {
      if (!cases_[i].skipped.empty()) continue;
      PAWL_TRY_VOID(submit(*engine, prompts_[i], options_.tokens, kCandidates, answers[i]));
    }
    engine->run_until_idle();
    PAWL_TRY_VOID(check_all(answers));
    for (size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].skipped.empty()) change(answers[i], cases_[i]);
    }
    std::vector<Answer> others(cases_.size(), Answer(0));
    for (size_t i = 0; i < cases_.size(); ++i) {
      if (!cases_[i].skipped.empty()) continue;
      std::vector<TokenId> prompt = prompts_[i];
      prompt.insert(prompt.end(), cases_[i].changed.begin(), cases_[i].changed.end());
      const int64_t left = options_.tokens - cases_[i].changed_at - 1;
      PAWL_TRY_VOID(submit(*engine, std::move(prompt), left, 0, others[i]));
    }
    engine->run_until_idle();
    PAWL_TRY_VOID(check_all(others));
    for (size_t i = 0; i < cases_.size(); ++i) {
      cases_[i].changed.insert(cases_[i].changed.end(), others[i].ids().begin(),
                               others[i].ids().end());
    }
    return std::move(cases_);
  }

 private:
  Result<std::unique_ptr<engine::Engine>> make_engine() const {
    int64_t longest = 1;
    for (const auto& prompt : prompts_) {
      longest = std::max(longest, static_cast<int64_t>(prompt.size()));
    }
    engine::EngineLimits limits;
    limits.context = longest + options_.tokens + 1;
    limits.max_sequences = options_.batch;
    // Whole blocks each, so that all run at once.
    const int64_t each = (limits.context + kv::kBlockPositions - 1) / kv::kBlockPositions;
    limits.kv_positions = each * kv::kBlockPositions * options_.batch;
    const int64_t context = runtime_.model()->config().context_length;
    if (limits.context > context) {
      return Error{ErrorCode::kInvalidArgument,
                   "a prompt of " + std::to_string(longest) + " tokens and its answer do not fit " +
                       "into the model's context of " + std::to_string(context),
                   ""};
    }
    return engine::Engine::create(runtime_, limits, clock_);
  }

  Result<void> submit(engine::Engine& engine, std::vector<TokenId> prompt, int64_t tokens,
                      int32_t top, Answer& answer) const {
    engine::Request request;
    request.prompt = std::move(prompt);
    request.policy.temperature = 0;
    request.policy.top_logprobs = top;
    request.stops.max_tokens = tokens;
    request.stop_token = stop_;
    request.sink = &answer;
    request.received_ns = clock_.now_ns();
    PAWL_TRY_VOID(engine.submit(std::move(request)));
    return {};
  }

  Result<void> check_all(const std::vector<Answer>& answers) const {
    if (stop_.stop_requested()) return Error{ErrorCode::kCancelled, "interrupted", ""};
    for (const Answer& answer : answers) {
      if (answer.finished().reason == engine::FinishReason::kError) {
        return Error{ErrorCode::kUnsupported, answer.finished().error, ""};
      }
    }
    return {};
  }

  // Takes over the answer, and what of it is kept when a word is changed.
  void change(const Answer& answer, DivergeCase& result) const {
    result.answer = answer.ids();
    const auto found = places(runtime_.tokenizer(), answer);
    if (found.empty()) {
      result.skipped = "the answer has no word 2 to 5 with a runner-up that starts another word";
      return;
    }
    const double u = base::uniform(options_.seed, static_cast<uint64_t>(result.prompt), 0);
    const Place& place = found[static_cast<size_t>(u * static_cast<double>(found.size()))];
    if (place.at + 1 >= options_.tokens) {
      result.skipped = "nothing of the answer comes after the word";
      return;
    }
    result.changed_at = place.at;
    result.word = place.word;
    result.changed.assign(result.answer.begin(), result.answer.begin() + place.at);
    result.changed.push_back(place.other);
  }

  engine::Runtime& runtime_;
  const DivergeOptions& options_;
  const base::Clock& clock_;
  const std::stop_token& stop_;
  std::vector<std::vector<TokenId>> prompts_;
  std::vector<DivergeCase> cases_;
};

}  // namespace

bool starts_word(std::string_view before, std::string_view piece) {
  const size_t spaces = std::min(piece.find_first_not_of(' '), piece.size());
  if (spaces == piece.size() || !is_word_byte(piece[spaces])) return false;
  return spaces > 0 || before.empty() || before.back() == ' ' || before.back() == '\n';
}

bool are_other_words(std::string_view a, std::string_view b) {
  const std::string x = word_of(a), y = word_of(b);
  return !x.starts_with(y) && !y.starts_with(x);
}

Result<void> diverge(engine::Runtime& runtime, std::span<const std::string> prompts,
                     std::span<const int64_t> indices, const DivergeOptions& options,
                     const base::Clock& clock, const std::stop_token& stop,
                     const std::function<Result<void>(const DivergeCase&)>& done) {
  for (size_t begin = 0; begin < indices.size(); begin += static_cast<size_t>(options.batch)) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "interrupted", ""};
    Group group(runtime, options, clock, stop);
    const size_t end = std::min(begin + static_cast<size_t>(options.batch), indices.size());
    for (size_t i = begin; i < end; ++i) {
      PAWL_TRY_VOID(group.add(indices[i], prompts[static_cast<size_t>(indices[i])]));
    }
    PAWL_TRY(const auto cases, group.run());
    for (const DivergeCase& one : cases) PAWL_TRY_VOID(done(one));
  }
  return {};
}

}  // namespace pawl::probe
