// SPDX-License-Identifier: Apache-2.0
// What a trace shows without a model.
#include "probe/trace_verify.h"

#include <algorithm>

namespace pawl::probe {

using base::TokenId;

namespace {

// Walks the steps and knows what the next one must say.
class Chain {
 public:
  explicit Chain(const TraceHeader& header) : ids_(header.prompt), prompt_(header.prompt.size()) {}

  // What is wrong, or nothing. Mostly it is the step given that is at fault; see faulty_step().
  std::string take(const TraceStep& step) {
    faulty_step_ = number_;
    if (step.step != number_) {
      return "the line says step " + std::to_string(step.step) + " where step " +
             std::to_string(number_) + " must stand";
    }
    ++number_;
    if (is_over_) return "a step after one that selected nothing";
    std::string wrong = wrong_selection(step);
    if (wrong.empty()) wrong = wrong_inputs(step);
    if (wrong.empty()) wrong = wrong_prefix(step);
    if (wrong.empty()) wrong = wrong_row(step);
    computed_ += step.inputs.size();
    if (step.selected) ids_.push_back(*step.selected);
    return wrong;
  }

  int64_t faulty_step() const { return faulty_step_; }  // where take() found something wrong

 private:
  // Where the input is not the id that the step before selected, the prefix decides which of the
  // two was changed.
  std::string wrong_selection(const TraceStep& step) {
    const bool is_next = computed_ >= prompt_ && computed_ + 1 == ids_.size();
    if (!is_next || step.inputs.size() != 1 || step.inputs[0] == ids_.back()) return "";
    std::vector<TokenId> other = ids_;
    other.back() = step.inputs[0];
    if (step.prefix_sha256 != prefix_sha256(other)) return "";
    faulty_step_ = number_ - 2;  // the one before this
    return "selected " + std::to_string(ids_.back()) + ", but the next step goes on from " +
           std::to_string(step.inputs[0]);
  }

  std::string wrong_inputs(const TraceStep& step) const {
    const bool is_prefill = computed_ < prompt_;
    if (step.is_prefill != is_prefill) {
      return is_prefill ? "a decode pass before the prompt is computed"
                        : "a prefill pass after the prompt is computed";
    }
    if (step.inputs.size() > ids_.size() - computed_) {
      return std::to_string(step.inputs.size()) + " inputs, of which only " +
             std::to_string(ids_.size() - computed_) + " are known";
    }
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const TokenId expected = ids_[computed_ + i];
      if (step.inputs[i] == expected) continue;
      return "input " + std::to_string(step.inputs[i]) + " at position " +
             std::to_string(computed_ + i) + ", where the " +
             (computed_ + i < prompt_ ? "prompt has " : "step before selected ") +
             std::to_string(expected);
    }
    return "";
  }

  std::string wrong_prefix(const TraceStep& step) const {
    const size_t length = computed_ + step.inputs.size();
    if (step.prefix_len != static_cast<int64_t>(length)) {
      return "prefix_len " + std::to_string(step.prefix_len) + ", but the prefix has " +
             std::to_string(length) + " ids";
    }
    const std::string expected = prefix_sha256(std::span(ids_).first(length));
    if (step.prefix_sha256 == expected) return "";
    return "prefix_sha256 " + step.prefix_sha256 +
           " does not extend the step before, which gives " + expected;
  }

  // A row exists exactly where all that is known has been computed, and a token is selected there.
  std::string wrong_row(const TraceStep& step) {
    const bool is_whole = computed_ + step.inputs.size() == ids_.size();
    if (step.row.has_value() != is_whole) {
      return is_whole ? "no logits_digest, though the whole prefix is computed"
                      : "a logits_digest, though a part of the prefix only is computed";
    }
    if (!step.row) return step.selected ? "a token selected without a row" : "";
    is_over_ = !step.selected;
    const auto& top = step.row->top;
    if (top.empty() && step.selected) return "a row without its largest entries";
    for (size_t i = 1; i < top.size(); ++i) {
      if (top[i].logit > top[i - 1].logit) return "top is not in descending order";
    }
    if (top.size() > 1 && step.row->gap != double{top[0].logit} - double{top[1].logit}) {
      return "gap is not the difference of the two largest";
    }
    return "";
  }

