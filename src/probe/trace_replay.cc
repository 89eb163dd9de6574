// SPDX-License-Identifier: Apache-2.0
// A trace computed again: the rows from the text alone, the choices from the rows.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/digest.h"
#include "base/rng.h"
#include "policy/choose.h"
#include "probe/rows.h"
#include "probe/trace_verify.h"

namespace pawl::probe {

using base::Result;
using base::TokenId;

namespace {

// No power of two and no multiple of what the engine uses, so that passes end elsewhere.
constexpr int kChunk = 61;
constexpr size_t kMostAlone = 8;

// Random numbers of this file, by what they are for.
enum Use : uint64_t { kWhichStep, kWhichToken, kWhichId };

std::string shown(std::optional<TokenId> id) {
  return id ? std::to_string(*id) : "nothing";
}

class Replay {
 public:
  Replay(const Trace& trace, engine::Runtime& runtime, uint64_t seed)
      : trace_(trace), runtime_(runtime), seed_(seed), ids_(trace.header.prompt) {
    for (const TraceStep& step : trace.steps) {
      if (!step.row) continue;
      steps_.push_back(&step);
      if (step.selected) ids_.push_back(*step.selected);
    }
    if (!steps_.empty()) ids_.resize(static_cast<size_t>(steps_.back()->prefix_len));
  }

  Result<std::vector<Verdict>> run() {
    if (steps_.empty()) {
      return std::vector{not_checked("recomputed", "no step has a row")};
    }
    if (auto unknown = unknown_id()) return std::vector{std::move(*unknown)};
    std::vector<Verdict> verdicts;
    for (const auto check : {&Replay::recomputed, &Replay::alone, &Replay::changed}) {
      PAWL_TRY(Verdict verdict, (this->*check)());
      verdicts.push_back(std::move(verdict));
      if (!all_hold(verdicts)) break;
    }
    return verdicts;
  }

 private:
  static Verdict fails(std::string_view name, std::optional<int64_t> step, std::string reason) {
    return {name, Verdict::Outcome::kFails, "", step, std::move(reason)};
  }
  static Verdict holds(std::string_view name, std::string checked) {
    return {name, Verdict::Outcome::kHolds, std::move(checked), {}, ""};
  }
  static Verdict not_checked(std::string_view name, std::string why) {
    return {name, Verdict::Outcome::kNotChecked, std::move(why), {}, ""};
  }

  size_t first_position() const { return trace_.header.prompt.size() - 1; }  // of a row

  // Ids that this vocabulary does not have: in the prompt, among the selected, in the policy.
  std::optional<Verdict> unknown_id() const {
    const auto& vocab = runtime_.tokenizer().vocab();
    for (const TokenId id : trace_.header.prompt) {
      if (auto known = vocab.check(id); !known.ok()) {
        return fails("recomputed", 0, known.error().message);
      }
    }
    for (const TraceStep* step : steps_) {
      if (!step->selected) continue;
      if (auto known = vocab.check(*step->selected); !known.ok()) {
        return fails("recomputed", step->step, known.error().message);
      }
    }
    auto valid = policy::validate_ids(trace_.header.policy, static_cast<int32_t>(vocab.size()));
    if (!valid.ok()) return fails("recomputed", 0, "policy: " + valid.error().message);
    return std::nullopt;
  }

  policy::Choice choose(std::span<const float> row, const policy::History& history,
                        int64_t position) {
    const policy::Policy& policy = trace_.header.policy;
    return policy::choose({.row = row,
                           .policy = policy,
                           .history = history,
                           .draw = {policy.seed, static_cast<uint64_t>(position)},
                           .end_ids = runtime_.tokenizer().vocab().end_ids()},
                          scratch_);
  }

  // Why this row and this choice are not those of the step, or nothing.
  std::string difference(const TraceStep& step, std::span<const float> row,
                         const policy::Choice& choice) {
    const std::string digest = base::xxh3_128(std::as_bytes(row));
    if (digest != step.row->digest) {
      return "logits_digest " + step.row->digest + ", recomputed " + digest;
    }
    const auto selected =
        choice.id == policy::kNoToken ? std::nullopt : std::optional<TokenId>(choice.id);
    if (selected != step.selected) {
      return "selected " + shown(step.selected) + ", but this seed and policy select " +
             shown(selected) + " from the same logits";
    }
    const int top = std::max(1, static_cast<int>(step.row->top.size()));
    const TraceRow again = trace_row(row, top, runtime_.kernels(), runtime_.pool());
    if (again != *step.row) return "top or gap is not that of the row";
    return "";
  }

