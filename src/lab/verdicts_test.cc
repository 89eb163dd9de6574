// SPDX-License-Identifier: Apache-2.0
#include "lab/verdicts.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "lab/simulated_sweep.h"

namespace pawl::lab {
namespace {

using testing::simulated;
using testing::simulated_sweep;
using testing::Truth;

std::vector<Verdict> judged(const std::vector<RequestRecord>& records) {
  const auto points = without_cut(points_of(records));
  const Split split = Split::of(points, 1);
  std::vector<Additivity> rows;
  if (split.is_usable()) rows = test_additivity(split, points, 1);
  return judge_all(records, points_of(records), split, rows, 1);
}

Verdict named(const std::vector<Verdict>& verdicts, std::string_view name) {
  for (const Verdict& verdict : verdicts) {
    if (verdict.name == name) return verdict;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(Verdicts, AnHonestServerHasNoneFound) {
  int alarms = 0;
  constexpr int kRuns = 100;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    for (const Verdict& verdict : judged(simulated_sweep({}, seed + 11))) {
      alarms += verdict.finding == Finding::kFound;
    }
  }
  EXPECT_LE(alarms, 2) << "in " << kRuns << " sweeps";
}

TEST(Verdicts, AFastHonestStreamIsNoBufferAndNoCache) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Truth truth;
    truth.start = 5, truth.per_prompt = 0.01;
    truth.per_output = 0.01, truth.per_context = 0;  // 100,000 tokens per second
    truth.noise = 0.1;
    for (const Verdict& verdict : judged(simulated_sweep(truth, seed))) {
      if (verdict.finding != Finding::kFound || !verdict.voids_split) continue;
      ++alarms;
      std::printf("%s: %s\n", verdict.name.c_str(), verdict.text.c_str());
    }
  }
  EXPECT_LE(alarms, 2);
}

TEST(Verdicts, ABufferingProxyVoidsTheTimeToFirstToken) {
  Truth truth;
  truth.held_back = 0.98;
  const Verdict verdict = named(judged(simulated_sweep(truth, 1)), "buffering");
  EXPECT_EQ(verdict.finding, Finding::kFound) << verdict.text;
  EXPECT_TRUE(verdict.voids_split);
  EXPECT_NE(verdict.text.find("TTFT void"), std::string::npos) << verdict.text;
  truth.held_back = 0;
  EXPECT_EQ(named(judged(simulated_sweep(truth, 1)), "buffering").finding, Finding::kClear);
}

TEST(Verdicts, S162_ACutPromptIsNamedWithItsNumberAndLeavesTheFit) {
  std::vector<RequestRecord> records;
  for (int rep = 0; rep < 5; ++rep) {
    for (const int64_t asked : {256, 512, 1024, 2048, 4096, 8192}) {
      auto record = simulated({}, std::string(kPromptArm), std::min<int64_t>(asked, 2048), 16, 5,
                              static_cast<int64_t>(records.size()));
      record.asked.prompt_tokens = asked;
      records.push_back(record);
    }
    records.push_back(
        simulated({}, std::string(kOutputArm), 256, 64, 5, static_cast<int64_t>(records.size())));
  }
  const auto verdict = named(judged(records), "prompt cut");
  EXPECT_EQ(verdict.finding, Finding::kFound);
  EXPECT_NE(verdict.text.find("prompt cut at 2048"), std::string::npos) << verdict.text;
  const auto kept = without_cut(points_of(records));
  EXPECT_EQ(kept.size(), records.size() - 10);
  for (const Point& point : kept) EXPECT_LE(point.prompt_asked, 2048);
}

TEST(Verdicts, S158_HitsOfMeasuredPromptsAreFoundAndAFewAreNot) {
  auto records = simulated_sweep({}, 1);
  for (RequestRecord& record : records) record.cached_tokens = 1;
  EXPECT_EQ(named(judged(records), "cache").finding, Finding::kClear);
  for (RequestRecord& record : records) record.cached_tokens = *record.prompt.usage * 98 / 100;
  const Verdict verdict = named(judged(records), "cache");
  EXPECT_EQ(verdict.finding, Finding::kFound);
  EXPECT_TRUE(verdict.voids_split);
  EXPECT_NE(verdict.text.find("97."), std::string::npos) << verdict.text;
}

TEST(Verdicts, S166_ATemplateThatACacheHoldsIsNoHitAndMovesNoStartUp) {
  // 22 tokens of template in every prompt cost nothing, as a cache holds them.
  auto records = simulated_sweep({}, 3);
  for (RequestRecord& record : records) {
    record.prompt.usage = *record.prompt.usage + 22;
    record.cached_tokens = 22;
  }
  const auto points = points_of(records);
  EXPECT_EQ(shared_head(points), 22);
  EXPECT_EQ(named(judged(records), "cache").finding, Finding::kClear);
  const Split split = Split::of(points, 1), bare = Split::of(points_of(simulated_sweep({}, 3)), 1);
  ASSERT_TRUE(split.is_usable());
  EXPECT_NEAR(split.start_up_coefficient(0).value, bare.start_up_coefficient(0).value, 1e-6);
  EXPECT_NEAR(split.first_token_ms(522).value, bare.first_token_ms(500).value, 1e-6);
}

TEST(Verdicts, S163_HitsInBlocksAreAcceptedAndTheBlockIsNamed) {
  EXPECT_EQ(block_size(std::vector<Hit>{{1200, 1024}}), 256);
  EXPECT_EQ(block_size(std::vector<Hit>{{1200, 1024}, {300, 256}, {700, 512}}), 256);
  EXPECT_EQ(block_size(std::vector<Hit>{{100, 96}, {70, 64}, {90, 80}}), 16);
  EXPECT_FALSE(block_size(std::vector<Hit>{{1000, 300}, {1000, 301}}));
  EXPECT_FALSE(block_size(std::vector<Hit>{{1000, 0}}));
  EXPECT_EQ(block_size(std::vector<Hit>{{256, 255}, {100, 99}}), 1);
  std::vector<RequestRecord> records;
  for (int pair = 0; pair < 3; ++pair) {
    for (const bool is_again : {false, true}) {
      Truth truth;
      if (is_again) truth.per_prompt = 0.06;
      auto record = simulated(truth, std::string(kProbeArm), 1200, 8, 1, pair * 2 + is_again);
      record.asked.label = is_again ? "again" : "first";
      record.asked.prompt_digest = std::to_string(pair);
      record.cached_tokens = is_again ? 1024 : 0;
      records.push_back(record);
    }
  }
  const auto probe = read_cache_probe(records);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->pairs, 3);
  EXPECT_TRUE(probe->is_cached);
  EXPECT_EQ(probe->block, 256);
  EXPECT_NE(probe->text.find("blocks of 256"), std::string::npos) << probe->text;
}

