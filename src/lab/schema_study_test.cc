// SPDX-License-Identifier: Apache-2.0
// What a study concludes from records that are made by hand: costs, agreement, and verdicts that
// must be able to fail.
#include "lab/schema_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "lab/simulated_answer.h"

namespace pawl::lab {
namespace {

using base::Json;
using testing::made_record;
using testing::MadeToken;

Json json(std::string_view text) {
  auto value = base::parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value();
}

Json review_schema(bool is_score_first = false) {
  return json(std::string(R"({"type":"object","additionalProperties":false,)") +
              R"("required":["reasoning","score"],"properties":{)" +
              (is_score_first ? R"("score":{"type":"integer","minimum":1,"maximum":5},)" : "") +
              R"("reasoning":{"type":"string","maxLength":200})" +
              (is_score_first ? "" : R"(,"score":{"type":"integer","minimum":1,"maximum":5})") +
              "}}");
}

std::vector<StudyPrompt> prompts_of(size_t n) {
  std::vector<StudyPrompt> prompts;
  for (size_t i = 0; i < n; ++i) prompts.push_back({"review " + std::to_string(i), Json()});
  return prompts;
}

StudyPlan plan_of(const Json& schema, std::span<const StudyPrompt> prompts,
                  const StudyOptions& options = {}) {
  auto plan = plan_study(schema, prompts, options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return std::move(plan).value();
}

// {"reasoning":"w w …","score":N}: 100 ms to the first word, then 10 ms each.
RequestRecord answer(const std::string& arm, size_t prompt, int words, int score, int64_t ms = 10) {
  std::vector<MadeToken> tokens = {{"{\"", true, 4}};
  if (words > 0) {
    tokens.push_back({"reasoning\":\"", true, 0});
    for (int i = 0; i < words; ++i) tokens.push_back({"w ", false, i == 0 ? 96 : ms});
    tokens.push_back({"\",\"", true, 0});
  }
  tokens.push_back({"score\":", true, 0});
  tokens.push_back({std::to_string(score), false, words > 0 ? ms : 96});
  tokens.push_back({"}", true, 0});
  return made_record(arm, prompt, tokens, ms, 0);
}

std::string name_of(const StudyPlan& plan, VariantKind kind) {
  return plan.find(kind)->name;
}

const CancelVerdict* verdict(const Study& study, std::string_view name) {
  const auto found = std::find_if(study.verdicts.begin(), study.verdicts.end(),
                                  [&](const CancelVerdict& one) { return one.name == name; });
  return found == study.verdicts.end() ? nullptr : &*found;
}

// 20 prompts of ten words each: 100 + 10·10 ms of reasoning + 10 of the score.
struct Case {
  std::vector<StudyPrompt> prompts = prompts_of(20);
  StudyPlan plan = plan_of(review_schema(), prompts);
  std::vector<RequestRecord> records;

  Case() {
    for (size_t i = 0; i < prompts.size(); ++i) {
      const int words = 10 + static_cast<int>(i % 3);
      records.push_back(answer("full", i, words, 3));
      records.push_back(answer("stripped", i, words, 3));
      // Two of twenty decide otherwise without their reasoning.
      records.push_back(answer(name_of(plan, VariantKind::kNotAsked), i, 0, i < 2 ? 4 : 3));
      records.push_back(score_first(i, words, i < 2 ? 4 : 3));
    }
  }

  RequestRecord score_first(size_t prompt, int words, int score) const {
    std::vector<MadeToken> tokens = {{"{\"score\":", true, 4},
                                     {std::to_string(score), false, 96},
                                     {",\"reasoning\":\"", true, 0}};
    for (int i = 0; i < words; ++i) tokens.push_back({"w ", false, 10});
    tokens.push_back({"\"}", true, 0});
    return made_record("reordered", prompt, tokens, 10, 0);
  }
  Study conclude() const {
    auto study = conclude_study(plan, prompts, records);
    EXPECT_TRUE(study.has_value());
    return std::move(*study);
  }
};

TEST(SchemaPlan, LeavesEachFieldOutAndDropsTheReasoning) {
  const auto prompts = prompts_of(1);
  const StudyPlan plan = plan_of(review_schema(), prompts);
  std::vector<std::string> names;
  for (const StudyVariant& one : plan.variants) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"full", "stripped", "without reasoning",
                                             "without score", "reordered"}));
  // The prompt names no fields: leaving it out is not asking for it.
  EXPECT_EQ(plan.find(VariantKind::kNotAsked)->name, "without reasoning");
  EXPECT_EQ(plan.order, (std::vector<std::string>{"score", "reasoning"}));
  EXPECT_FALSE(plan.is_decision_first);
}