  Result<Verdict> recomputed() {
    constexpr std::string_view kName = "recomputed";
    choose_steps_alone();
    policy::History history(trace_.header.policy, trace_.header.prompt, ids_.size() + 1);
    std::optional<Verdict> failure;
    const RowsOptions options{.first = static_cast<int64_t>(first_position()),
                              .last = static_cast<int64_t>(ids_.size()) - 1,
                              .chunk = kChunk};
    PAWL_TRY_VOID(
        compute_rows(runtime_, ids_, options, [&](int64_t position, std::span<const float> row) {
          if (failure) return;
          const size_t index = static_cast<size_t>(position) - first_position();
          const TraceStep& step = *steps_[index];
          if (const auto sampled = alone_.find(index); sampled != alone_.end()) {
            sampled->second = history;
          }
          const policy::Choice choice = choose(row, history, position + 1);
          std::string wrong = difference(step, row, choice);
          if (!wrong.empty()) failure = fails(kName, step.step, std::move(wrong));
          if (choice.id != policy::kNoToken) history.accept(choice);
        }));
    if (failure) return std::move(*failure);
    return holds(kName, "all " + std::to_string(steps_.size()) + " rows from the text in " +
                            "causal passes of up to " + std::to_string(kChunk) +
                            " positions, up to 8 where rows are wanted: the same logits digests, "
                            "and the replayed policy selects the same tokens");
  }

  // The first, the last and some between, as indices of steps_.
  void choose_steps_alone() {
    alone_[0], alone_[steps_.size() - 1];
    for (uint64_t draw = 0; alone_.size() < std::min(kMostAlone, steps_.size()); ++draw) {
      const double u = base::uniform(seed_, draw, kWhichStep);
      alone_[static_cast<size_t>(u * static_cast<double>(steps_.size()))];
    }
  }

  Result<Verdict> alone() {
    constexpr std::string_view kName = "alone";
    std::string list;
    for (const auto& [index, history] : alone_) {
      const TraceStep& step = *steps_[index];
      const auto prefix =
          std::span<const TokenId>(ids_).first(static_cast<size_t>(step.prefix_len));
      PAWL_TRY(const std::vector<float> row, compute_last_row(runtime_, prefix));
      std::string wrong = difference(step, row, choose(row, *history, step.prefix_len));
      if (!wrong.empty()) return fails(kName, step.step, "from its prefix alone: " + wrong);
      list += (list.empty() ? "" : ", ") + std::to_string(step.step);
    }
    return holds(kName, "steps " + list +
                            ", each from its prefix alone in one pass without a cache: the same "
                            "logits digest and the same token");
  }

  Result<Verdict> changed() {
    constexpr std::string_view kName = "changed";
    if (steps_.size() < 2) return not_checked(kName, "one row has none before it");
    const size_t before = trace_.header.prompt.size();  // the first token that was selected
    const double u = base::uniform(seed_, 0, kWhichToken);
    const size_t j = before + static_cast<size_t>(u * static_cast<double>(ids_.size() - before));
    std::vector<TokenId> other = ids_;
    const auto vocabulary = static_cast<TokenId>(runtime_.tokenizer().vocab().size());
    if (vocabulary < 2) return not_checked(kName, "the vocabulary has no other token");
    const double v = base::uniform(seed_, 0, kWhichId);
    other[j] = static_cast<TokenId>(v * (vocabulary - 1));
    if (other[j] >= ids_[j]) ++other[j];

    std::optional<Verdict> failure;
    size_t same_before = 0, changed_after = 0;
    const RowsOptions options{.first = static_cast<int64_t>(first_position()),
                              .last = static_cast<int64_t>(ids_.size()) - 1,
                              .chunk = kChunk};
    PAWL_TRY_VOID(
        compute_rows(runtime_, other, options, [&](int64_t position, std::span<const float> row) {
          const TraceStep& step = *steps_[static_cast<size_t>(position) - first_position()];
          const bool is_same = base::xxh3_128(std::as_bytes(row)) == step.row->digest;
          const bool is_before = static_cast<size_t>(position) < j;
          same_before += is_before && is_same ? 1 : 0;
          changed_after += !is_before && !is_same ? 1 : 0;
          const bool is_wrong =
              is_before ? !is_same : static_cast<size_t>(position) == j && is_same;
          if (!is_wrong || failure) return;
          failure = fails(kName, step.step,
                          "token " + std::to_string(ids_[j]) + " at position " + std::to_string(j) +
                              " replaced by " + std::to_string(other[j]) +
                              (is_before ? ": the logits before it changed"
                                         : ": the logits from it on stayed the same"));
        }));
    if (failure) return std::move(*failure);
    return holds(kName, "token " + std::to_string(ids_[j]) + " at position " + std::to_string(j) +
                            " replaced by " + std::to_string(other[j]) + ": all " +
                            std::to_string(same_before) +
                            " rows before it stay the same bit for bit, " +
                            std::to_string(changed_after) + " of " +
                            std::to_string(steps_.size() - same_before) + " from it on change");
  }

  const Trace& trace_;
  engine::Runtime& runtime_;
  uint64_t seed_;
  std::vector<TokenId> ids_;             // prompt and selected, up to the last that was an input
  std::vector<const TraceStep*> steps_;  // those with a row; steps_[i] is that of position
                                         // first_position() + i
  // Indices of steps_ that are computed alone, with what had been said before them.
  std::map<size_t, std::optional<policy::History>> alone_;
  policy::Scratch scratch_;
};

}  // namespace

Result<std::vector<Verdict>> verify_by_computing(const Trace& trace, engine::Runtime& runtime,
                                                 uint64_t seed) {
  PAWL_CHECK((runtime.precision() == model::Precision::kReference) == trace.header.is_reference);
  return Replay(trace, runtime, seed).run();
}

}  // namespace pawl::probe