  std::vector<TokenId> ids_;
  size_t prompt_;
  size_t computed_ = 0;
  int64_t number_ = 0;
  int64_t faulty_step_ = 0;
  bool is_over_ = false;
};

Verdict fails(std::string_view name, std::optional<int64_t> step, std::string reason) {
  return {name, Verdict::Outcome::kFails, "", step, std::move(reason)};
}

Verdict chain_verdict(const Trace& trace) {
  constexpr std::string_view kName = "chain";
  Chain chain(trace.header);
  for (const TraceStep& step : trace.steps) {
    std::string wrong = chain.take(step);
    if (!wrong.empty()) return fails(kName, chain.faulty_step(), std::move(wrong));
  }
  const auto next = static_cast<int64_t>(trace.steps.size());
  if (!trace.fault.empty()) return fails(kName, next, trace.fault);
  if (!trace.end) {
    return fails(kName, next,
                 next == 0 ? "the trace ends after its header"
                           : "the closing line is missing: the trace ends after step " +
                                 std::to_string(next - 1));
  }
  return {kName,
          Verdict::Outcome::kHolds,
          "every line is read; " + std::to_string(next) +
              " steps follow one another; the inputs are the prompt and then each selected id; "
              "each prefix_sha256 is that of the prefix before and the inputs",
          {},
          ""};
}

Verdict passes_verdict(const Trace& trace) {
  constexpr std::string_view kName = "passes";
  TraceEnd counted;
  for (const TraceStep& step : trace.steps) {
    ++counted.passes;
    counted.prefill_passes += step.is_prefill ? 1 : 0;
    counted.selected += step.selected ? 1 : 0;
    if (!step.is_prefill && step.inputs.size() != 1) {
      return fails(kName, step.step,
                   "a decode pass over " + std::to_string(step.inputs.size()) + " tokens");
    }
  }
  const auto next = counted.passes;
  const auto differs = [&](std::string_view what, int64_t said, int64_t is) {
    return fails(kName, next,
                 "the closing line says " + std::to_string(said) + " " + std::string(what) +
                     ", the steps are " + std::to_string(is));
  };
  const TraceEnd& end = *trace.end;
  if (end.passes != counted.passes) return differs("passes", end.passes, counted.passes);
  if (end.prefill_passes != counted.prefill_passes) {
    return differs("prefill passes", end.prefill_passes, counted.prefill_passes);
  }
  if (end.selected != counted.selected) {
    return differs("selected tokens", end.selected, counted.selected);
  }
  const bool has_nothing = counted.passes == 0;
  if (has_nothing && end.finish_reason != "cancelled") {
    return fails(kName, 0, "no step, and nothing that says why");
  }
  return {kName,
          Verdict::Outcome::kHolds,
          std::to_string(counted.selected) + " tokens selected in " +
              std::to_string(counted.passes) +
              " passes: " + std::to_string(counted.prefill_passes) +
              " over the prompt, the last of which selects the first token, and one for each "
              "token after it",
          {},
          ""};
}

}  // namespace

bool all_hold(const std::vector<Verdict>& verdicts) {
  return std::none_of(verdicts.begin(), verdicts.end(), [](const Verdict& verdict) {
    return verdict.outcome == Verdict::Outcome::kFails;
  });
}

std::vector<Verdict> verify_chain(const Trace& trace) {
  std::vector<Verdict> verdicts{chain_verdict(trace)};
  if (all_hold(verdicts)) verdicts.push_back(passes_verdict(trace));
  return verdicts;
}

Verdict verify_model(const TraceHeader& header, std::string_view name, std::string_view sha256) {
  if (header.model_sha256 == sha256) {
    return {"model",
            Verdict::Outcome::kHolds,
            "the file of " + std::string(name) + " has the SHA-256 of the header",
            {},
            ""};
  }
  return fails("model", std::nullopt,
               "traced was " + header.model + " with SHA-256 " + header.model_sha256 +
                   ", this is " + std::string(name) + " with " + std::string(sha256));
}

Verdict verify_adapter(const TraceAdapter& adapter, std::string_view sha256) {
  if (adapter.sha256 == sha256) {
    return {"adapter",
            Verdict::Outcome::kHolds,
            adapter.path + " has the SHA-256 of the header",
            {},
            ""};
  }
  return fails("adapter", std::nullopt,
               "traced was " + adapter.path + " with SHA-256 " + adapter.sha256 +
                   ", there is one with " + std::string(sha256));
}

}  // namespace pawl::probe