TEST(SchemaPlan, WhatThePromptNamesIsNotNamedWhereItIsNotAskedFor) {
  std::vector<StudyPrompt> prompts = prompts_of(1);
  prompts[0].text += " {fields}";
  const StudyPlan plan = plan_of(review_schema(true), prompts);
  ASSERT_NE(plan.find(VariantKind::kNotAsked), nullptr);
  EXPECT_EQ(plan.find(VariantKind::kNotAsked)->name, "not asked: reasoning");
  EXPECT_EQ(plan.find(VariantKind::kNotAsked)->told, "score");
  EXPECT_EQ(plan.find(VariantKind::kWithout)->told, "score; reasoning");
  EXPECT_EQ(plan.find(VariantKind::kFull)->told, "score; reasoning");
  EXPECT_TRUE(plan.is_decision_first);
  EXPECT_EQ(plan.order, (std::vector<std::string>{"reasoning", "score"}));
}

TEST(SchemaPlan, OpenObjectsAreClosedAndThatIsSaid) {
  const auto prompts = prompts_of(1);
  const StudyPlan plan = plan_of(
      json(R"({"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}}})"),
      prompts);
  for (const StudyVariant& one : plan.variants) {
    EXPECT_EQ(one.schema.find("additionalProperties")->to_bool(), false) << one.name;
  }
  EXPECT_EQ(plan.notes.size(), 1);
}

TEST(SchemaPlan, FieldsAndVariantsThatAreNotThereAreNamed) {
  const auto prompts = prompts_of(1);
  StudyOptions options;
  options.drop = {{"nope"}};
  EXPECT_NE(plan_study(review_schema(), prompts, options).error().message.find("nope"),
            std::string::npos);
  options = {};
  options.variants = {"stripes"};
  EXPECT_NE(plan_study(review_schema(), prompts, options).error().message.find("stripes"),
            std::string::npos);
}

TEST(SchemaPlan, EveryRequestComesOnceAndOnlyTheRestAgain) {
  const auto requests = study_requests(3, 4, 2, 1);
  EXPECT_EQ(requests.size(), 3 + 24);
  std::set<std::tuple<size_t, size_t, int64_t>> seen;
  for (const StudyRequest& one : requests) {
    if (!one.is_warm_up) seen.insert({one.prompt, one.variant, one.repetition});
  }
  EXPECT_EQ(seen.size(), 24);
  const Case made;
  const auto all = study_requests(made.plan.variants.size(), 20, 1, 1);
  const auto rest = remaining_requests(made.plan, all, made.records);
  // "without score" was not asked yet, and each variant is warmed up once more.
  EXPECT_EQ(rest.size(), made.plan.variants.size() + 20);
}

TEST(SchemaPrompts, AreLinesOfTextOrObjects) {
  const auto prompts =
      parse_study_prompts("one\r\n\n{\"prompt\":\"two\\nlines\",\"expected\":{\"score\":4}}\n");
  ASSERT_TRUE(prompts.ok());
  ASSERT_EQ(prompts->size(), 2);
  EXPECT_EQ((*prompts)[0].text, "one");
  EXPECT_EQ((*prompts)[1].text, "two\nlines");
  EXPECT_EQ((*prompts)[1].expected.find("score")->to_int64(), 4);
  for (const std::string_view wrong : {"", "\n", "{\"prompt\":1}", "{\"prompt\":\"\"}", "{",
                                       "{\"prompt\":\"a\",\"expected\":3}"}) {
    EXPECT_FALSE(parse_study_prompts(wrong).ok()) << wrong;
  }
}