TEST(Verdicts, S160_AStartThatAlternatesIsTwoGroups) {
  std::vector<RequestRecord> records;
  for (int i = 0; i < 40; ++i) {
    Truth truth;
    truth.start = i % 2 == 0 ? 50 : 500;
    truth.per_prompt = 0;
    records.push_back(simulated(truth, std::string(kPromptArm), 128, 16, 1, i));
  }
  const Verdict verdict = judge_groups(points_of(records), nullptr);
  EXPECT_EQ(verdict.finding, Finding::kFound);
  EXPECT_NE(verdict.text.find("20 requests around"), std::string::npos) << verdict.text;
}

TEST(Verdicts, S157_RepeatedPromptsAreCounted) {
  auto records = simulated_sweep({}, 1);
  EXPECT_EQ(judge_prompts(records).finding, Finding::kClear);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].asked.prompt_digest = std::to_string(i % 12);
  }
  const Verdict verdict = judge_prompts(records);
  EXPECT_EQ(verdict.finding, Finding::kFound);
  EXPECT_NE(verdict.text.find("12 different prompts in 60"), std::string::npos) << verdict.text;
}

TEST(Verdicts, S159_AWarmUpPromptAmongTheMeasuredIsFound) {
  auto records = simulated_sweep({}, 1);
  records.push_back(records[0]);
  records.back().asked.is_warm_up = true;
  EXPECT_EQ(judge_prompts(records).finding, Finding::kFound);
  records.back().asked.prompt_digest = "another";
  EXPECT_EQ(judge_prompts(records).finding, Finding::kClear);
}

