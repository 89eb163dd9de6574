// SPDX-License-Identifier: Apache-2.0
#include "lab/sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "lab/compare.h"
#include "lab/prompts.h"
#include "lab/simulated_sweep.h"

namespace pawl::lab {
namespace {

using testing::simulated;
using testing::simulated_sweep;
using testing::Truth;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(Prompts, S161_AreVariedText) {
  std::map<std::string, int> counts;
  const auto words = words_of(varied_text(1, 2, 2000));
  ASSERT_EQ(words.size(), 2000u);
  for (const std::string& word : words) ++counts[word];
  double entropy = 0;
  for (const auto& [word, count] : counts) {
    const double share = count / 2000.0;
    EXPECT_LT(share, 0.1) << word;
    entropy -= share * std::log2(share);
  }
  EXPECT_GT(entropy, 5);
}

TEST(Prompts, S157_EachHasAHeadOfItsOwnInEveryRun) {
  std::set<std::string> heads;
  for (uint64_t salt = 0; salt < 10; ++salt) {
    PromptMaker maker(salt, nullptr);
    for (int i = 0; i < 100; ++i) {
      auto prompt = maker.make(100);
      ASSERT_TRUE(prompt.ok());
      const auto words = words_of(*prompt);
      heads.insert(words[0] + " " + words[1] + " " + words[2]);
    }
  }
  EXPECT_GE(heads.size(), 995u);  // 1,000 draws of three of 300 words
}

TEST(Prompts, S155_AreAsLongAsAskedWhereTheServerCounts) {
  // A tokenizer that takes two tokens for words of more than four letters, and a template of 9.
  const auto count = [](std::string_view prompt) -> base::Result<int64_t> {
    int64_t tokens = 9;
    for (const std::string& word : words_of(std::string(prompt))) tokens += word.size() > 4 ? 2 : 1;
    return tokens;
  };
  PromptMaker maker(3, count);
  for (const int64_t wanted : {32, 100, 400, 1600}) {
    auto prompt = maker.make(wanted);
    ASSERT_TRUE(prompt.ok());
    EXPECT_NEAR(static_cast<double>(*count(*prompt)), static_cast<double>(wanted),
                0.01 * wanted + 1);
  }
  PromptMaker learned(4, nullptr);
  const auto a = learned.make_words(50), b = learned.make_words(500);
  learned.learn(50, *count(a), 500, *count(b));
  auto prompt = learned.make(1600);
  EXPECT_NEAR(static_cast<double>(*count(*prompt)), 1600, 80);
}

TEST(Sweep, ArmsAreInterleavedAndTheWarmUpComesFirst) {
  SweepOptions options;
  const auto plan = plan_sweep(options);
  size_t i = 0;
  for (; plan[i].is_warm_up; ++i) {
  }
  EXPECT_EQ(i, 3u);
  // Every round holds every shape once, and no two rounds have the same order.
  const size_t shapes = options.prompts.size() + options.outputs.size() + 3;
  std::set<std::string> orders;
  for (int64_t round = 0; round < options.repetitions; ++round) {
    std::set<std::string> members;
    std::string order;
    for (size_t k = 0; k < shapes; ++k, ++i) {
      EXPECT_EQ(plan[i].repetition, round);
      members.insert(plan[i].arm + plan[i].label);
      order += plan[i].arm + plan[i].label + " ";
    }
    EXPECT_EQ(members.size(), shapes);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), static_cast<size_t>(options.repetitions));
  EXPECT_EQ(plan.size(), i + 2 * static_cast<size_t>(options.probe_pairs));
}

TEST(Sweep, WhatIsDoneIsNotSentAgain) {
  const auto plan = plan_sweep({});
  EXPECT_EQ(remaining(plan, {}).size(), plan.size());
  std::vector<RequestRecord> done;
  for (size_t i = 0; i < 20; ++i) {
    auto record =
        simulated({}, plan[i].arm, plan[i].prompt, plan[i].output, 1, static_cast<int64_t>(i));
    record.asked.label = plan[i].label;
    record.asked.repetition = plan[i].repetition;
    record.asked.is_warm_up = plan[i].is_warm_up;
    if (i == 10) record.state = RequestState::kFailed;
    done.push_back(record);
  }
  const auto rest = remaining(plan, done);
  EXPECT_EQ(rest.size(), plan.size() - 20 + 3 + 1);  // the warm-up and what failed come again
  // A pair of which only the first is done comes again as a pair.
  const size_t pair = plan.size() - 2;
  ASSERT_TRUE(plan[pair + 1].repeats_prompt);
  auto record = simulated({}, plan[pair].arm, plan[pair].prompt, plan[pair].output, 1, 99);
  record.asked.label = "first";
  record.asked.repetition = plan[pair].repetition;
  const auto again = remaining(plan, std::vector<RequestRecord>{record});
  EXPECT_EQ(again.size(), plan.size());
}

TEST(Sweep, AnHonestServerHoldsAndItsProfileIsReadBack) {
  const auto records = simulated_sweep({}, 5);
  Conditions conditions;
  conditions.model = "m";
  const SweepResult result = conclude_sweep(records, conditions, 7);
  EXPECT_TRUE(result.profile.void_because.empty());
  const auto text = sweep_json(result).dump();
  auto json = base::parse_json(text);
  ASSERT_TRUE(json.ok()) << json.error().message;
  auto profile = parse_profile(*json);
  ASSERT_TRUE(profile.ok()) << profile.error().where << profile.error().message;
  ASSERT_EQ(profile->points.size(), result.profile.points.size());
  EXPECT_EQ(profile->conditions.model, "m");
  const Split again = Split::of(profile->points, profile->seed);
  EXPECT_EQ(again.exchange_rate(500, 500).value, result.split.exchange_rate(500, 500).value);
  EXPECT_EQ(again.exchange_rate(500, 500).interval.low,
            result.split.exchange_rate(500, 500).interval.low);
}

TEST(Sweep, ABufferedServerIsVoidAndSaysWhy) {
  Truth truth;
  truth.held_back = 0.95;
  const SweepResult result = conclude_sweep(simulated_sweep(truth, 5), {}, 7);
  ASSERT_FALSE(result.profile.void_because.empty());
  bool is_named = false;
  for (const std::string& reason : result.profile.void_because) {
    is_named |= reason.find("TTFT void") != std::string::npos;
  }
  EXPECT_TRUE(is_named);
}

TEST(Sweep, S166_TheTemplateIsAFixedCostAndMovesNoSlope) {
  // The same server asked by two ways: one counts 40 tokens of template with every prompt.
  std::vector<RequestRecord> bare = simulated_sweep({}, 8), chat;
  for (const RequestRecord& record : bare) {
    const int64_t prompt = *record.prompt.usage;
    auto with = simulated({}, record.asked.arm, prompt + 40, *record.output.usage, 9, record.index);
    with.asked.prompt_tokens = prompt;
    chat.push_back(with);
  }
  const Split a = Split::of(points_of(bare), 1), b = Split::of(points_of(chat), 1);
  const Estimate slope_a = a.prompt_token_ms(0), slope_b = b.prompt_token_ms(0);
  EXPECT_LT(std::max(slope_a.interval.low, slope_b.interval.low),
            std::min(slope_a.interval.high, slope_b.interval.high));
  EXPECT_EQ(b.prompt_range().low - a.prompt_range().low, 40);
}

TEST(Profile, ForeignBytesAreRefusedByMember) {
  const auto where = [](std::string_view text) {
    auto json = base::parse_json(text);
    EXPECT_TRUE(json.ok());
    auto profile = parse_profile(*json);
    return profile.ok() ? std::string("accepted") : profile.error().where;
  };
  EXPECT_EQ(where("{}"), "pawl_profile");
  EXPECT_EQ(where("[]"), "pawl_profile");
  EXPECT_EQ(where(R"({"pawl_profile":2})"), "pawl_profile");
  EXPECT_EQ(where(R"({"pawl_profile":1,"conditions":{},"seed":1,"void_because":[],"points":[{}]})"),
            "points[0].arm");
  EXPECT_EQ(where(R"({"pawl_profile":1,"conditions":{},"seed":-1})"), "seed");
}

TEST(Compare, SaysWhichIsSlowerAndWhatEachRuleWouldHaveSaid) {
  // A machine with an exchange rate of about 6: far below where the order of these shapes turns.
  Truth cpu;
  cpu.start = 20, cpu.per_prompt = 2, cpu.per_output = 12, cpu.per_context = 0;
  std::vector<RequestRecord> records;
  for (int i = 0; i < 10; ++i) {
    records.push_back(simulated(cpu, "a", 2000, 5, 1, 2 * i));
    records.push_back(simulated(cpu, "b", 20, 200, 1, 2 * i + 1));
  }
  const auto comparison = conclude_comparison(records, 1);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->slower, Slower::kA);
  EXPECT_EQ(comparison->by_output, Slower::kB);
  EXPECT_EQ(comparison->by_total, Slower::kA);
  EXPECT_NEAR(*comparison->flips_at, 1980. / 195, 1e-9);
  ASSERT_TRUE(comparison->exchange);
  EXPECT_LE(comparison->exchange->interval.low, 6.0);
  EXPECT_GE(comparison->exchange->interval.high, 6.0);
  EXPECT_GT(comparison->a.before_ms, comparison->a.after_ms);
  EXPECT_LT(comparison->b.before_ms, comparison->b.after_ms);
  EXPECT_FALSE(conclude_comparison(std::span(records).first(3), 1));
}

TEST(Compare, EqualShapesCannotBeTold) {
  int decided = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 10; ++i) {
      records.push_back(simulated({}, i % 2 == 0 ? "a" : "b", 100, 20, seed, i));
    }
    decided += conclude_comparison(records, seed)->slower != Slower::kCannotTell;
  }
  EXPECT_LE(decided, 12);  // of 100, at 95 %
}

}  // namespace
}  // namespace pawl::lab