TEST(SchemaStudy, ClaimsHoldWhereTheyAreSo) {
  const Study study = Case().conclude();
  for (const std::string_view name : {"complete", "stripped", "not asked", "order"}) {
    ASSERT_NE(verdict(study, name), nullptr) << name;
    EXPECT_EQ(verdict(study, name)->outcome, Outcome::kHolds) << verdict(study, name)->reason;
  }
  EXPECT_FALSE(study.has_failed());
  // Words 10, 11, 12 … of 10 ms: 110 ms in the mean; 100 before, 10 for the score.
  const double words = (7 * 10 + 7 * 11 + 6 * 12) / 20.0;
  EXPECT_NEAR(study.bill.find({"reasoning"})->ms.value, words * 10, 1e-9);
  EXPECT_NEAR(study.bill.find({"score"})->ms.value, 10, 1e-9);
  const VariantResult& not_asked = *study.find(VariantKind::kNotAsked);
  EXPECT_NEAR(not_asked.saved_ms->value, words * 10, 1e-9);
  EXPECT_NEAR(not_asked.over_bill->ratio.value, 1, 1e-9);
  EXPECT_NEAR(*not_asked.billed_share, words * 10 / (110 + words * 10), 1e-9);
}

TEST(SchemaStudy, S175_AgreementComesWithNSelfAgreementAndIntervalAndIsNeverCalledSafe) {
  const Case made;
  const Study study = made.conclude();
  const VariantResult& trimmed = *study.find(VariantKind::kNotAsked);
  ASSERT_EQ(trimmed.agreement.size(), 1);
  const Agreement& score = trimmed.agreement[0];
  EXPECT_EQ(score.n, 20);
  EXPECT_EQ(score.same, 18);
  // 2 of 20, exact 95 % limits of published tables.
  EXPECT_NEAR(score.changed.low, 0.0123, 5e-5);
  EXPECT_NEAR(score.changed.high, 0.3170, 5e-5);
  EXPECT_NEAR(*score.mean_full, 3, 1e-9);
  EXPECT_NEAR(*score.mean_here, 3.1, 1e-9);
  const auto self = std::find_if(study.self.begin(), study.self.end(), [](const Agreement& one) {
    return one.field == FieldPath{"score"};
  });
  ASSERT_NE(self, study.self.end());
  EXPECT_EQ(self->n, 20);
  EXPECT_EQ(self->same, 20);
  EXPECT_GT(trimmed.saved_share->value, 0.4);

  const Json document = study_json(made.plan, study, review_schema(), nullptr, {});
  const Json* const variant = [&] {
    const Json* found = nullptr;
    for (const Json& one : *document.find("variants")->as_array()) {
      if (*one.find("kind")->as_string() == "not asked") found = &one;
    }
    return found;
  }();
  ASSERT_NE(variant, nullptr);
  const Json& said = (*variant->find("agreement")->as_array())[0];
  for (const std::string_view key : {"n", "same", "changed"})
    EXPECT_NE(said.find(key), nullptr) << key;
  for (const std::string_view key : {"share", "low", "high"}) {
    EXPECT_NE(said.find("changed")->find(key), nullptr) << key;
  }
  EXPECT_FALSE(document.find("self_agreement")->as_array()->empty());
  EXPECT_EQ(document.dump().find("safe"), std::string::npos);
}

TEST(SchemaStudy, StrippingThatSavesTimeRefutesTheClaim) {
  Case made;
  for (RequestRecord& record : made.records) {
    if (record.asked.arm != "stripped") continue;
    const size_t prompt = std::strtoul(record.asked.label.c_str(), nullptr, 10);
    record = answer("stripped", prompt, 10 + static_cast<int>(prompt % 3), 3, 5);
  }
  const Study study = made.conclude();
  EXPECT_EQ(verdict(study, "stripped")->outcome, Outcome::kFails);
  EXPECT_TRUE(study.has_failed());
}

