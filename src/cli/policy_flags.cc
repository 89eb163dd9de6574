// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_flags.h"

#include <fmt/format.h>

#include <limits>
#include <random>

namespace pawl::cli {

using base::Result;

namespace {

std::string flag_name(const policy::Knob& knob) {
  std::string name = std::string("--") + knob.name;
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  return name;
}

// 32 random bits: a number that a person can type again.
uint64_t drawn_seed() {
  return std::random_device()();
}

// "ID:BIAS".
Result<std::pair<base::TokenId, double>> parse_bias(const CommandLine& line,
                                                    const std::string& text) {
  const size_t colon = text.find(':');
  const auto id = parse_integer(text.substr(0, colon));
  const auto bias =
      colon == std::string::npos ? std::nullopt : parse_number(text.substr(colon + 1));
  if (!id || *id < 0 || *id > std::numeric_limits<base::TokenId>::max() || !bias) {
    return line.wrong(
        fmt::format("--logit-bias: '{}' is not ID:BIAS, as in 1234:-5", text.substr(0, 60)));
  }
  return std::pair(static_cast<base::TokenId>(*id), *bias);
}

}  // namespace

PolicyFlags::PolicyFlags() {
  for (const auto& knob : policy::knobs()) {
    numbers_.push_back(knob.standard);
    integers_.push_back(static_cast<int64_t>(knob.standard));
  }
}

void PolicyFlags::declare(CommandLine& line) {
  line.group("Policy: from logits to a token");
  line.flag({"--greedy", "", "always the token with the largest logit: temperature 0"}, is_greedy_);
  for (size_t i = 0; i < policy::knobs().size(); ++i) {
    const auto& knob = policy::knobs()[i];
    const std::string name = flag_name(knob);
    if (knob.integer != nullptr) {
      line.integer({name, "N", knob.help}, integers_[i], static_cast<int64_t>(knob.minimum),
                   static_cast<int64_t>(knob.maximum));
    } else {
      line.number({name, "X", knob.help}, numbers_[i], knob.minimum, knob.maximum);
    }
  }
  line.texts({"--logit-bias", "ID:BIAS", "adds BIAS to a token's logit, -100 to 100; repeatable"},
             logit_bias_);
  line.flag({"--ignore-eos", "", "never chooses an end token"}, ignores_eos_);
  line.flag({"--logprobs", "", "ln p of each chosen token in the row before any rule, in the JSON"},
            wants_logprobs_);
}

Result<policy::Policy> PolicyFlags::policy(const CommandLine& line,
                                           std::optional<uint64_t> seed) const {
  policy::Policy policy = policy::Policy::defaults();
  for (size_t i = 0; i < policy::knobs().size(); ++i) {
    const auto& knob = policy::knobs()[i];
    const double value = knob.integer != nullptr ? static_cast<double>(integers_[i]) : numbers_[i];
    PAWL_TRY_VOID(policy::set_knob(policy, knob.name, value));
  }
  if (is_greedy_) {
    if (line.was_given("--temperature")) {
      return line.wrong("--greedy means --temperature 0; give one of them");
    }
    policy.temperature = 0;
  }
  for (const auto& text : logit_bias_) {
    PAWL_TRY(const auto bias, parse_bias(line, text));
    policy.logit_bias.push_back(bias);
  }
  policy.ignore_eos = ignores_eos_;
  policy.logprobs = wants_logprobs_;
  policy.seed = seed ? *seed : drawn_seed();
  auto checked = policy::validate(policy);
  if (!checked.ok()) return line.wrong(checked.error().message);
  return policy;
}

}  // namespace pawl::cli