TEST(Verdicts, NeighboursInTheBatchShowAsSteps) {
  std::vector<RequestRecord> records;
  for (int i = 0; i < 20; ++i) {
    records.push_back(
        simulated({}, std::string(kOutputArm), 128, 64, 1, i, [&](int64_t token, double ms) {
          const double jitter =
              1 + 0.1 * standard_normal(7, static_cast<uint64_t>(i * 100 + token));
          const bool is_shared = i % 2 == 0 && token > 20 + i;
          return ms * jitter * (is_shared ? 1.8 : 1);
        }));
  }
  const Verdict verdict = judge_batching(records);
  EXPECT_EQ(verdict.finding, Finding::kFound) << verdict.text;
  EXPECT_EQ(judge_chunked_prefill(records).finding, Finding::kClear);
}

TEST(Verdicts, AGrowingContextIsNoStep) {
  std::vector<RequestRecord> records;
  for (int i = 0; i < 20; ++i) {
    records.push_back(simulated(
        {}, std::string(kOutputArm), 128, 128, 1, i,
        [](int64_t token, double ms) { return ms * (1 + 0.01 * static_cast<double>(token)); }));
  }
  EXPECT_EQ(judge_batching(records).finding, Finding::kClear);
}

TEST(Verdicts, ChunksOfANeighboursPromptAreLongGapsOfOneLength) {
  const auto with_stalls = [](bool is_alike) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < 10; ++i) {
      records.push_back(
          simulated({}, std::string(kOutputArm), 128, 100, 1, i, [&](int64_t token, double ms) {
            if (token % 20 != 10) return ms;
            const double u = base::uniform(1, static_cast<uint64_t>(i * 1000 + token), 0);
            return ms + (is_alike ? 100 + 5 * u : 30 * std::pow(20, u));
          }));
    }
    return judge_chunked_prefill(records);
  };
  const Verdict alike = with_stalls(true);
  EXPECT_EQ(alike.finding, Finding::kFound) << alike.text;
  EXPECT_TRUE(alike.voids_split);
  const Verdict various = with_stalls(false);
  EXPECT_EQ(various.finding, Finding::kClear) << various.text;
}

TEST(Verdicts, S131_BundledEventsAreNoSpeed) {
  std::vector<RequestRecord> records;
  for (int i = 0; i < 5; ++i) {
    records.push_back(
        simulated({}, std::string(kOutputArm), 128, 100, 1, i,
                  [](int64_t token, double) { return token % 10 == 0 ? 100. : 0.02; }));
  }
  const Verdict verdict = judge_bundling(records);
  EXPECT_EQ(verdict.finding, Finding::kFound);
  EXPECT_NE(verdict.text.find("91 % of gaps"), std::string::npos) << verdict.text;
  EXPECT_NE(verdict.text.find("bundled"), std::string::npos);
}

TEST(Verdicts, S156_ShorterAnswersAreCountedAndStandAtTheirRealLength) {
  std::vector<RequestRecord> records;
  for (int rep = 0; rep < 60; ++rep) {
    const int64_t output = rep % 3 == 0 ? 50 + rep * 2 : 256;
    auto record = simulated({}, std::string(kOutputArm), 128 + rep % 4 * 100, output, 1, rep);
    record.asked.output_tokens = 256;
    records.push_back(record);
  }
  EXPECT_NE(judge_counts(records).text.find("20 answered shorter"), std::string::npos);
  const Split split = Split::of(points_of(records), 1);
  const Estimate token = split.output_token_ms(300);
  EXPECT_LE(token.interval.low, 12.6);
  EXPECT_GE(token.interval.high, 12.6);
}

}  // namespace
}  // namespace pawl::lab