TEST(SchemaStudy, NoiseDecidesNothing) {
  Case made;
  for (RequestRecord& record : made.records) {
    if (record.asked.arm != "stripped") continue;
    const size_t prompt = std::strtoul(record.asked.label.c_str(), nullptr, 10);
    record = answer("stripped", prompt, 10 + static_cast<int>(prompt % 3), 3, prompt % 2 ? 4 : 17);
  }
  EXPECT_EQ(verdict(made.conclude(), "stripped")->outcome, Outcome::kUnverified);
}

TEST(SchemaStudy, NotAskingThatSavesHalfOfTheShareRefutesTheClaim) {
  Case made;
  const std::string arm = name_of(made.plan, VariantKind::kNotAsked);
  for (RequestRecord& record : made.records) {
    if (record.asked.arm == arm) *record.closed_ns += 55'000'000;
  }
  EXPECT_EQ(verdict(made.conclude(), "not asked")->outcome, Outcome::kFails);
}

// "why" of 20 words, and a note; a word takes 10 ms, the end `more_ms` longer.
RequestRecord noted(const std::string& arm, size_t prompt, int words, bool has_why,
                    double more_ms = 0) {
  std::vector<MadeToken> tokens = {{"{\"", true, 4}};
  if (has_why) {
    tokens.push_back({"why\":\"", true, 0});
    for (int i = 0; i < 20; ++i) tokens.push_back({"w ", false, i == 0 ? 96 : 10});
    tokens.push_back({"\",\"", true, 0});
  }
  tokens.push_back({"note\":\"", true, 0});
  for (int i = 0; i < words; ++i) tokens.push_back({"n ", false, i == 0 && !has_why ? 96 : 10});
  tokens.push_back({"\"}", true, 0});
  RequestRecord record = made_record(arm, prompt, tokens, 10, 0);
  *record.closed_ns += static_cast<int64_t>(more_ms * 1e6);
  return record;
}

TEST(SchemaStudy, WhatTheOthersBecameLongerIsToldApart) {
  const auto prompts = prompts_of(6);
  const Json schema = json(
      R"({"type":"object","additionalProperties":false,"required":["why","note"],
          "properties":{"why":{"type":"string","maxLength":90},"note":{"type":"string","maxLength":90}}})");
  const StudyPlan plan = plan_of(schema, prompts);
  std::vector<RequestRecord> records;
  for (size_t i = 0; i < 6; ++i) {
    records.push_back(noted("full", i, 10, true));
    records.push_back(noted(name_of(plan, VariantKind::kNotAsked), i, 20, false));
  }
  const auto study = conclude_study(plan, prompts, records);
  ASSERT_TRUE(study.has_value());
  const VariantResult& variant = *study->find(VariantKind::kNotAsked);
  // 20 words are not asked for, 10 more are written elsewhere.
  EXPECT_NEAR(variant.saved_ms->value, 100, 1e-9);
  EXPECT_NEAR(*variant.billed_ms, 200, 1e-9);
  EXPECT_NEAR(variant.over_bill->ratio.value, 0.5, 1e-9);
  EXPECT_NEAR(variant.rest_tokens, 10, 1e-9);
  EXPECT_FALSE(variant.alike.has_value()) << "no note is what it was";
  EXPECT_NEAR(variant.at_length->ratio.value, 1, 1e-9);
  EXPECT_EQ(verdict(*study, "not asked")->outcome, Outcome::kHolds);
  for (const char* part :
       {"change of length aside: 1.00 times", "as it came: 0.50", "+10.0 tokens"}) {
    EXPECT_NE(verdict(*study, "not asked")->reason.find(part), std::string::npos)
        << verdict(*study, "not asked")->reason;
  }
}

