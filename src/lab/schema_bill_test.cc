// SPDX-License-Identifier: Apache-2.0
// The bill of answers whose tokens are known: sums by hand.
#include "lab/schema_bill.h"

#include <gtest/gtest.h>

#include "lab/simulated_answer.h"

namespace pawl::lab {
namespace {

using testing::made_record;
using testing::MadeToken;

// The path of each byte, one letter for each field in order, '.' for the braces.
std::string owners_of(std::string_view text) {
  const AnswerFields fields = fields_of(text);
  std::string letters;
  for (const int32_t owner : fields.owners) {
    letters += owner == 0 ? '.' : static_cast<char>('a' + owner - 1);
  }
  return letters;
}

TEST(AnswerFields, AFieldOwnsItsNameItsValueAndTheCommaBehindIt) {
  EXPECT_EQ(owners_of(R"({"x":1,"yy":"a,b"})"), R"(.aaaaaabbbbbbbbbb.)");
}

TEST(AnswerFields, QuotesAndBracesInsideOfStringsAreText) {
  EXPECT_EQ(owners_of(R"({"x":"\"}\\","y":[]})"), R"(.aaaaaaaaaaaabbbbbb.)");
}

TEST(AnswerFields, MembersOfNestedObjectsAndOfItemsHaveFieldsOfTheirOwn) {
  const std::string_view text = R"({"o":{"n":1},"l":[{"n":2},{"n":3}]})";
  const AnswerFields fields = fields_of(text);
  const std::vector<FieldPath> expected = {{}, {"o"}, {"o", "n"}, {"l"}, {"l", "n"}};
  EXPECT_EQ(fields.paths, expected);
  EXPECT_EQ(owners_of(text), ".aaaaabbbbbaaccccccdddddcccdddddcc.");
}

TEST(AnswerFields, WhatEndsEarlyOrIsNoJsonHasAnOwnerForEachByte) {
  for (const std::string_view text :
       {"", "{", R"({"x)", R"({"x":"a\)", "}}]]", "[[[[", R"("a":1,"b")", "\xff{\"\xff\":,,}"}) {
    EXPECT_EQ(fields_of(text).owners.size(), text.size()) << text;
  }
}

TEST(AnswerFields, ValuesAreFoundThroughObjectsAndArrays) {
  const auto answer = base::parse_json(R"({"o":{"n":1},"l":[{"n":2},{"m":0},{"n":3}],"z":null})");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(value_at(*answer, {"o", "n"})->dump(), "1");
  EXPECT_EQ(value_at(*answer, {"l", "n"})->dump(), base::parse_json("[2,3]")->dump());
  EXPECT_TRUE(value_at(*answer, {"z"})->is_null());
  EXPECT_FALSE(value_at(*answer, {"q"}).has_value());
  EXPECT_EQ(without(*answer, {{"o"}, {"l", "n"}, {"no"}}).dump(),
            base::parse_json(R"({"l":[{},{"m":0},{}],"z":null})")->dump());
}

// {"why":"ab","score":3} in tokens; arrival of each in ms after the sending:
//   {" 5  why 5  ":" 5 (forced) | a 100 | b 110 | "," 120 | score 120  ": 120 (forced) | 3 132
//   } 132 (forced) | end 141 | closed 142
RequestRecord hand_made() {
  return made_record("full", 0,
                     {{"{\"", true, 5},
                      {"why", true, 0},
                      {"\":\"", true, 0},
                      {"a", false, 95},
                      {"b", false, 10},
                      {"\",\"", false, 10},
                      {"score", true, 0},
                      {"\":", true, 0},
                      {"3", false, 12},
                      {"}", true, 0}});
}

TEST(SchemaBill, ChosenTokensCostThePassThatTakesThemIn) {
  const auto bill = bill_of(hand_made());
  ASSERT_TRUE(bill.has_value());
  EXPECT_DOUBLE_EQ(bill->start_ms, 100);
  const FieldCost why = bill->under({"why"}), score = bill->under({"score"});
  // {" why ":" a b and "," of which two bytes close "why": 10 + 10 + 12 ms.
  EXPECT_EQ(why.tokens, 6);
  EXPECT_EQ(why.forced, 3);
  EXPECT_DOUBLE_EQ(why.ms, 32);
  // score ": 3, and the pass that chose the end token.
  EXPECT_EQ(score.tokens, 3);
  EXPECT_EQ(score.forced, 2);
  EXPECT_DOUBLE_EQ(score.ms, 9);
  EXPECT_EQ(bill->fields.front().tokens, 1);  // }
  EXPECT_DOUBLE_EQ(bill->fields.front().ms, 0);
  EXPECT_EQ(bill->end_tokens, 1);
  EXPECT_DOUBLE_EQ(bill->end_ms, 1);
  EXPECT_EQ(bill->tokens(), 11);
  EXPECT_DOUBLE_EQ(bill->start_ms + why.ms + score.ms + bill->end_ms, bill->whole_ms);
}

TEST(SchemaBill, WhatOnlyLeadsToAFieldIsThatFields) {
  // A comma that stands with the next quote is there for the next field, one that stands with the
  // end of a value is not: without the next field that token would close the object instead.
  const auto bill = bill_of(made_record("full", 0,
                                        {{"{\"a\":", true, 5},
                                         {"[]", false, 95},
                                         {",\"", false, 10},
                                         {"b\":\"", true, 0},
                                         {"x", false, 12},
                                         {"\",\"", false, 14},
                                         {"c\":", true, 0},
                                         {"1", false, 16},
                                         {"}", true, 0}}));
  EXPECT_DOUBLE_EQ(bill->under({"a"}).ms, 10);
  EXPECT_DOUBLE_EQ(bill->under({"b"}).ms, 12 + 14 + 16);
  EXPECT_DOUBLE_EQ(bill->under({"c"}).ms, 9);
}

TEST(SchemaBill, AForcedTokenIsBilledWhatItMakesThePassLonger) {
  const auto bill = bill_of(hand_made(), 0.25);
  // The pass of "," took 12 ms with score and ": in it: 12 = 8 · (1 + 2 · 0.25), so 2 ms each. That
  // of 3 took 9 ms with }: 9 = 7.2 · 1.25. What was forced behind the prompt is the prompt's.
  EXPECT_DOUBLE_EQ(bill->start_ms, 100);
  EXPECT_DOUBLE_EQ(bill->under({"why"}).ms, 10 + 10 + 8);
  EXPECT_DOUBLE_EQ(bill->under({"score"}).ms, 4 + 7.2);
  EXPECT_DOUBLE_EQ(bill->fields.front().ms, 1.8);
  EXPECT_DOUBLE_EQ(bill->start_ms + bill->under({}).ms + bill->end_ms, bill->whole_ms);
}

TEST(SchemaBill, ThePriceOfForcedTokensIsTheSlopeOverThePassesThatHoldThem) {
  // Passes of 10 ms, of 12 with one forced token and of 16 with three: 20 % each.
  std::vector<MadeToken> tokens = {{"{\"x\":\"", true, 0}, {"a", false, 50}};
  for (int i = 0; i < 8; ++i) {
    tokens.insert(tokens.end(), {{"b", false, 10},
                                 {"c", true, 0},
                                 {"d", false, 12},
                                 {"e", true, 0},
                                 {"f", true, 0},
                                 {"g", true, 0},
                                 {"h", false, 16}});
  }
  const RequestRecord record = made_record("full", 0, tokens);
  EXPECT_NEAR(forced_price(std::span(&record, 1)).value(), 0.2, 1e-12);
  // Seven passes of a kind are too few, and a server that tells nothing has no price.
  const RequestRecord few = made_record("full", 0, {tokens.begin(), tokens.end() - 7});
  EXPECT_FALSE(forced_price(std::span(&few, 1)).has_value());
  RequestRecord silent = record;
  for (RawEvent& event : silent.events) event.forced.reset();
  EXPECT_FALSE(forced_price(std::span(&silent, 1)).has_value());
}

TEST(SchemaBill, WithoutWordOfForcedTokensEachPaysUntilTheNext) {
  RequestRecord record = hand_made();
  for (RawEvent& event : record.events) event.forced.reset();
  const auto bill = bill_of(record);
  EXPECT_FALSE(bill->knows_forced);
  EXPECT_DOUBLE_EQ(bill->start_ms, 5);
  EXPECT_DOUBLE_EQ(bill->under({"why"}).ms, 95 + 10 + 10);
  EXPECT_DOUBLE_EQ(bill->under({"score"}).ms, 12);
  EXPECT_DOUBLE_EQ(bill->fields.front().ms, 9);
}

TEST(SchemaBill, SeveralTokensOfOneEventShareItsTextAndItsTime) {
  RequestRecord record = hand_made();
  // "a" and "b" in one event at 110.
  RawEvent& b = record.events[4];
  b.tokens = 2, b.forced = 0, b.answer_bytes = b.text_bytes = 2;
  record.events.erase(record.events.begin() + 3);
  const auto bill = bill_of(record);
  EXPECT_EQ(bill->tokens(), 11);
  EXPECT_EQ(bill->estimated_tokens, 2);
  // From 5 to 110 in halves: the first arrives at 57.5.
  EXPECT_DOUBLE_EQ(bill->start_ms, 57.5);
  EXPECT_DOUBLE_EQ(bill->under({"why"}).ms, 52.5 + 10 + 12);
}

TEST(SchemaBill, S176_ThinkingStandsApartFromTheFields) {
  RequestRecord record = hand_made();
  RawEvent thought = record.events[3];
  thought.kind = EventKind::kReasoning;
  thought.stamp_ns = *record.sent_ns + 2'000'000;
  thought.text_bytes = 6, thought.answer_bytes = 0;
  record.events.insert(record.events.begin(), thought);
  const auto bill = bill_of(record);
  EXPECT_EQ(bill->thinking.tokens, 1);
  EXPECT_DOUBLE_EQ(bill->start_ms, 2);
  EXPECT_DOUBLE_EQ(bill->thinking.ms, 98);  // until "a": the forced ones ride along
  EXPECT_EQ(bill->under({"why"}).tokens, 6);
  EXPECT_DOUBLE_EQ(bill->under({"why"}).ms, 32);
}

TEST(SchemaBill, SumsAreMeansOverAnswersAndSharesOfTheWhole) {
  std::vector<AnswerBill> bills = {*bill_of(hand_made()), *bill_of(hand_made())};
  for (FieldCost& field : bills[1].fields) field.ms *= 2;
  bills[1].whole_ms = 142 + 41;
  const Bill sum = sum_bills(bills);
  EXPECT_EQ(sum.answers, 2);
  ASSERT_EQ(sum.rows.size(), 2);
  const BillRow& why = *sum.find({"why"});
  EXPECT_DOUBLE_EQ(why.ms.value, 48);
  EXPECT_DOUBLE_EQ(why.share, 48 / 162.5);
  EXPECT_DOUBLE_EQ(why.token_share, 6.0 / 11);
  // Two values, 32 and 64: 48 ± 12.706 · 22.627 / √2.
  EXPECT_NEAR(why.ms.interval.high, 48 + 203.3, 0.1);
  EXPECT_EQ(sum.find({"no"}), nullptr);
}

TEST(SchemaBill, AParentHoldsWhatIsNestedInIt) {
  const auto record = made_record("full", 0,
                                  {{"{\"o\":", true, 1},
                                   {"{\"n\":", true, 0},
                                   {"1", false, 50},
                                   {"},\"z\":", true, 0},
                                   {"2", false, 10},
                                   {"}", true, 0}});
  const AnswerBill bill = *bill_of(record);
  EXPECT_EQ(bill.under({"o", "n"}).tokens, 2);
  EXPECT_EQ(bill.under({"o"}).tokens, 3);
  EXPECT_DOUBLE_EQ(bill.under({"o"}).ms, 10);
  const Bill sum = sum_bills(std::span(&bill, 1));
  ASSERT_EQ(sum.rows.size(), 3);
  EXPECT_EQ(shown_path(sum.rows[0].path), "o");
  EXPECT_EQ(shown_path(sum.rows[1].path), "o.n");
  EXPECT_EQ(shown_path(sum.rows[2].path), "z");
}

TEST(SchemaBill, WhatIsNoStreamedSuccessHasNone) {
  RequestRecord record = hand_made();
  record.state = RequestState::kFailed;
  EXPECT_FALSE(bill_of(record).has_value());
  record = hand_made();
  record.asked.is_stream = false;
  EXPECT_FALSE(bill_of(record).has_value());
}

}  // namespace
}  // namespace pawl::lab
