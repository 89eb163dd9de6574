// SPDX-License-Identifier: Apache-2.0
// Every definition of docs/latency.md against streams whose times are known from the endpoint's
// own log.
#include <numeric>

#include "base/rng.h"
#include "lab/test_ask.h"

namespace pawl::lab {
namespace {

using testing::Compared;
using testing::Exchange;
using testing::exchange;
using testing::expect_times;
using tests::delta_event;
using tests::finish_event;
using tests::kDone;
using tests::role_event;
using tests::StreamScript;
using tests::text_event;
using tests::usage_event;

double longest_gap(const RequestRecord& record) {
  double longest = 0;
  for (const ChunkGap& gap : chunk_gaps(record)) longest = std::max(longest, gap.ms);
  return longest;
}

// Between consecutive steps from `first` to `last`, by the endpoint's log.
double longest_sent_gap(const Exchange& one, size_t first, size_t last) {
  double longest = 0;
  for (size_t i = first; i < last; ++i) {
    longest = std::max(longest, one.sent_ms(i + 1) - one.sent_ms(i));
  }
  return longest;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Definitions, S122_ARoleChunkIsTheFirstEventAndNotTheFirstText) {
  expect_times([] {
    const Exchange one =
        exchange(StreamScript().send(10, role_event()).texts(500, 30, 20).finish(1080, 9, 20));
    EXPECT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
    EXPECT_EQ(chunk_gaps(one.record).size(), 19U);
    // Step 0 is the head, 1 the role, 2 the first text.
    return std::vector<Compared>{
        {"ttft_first_event", ttft_first_event_ms(one.record), one.sent_ms(1)},
        {"ttft", ttft_ms(one.record), one.sent_ms(2)},
        {"ttft as scheduled", ttft_ms(one.record), 500, 5 + one.lateness_ms},
        {"longest gap", longest_gap(one.record), longest_sent_gap(one, 2, 21)},
        {"longest as scheduled", longest_gap(one.record), 30, 5 + one.lateness_ms},
        {"e2e", e2e_ms(one.record), one.sent_ms(21)}};
  });
}

TEST(Definitions, S123_AnAnswerWithoutTextHasNoTimesOfText) {
  const Exchange one =
      exchange(StreamScript().send(0, role_event()).send(1, finish_event()).send(1, kDone).end(1));
  EXPECT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
  EXPECT_TRUE(is_empty_answer(one.record));
  EXPECT_TRUE(ttft_first_event_ms(one.record).has_value());
  EXPECT_FALSE(ttft_ms(one.record).has_value());
  EXPECT_FALSE(e2e_ms(one.record).has_value());
  EXPECT_FALSE(tpot_ms(one.record).has_value());
  EXPECT_TRUE(e2e_close_ms(one.record).has_value());
  EXPECT_TRUE(chunk_gaps(one.record).empty());
  EXPECT_TRUE(inter_token_gaps(one.record).ms.empty());
}

TEST(Definitions, S124_ReasoningIsTheFirstTextAndContentTheFirstAnswer) {
  for (const std::string field : {"reasoning_content", "reasoning"}) {
    expect_times([&] {
      StreamScript script;
      for (int i = 0; i < 20; ++i) {
        script.send(100 + 10 * i, delta_event(fmt::format(R"("{}":"hm ")", field)));
      }
      const Exchange one = exchange(script.texts(300, 10, 5).finish(345, 9, 25));
      EXPECT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
      EXPECT_EQ(best_count(one.record.output)->count, 25);
      EXPECT_EQ(inter_token_gaps(one.record).chunks, 25);
      EXPECT_EQ(one.record.reasoning.size(), 60U);
      EXPECT_EQ(one.record.text, "word word word word word ");
      return std::vector<Compared>{
          {"ttft", ttft_ms(one.record), one.sent_ms(1)},
          {"ttft_first_answer", ttft_first_answer_ms(one.record), one.sent_ms(21)},
          {"as scheduled", ttft_first_answer_ms(one.record), 300, 5 + one.lateness_ms}};
    });
  }
}

TEST(Definitions, AToolCallIsText) {
  const Exchange one = exchange(
      StreamScript()
          .send(0, delta_event(R"("tool_calls":[{"index":0,"function":{"name":"f"}}])"))
          .send(1, delta_event(R"("tool_calls":[{"index":0,"function":{"arguments":"{}"}}])"))
          .finish(2, 3, 5, "tool_calls"));
  EXPECT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
  EXPECT_EQ(one.record.events.at(0).kind, EventKind::kToolCall);
  EXPECT_TRUE(ttft_ms(one.record).has_value());
  EXPECT_TRUE(ttft_first_answer_ms(one.record).has_value());
}

TEST(Definitions, S125_ALateUsageChunkMovesNothing) {
  expect_times([] {
    const Exchange one = exchange(StreamScript()
                                      .texts(50, 10, 10)
                                      .send(141, finish_event())
                                      .send(540, usage_event(5, 10) + kDone)
                                      .end(540));
    EXPECT_EQ(best_count(one.record.output)->count, 10);
    return std::vector<Compared>{
        {"ttft", ttft_ms(one.record), one.sent_ms(1)},
        {"e2e", e2e_ms(one.record), one.sent_ms(10)},
        {"e2e as scheduled", e2e_ms(one.record), 140, 5 + one.lateness_ms}};
  });
}

TEST(Definitions, S126_EndOfContentAndCloseAreTwoTimes) {
  expect_times([] {
    StreamScript script(StreamScript::Framing::kClose);
    const Exchange one =
        exchange(script.texts(20, 20, 10).send(201, finish_event()).send(700, kDone).end(1200));
    EXPECT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
    return std::vector<Compared>{
        {"e2e", e2e_ms(one.record), one.sent_ms(10)},
        {"e2e as scheduled", e2e_ms(one.record), 200, 5 + one.lateness_ms},
        {"e2e_close", e2e_close_ms(one.record), 1200, 5 + one.lateness_ms}};
  });
}

TEST(Definitions, S127_SeveralTokensPerChunkAreSeveralGaps) {
  expect_times([] {
    const Exchange one = exchange(
        StreamScript().texts(100, 50, 20, "one two three four five ").finish(1055, 9, 100));
    const TokenGaps gaps = inter_token_gaps(one.record);
    EXPECT_EQ(gaps.split, TokenSplit::kEven);
    EXPECT_EQ(gaps.ms.size(), 95U);
    EXPECT_EQ(gaps.multi_token_share(), 1.0);
    std::vector<double> chunks;
    for (const ChunkGap& gap : chunk_gaps(one.record)) chunks.push_back(gap.ms);
    return std::vector<Compared>{{"chunk gap", mean(chunks), 50, 1.5},
                                 {"itl", mean(gaps.ms), 10, 0.3},
                                 {"tpot", tpot_ms(one.record), 950.0 / 99, 0.3}};
  });
}

TEST(Definitions, TokensThatTheServerStatesPerChunkAreTaken) {
  const auto chunk = [](std::string_view text, std::string_view ids) {
    return tests::event(fmt::format(
        R"({{"choices":[{{"delta":{{"content":"{}"}},"token_ids":[{}],"finish_reason":null}}]}})",
        text, ids));
  };
  const Exchange one = exchange(StreamScript()
                                    .send(0, chunk("a", "1"))
                                    .send(20, chunk("b c", "2,3"))
                                    .send(30, chunk("d", "4"))
                                    .finish(31, 3, 5));
  const TokenGaps gaps = inter_token_gaps(one.record);
  EXPECT_EQ(gaps.split, TokenSplit::kStated);
  ASSERT_EQ(gaps.ms.size(), 3U);
  EXPECT_EQ(gaps.ms[0], gaps.ms[1]);
  EXPECT_DOUBLE_EQ(gaps.ms[0] * 2, chunk_gaps(one.record).at(0).ms);
  EXPECT_EQ(gaps.multi_token_chunks, 1);
}

TEST(Definitions, AUsageThatGrowsSaysWhatEachChunkHolds) {
  const auto chunk = [](std::string_view text, int total) {
    return tests::event(fmt::format(
        R"({{"choices":[{{"delta":{{"content":"{}"}}}}],"usage":{{"completion_tokens":{}}}}})",
        text, total));
  };
  const Exchange one =
      exchange(StreamScript().send(0, chunk("a", 1)).send(1, chunk("b c", 3)).finish(2, 3, 4));
  EXPECT_EQ(one.record.events.at(0).kind, EventKind::kContent);
  EXPECT_EQ(one.record.events.at(0).tokens, 1);
  EXPECT_EQ(one.record.events.at(1).tokens, 2);
  EXPECT_EQ(one.record.output.usage, 4);
}

// Streams that never were on a wire, for what needs no clock.
RequestRecord stream_of(const std::vector<int64_t>& stamps_ns, std::optional<int64_t> tokens) {
  RequestRecord record;
  record.state = RequestState::kSuccess;
  record.sent_ns = 0;
  record.output.usage = tokens;
  for (const int64_t stamp : stamps_ns) {
    RawEvent one;
    one.stamp_ns = stamp;
    one.read = static_cast<int32_t>(record.events.size());
    one.kind = EventKind::kContent;
    one.bytes = 200;
    one.text_bytes = one.answer_bytes = 100;
    record.events.push_back(one);
  }
  return record;
}

TEST(Definitions, S128_GapsAddUpToTheSpanBetweenFirstAndLast) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<int64_t> stamps;
    int64_t at = 1'000'000;
    const auto chunks = 2 + static_cast<int64_t>(base::uniform(seed, 0, 1) * 60);
    for (int64_t i = 0; i < chunks; ++i) {
      at += static_cast<int64_t>(base::uniform(seed, static_cast<uint64_t>(i), 0) * 4e7);
      stamps.push_back(at);
    }
    const auto tokens = chunks + static_cast<int64_t>(base::uniform(seed, 0, 2) * 90);
    const RequestRecord record = stream_of(stamps, tokens);
    const double span = static_cast<double>(stamps.back() - stamps.front()) / 1e6;
    double chunk_sum = 0;
    for (const ChunkGap& gap : chunk_gaps(record)) chunk_sum += gap.ms;
    const TokenGaps gaps = inter_token_gaps(record);
    const double token_sum = std::accumulate(gaps.ms.begin(), gaps.ms.end(), 0.0);
    EXPECT_NEAR(chunk_sum, span, 1e-3) << seed;
    EXPECT_NEAR(token_sum, span, 1e-3) << seed;
    EXPECT_NEAR(*tpot_ms(record) * static_cast<double>(tokens - 1), span, 1e-3) << seed;
  }
}