// Of eight prompts two get a longer note when "why" is not asked for.
TEST(SchemaStudy, LikeIsComparedWithLikeAndTheRestIsToldApart) {
  const auto prompts = prompts_of(8);
  const Json schema = json(
      R"({"type":"object","additionalProperties":false,"required":["why","note"],
          "properties":{"why":{"type":"string","maxLength":90},"note":{"type":"string","maxLength":90}}})");
  const StudyPlan plan = plan_of(schema, prompts);
  const auto conclude = [&](double more_ms) {
    std::vector<RequestRecord> records;
    for (size_t i = 0; i < 8; ++i) {
      records.push_back(noted("full", i, 10, true));
      records.push_back(
          noted(name_of(plan, VariantKind::kNotAsked), i, i < 2 ? 30 : 10, false, more_ms));
    }
    return *conclude_study(plan, prompts, records);
  };
  const Study study = conclude(0);
  const VariantResult& variant = *study.find(VariantKind::kNotAsked);
  ASSERT_TRUE(variant.alike.has_value());
  EXPECT_EQ(variant.alike->n, 6);
  EXPECT_NEAR(variant.alike->ratio.value, 1, 1e-9);
  // Two of eight wrote 20 words more: a quarter of 200 ms.
  EXPECT_NEAR(variant.over_bill->ratio.value, 0.75, 1e-9);
  EXPECT_EQ(verdict(study, "not asked")->outcome, Outcome::kHolds);
  // Saved by half too little in like answers: their number does not hide it.
  EXPECT_EQ(verdict(conclude(100), "not asked")->outcome, Outcome::kFails);
}

TEST(SchemaStudy, AScoreThatDependsOnWhatComesBehindItRefutesTheOrder) {
  Case made;
  for (RequestRecord& record : made.records) {
    if (record.asked.arm == "reordered" && record.asked.label == "7") {
      record = made.score_first(7, 11, 5);
    }
  }
  const Study study = made.conclude();
  EXPECT_EQ(verdict(study, "order")->outcome, Outcome::kFails);
  EXPECT_NE(verdict(study, "order")->reason.find("19 of 20"), std::string::npos);
}

TEST(SchemaStudy, ATokenThatIsNotInTheBillIsFound) {
  Case made;
  made.records[0].output.usage = *made.records[0].output.usage + 5;
  EXPECT_EQ(verdict(made.conclude(), "complete")->outcome, Outcome::kFails);
}

TEST(SchemaStudy, S176_AnswersThatRanOutOfTokensAreCountedApart) {
  Case made;
  made.records[0].finish_reason = "length";
  made.records[0].text = R"({"reasoning":"w w)";
  made.records[4].finish_reason = "length";
  made.records[4].text = "";
  made.records[4].reasoning = "hm";
  made.records[8].state = RequestState::kFailed;
  const Study study = made.conclude();
  const VariantResult& full = study.variants.front();
  EXPECT_EQ(full.asked, 20);
  EXPECT_EQ(full.answers, 17);
  EXPECT_EQ(full.incomplete, 1);
  EXPECT_EQ(full.no_answer_budget, 1);
  EXPECT_EQ(full.failed, 1);
  EXPECT_EQ(study.find(VariantKind::kNotAsked)->pairs, 17);
}

TEST(SchemaStudy, ValuesThatAreKnownToBeRightAreCounted) {
  Case made;
  for (StudyPrompt& prompt : made.prompts) prompt.expected = json(R"({"score":3})");
  const Study study = made.conclude();
  EXPECT_EQ(study.variants.front().rightness.at(0).right, 20);
  EXPECT_EQ(study.find(VariantKind::kNotAsked)->rightness.at(0).right, 18);
}

TEST(SchemaStudy, WithoutAFullAnswerThereIsNone) {
  Case made;
  std::erase_if(made.records, [](const RequestRecord& one) { return one.asked.arm == "full"; });
  EXPECT_FALSE(conclude_study(made.plan, made.prompts, made.records).has_value());
}

}  // namespace
}  // namespace pawl::lab