TEST(Definitions, S129_WithoutACountChunksAreNotTokens) {
  const Exchange one = exchange(StreamScript()
                                    .texts(0, 1, 20, "three small words ")
                                    .send(20, finish_event() + kDone)
                                    .end(20));
  EXPECT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
  EXPECT_FALSE(best_count(one.record.output).has_value());
  EXPECT_FALSE(tpot_ms(one.record).has_value());
  EXPECT_EQ(inter_token_gaps(one.record).split, TokenSplit::kUnknown);
  EXPECT_EQ(chunk_gaps(one.record).size(), 19U);
  // Counted from the text afterwards, a number is marked.
  RequestRecord counted = one.record;
  counted.output.tokenizer = 60;
  EXPECT_TRUE(best_count(counted.output)->is_estimated);
  EXPECT_EQ(best_count(counted.output)->source, "tokenizer");
}

TEST(Definitions, S130_EventsOfOneReadAreKeptAndFlagged) {
  StreamScript script;
  std::string five;
  for (int i = 0; i < 5; ++i) five += text_event("word ");
  for (int group = 0; group < 4; ++group) script.send(100 * group, five);
  const Exchange one = exchange(script.finish(305, 4, 20));
  EXPECT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
  const auto gaps = chunk_gaps(one.record);
  ASSERT_EQ(gaps.size(), 19U);
  int flagged = 0;
  for (const ChunkGap& gap : gaps) {
    flagged += gap.is_same_read ? 1 : 0;
    EXPECT_TRUE(!gap.is_same_read || gap.ms == 0);
  }
  EXPECT_EQ(flagged, 16);
  EXPECT_TRUE(one.record.events.at(1).shared_read);
  EXPECT_FALSE(one.record.events.at(0).shared_read);
}

TEST(Definitions, S132_NoTokenOneTokenTwoTokens) {
  const Exchange none = exchange(StreamScript().send(0, finish_event() + kDone).end(0));
  EXPECT_FALSE(decode_rate(none.record).has_value());
  EXPECT_FALSE(end_to_end_rate(none.record).has_value());
  const Exchange one = exchange(StreamScript().texts(5, 5, 1).finish(6, 3, 1));
  EXPECT_FALSE(tpot_ms(one.record).has_value());
  EXPECT_FALSE(decode_rate(one.record).has_value());
  EXPECT_TRUE(end_to_end_rate(one.record).has_value());
  const Exchange two = exchange(StreamScript().texts(5, 5, 2).finish(11, 3, 2));
  EXPECT_TRUE(tpot_ms(two.record).has_value());
  EXPECT_GT(*decode_rate(two.record), 0);
}

TEST(Definitions, S133_TheDecodeRateHasNoWaitInIt) {
  expect_times([] {
    const Exchange one = exchange(StreamScript().texts(1000, 20, 21).finish(1402, 9, 21));
    return std::vector<Compared>{{"decode rate", decode_rate(one.record), 50, 1},
                                 {"end-to-end rate", end_to_end_rate(one.record), 15, 0.3}};
  });
}

TEST(Definitions, ScheduledVariantsRunFromTheInstantThatWasMeant) {
  RequestRecord record = stream_of({30'000'000, 50'000'000}, 2);
  EXPECT_EQ(ttft_ms(record), 30);
  EXPECT_FALSE(ttft_ms(record, Origin::kScheduled).has_value());
  record.scheduled_ns = -70'000'000;
  record.started_ns = -1'000'000;
  EXPECT_EQ(ttft_ms(record, Origin::kScheduled), 100);
  EXPECT_EQ(e2e_ms(record, Origin::kScheduled), 120);
  EXPECT_EQ(client_lag_ms(record), 69);
}

TEST(Definitions, ThreeCountsAreHeldAgainstEachOther) {
  EXPECT_FALSE(best_count({}).has_value());
  EXPECT_FALSE(best_count({.usage = 5, .timings = 5, .tokenizer = {}})->is_contradicted);
  const auto best = best_count({.usage = {}, .timings = 5, .tokenizer = 7});
  EXPECT_EQ(best->count, 5);
  EXPECT_EQ(best->source, "timings");
  EXPECT_TRUE(best->is_contradicted);
  EXPECT_FALSE(best->is_estimated);
}

TEST(Definitions, ACountThatTheTextCannotHoldIsNotSpreadOverIt) {
  RequestRecord record = stream_of({0, 1, 2}, int64_t{1} << 40);
  EXPECT_EQ(inter_token_gaps(record).split, TokenSplit::kUnknown);
  record.output.usage.reset();
  for (RawEvent& one : record.events) one.tokens = 1 << 30;
  EXPECT_EQ(inter_token_gaps(record).split, TokenSplit::kUnknown);
}

}  // namespace
}  // namespace pawl::lab
