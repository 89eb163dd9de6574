// SPDX-License-Identifier: Apache-2.0
// Buffers are found by what they let go at once, and fast streams are no buffers.
#include "lab/arrival_verdict.h"

#include "base/rng.h"
#include "lab/test_ask.h"

namespace pawl::lab {
namespace {

// An even stream of words of different lengths, each event `overhead` bytes longer than its text.
struct Sent {
  int64_t at_ns = 0, bytes = 0, text = 0;
};
std::vector<Sent> even_stream(uint64_t seed, int count, double per_second) {
  std::vector<Sent> sent;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<uint64_t>(i);
    const int64_t text = 2 + static_cast<int64_t>(base::uniform(seed, at, 0) * 7);
    const double jitter = 0.8 + 0.4 * base::uniform(seed, at, 1);
    sent.push_back({static_cast<int64_t>((i + jitter) / per_second * 1e9), text + 140, text});
  }
  return sent;
}

void add(RequestRecord& record, const Sent& one, int64_t stamp_ns, int32_t read) {
  RawEvent event;
  event.stamp_ns = stamp_ns;
  event.read = read;
  event.shared_read = !record.events.empty() && record.events.back().read == read;
  event.bytes = static_cast<int32_t>(one.bytes);
  event.kind = EventKind::kContent;
  event.text_bytes = event.answer_bytes = static_cast<int32_t>(one.text);
  record.events.push_back(event);
}

// A client that comes round every `round_ns` and reads what is there.
RequestRecord unbuffered(const std::vector<Sent>& sent, int64_t round_ns) {
  RequestRecord record;
  for (const Sent& one : sent) {
    const int64_t round = one.at_ns / round_ns + 1;
    add(record, one, round * round_ns, static_cast<int32_t>(round));
  }
  return record;
}

// Lets go whenever `block` bytes (or text bytes) are there; the rest at the end.
RequestRecord through_buffer(const std::vector<Sent>& sent, int64_t block, int64_t Sent::*size) {
  RequestRecord record;
  int64_t total = 0;
  for (const Sent& one : sent) total += one.*size;
  int64_t seen = 0;
  for (const Sent& one : sent) {
    seen += one.*size;
    const int64_t full = (seen + block - 1) / block;  // the block that its last byte is in
    // That block is let go when its last byte has come, or with the end.
    int64_t sum = 0, at_ns = sent.back().at_ns;
    for (const Sent& later : sent) {
      sum += later.*size;
      if (sum >= full * block) {
        at_ns = later.at_ns;
        break;
      }
    }
    add(record, one, at_ns, static_cast<int32_t>(full));
  }
  return record;
}

TEST(Arrival, S153_AFastEvenStreamIsNoAlarmAndASlowOneThroughABufferIs) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const int64_t round_us : {50, 500, 3000}) {
      const auto fast = judge_arrival(unbuffered(even_stream(seed, 600, 2000), round_us * 1000));
      EXPECT_EQ(fast.verdict.finding, Finding::kClear) << seed << " " << fast.verdict.text;
    }
    const auto slow = even_stream(seed, 200, 20);
    EXPECT_EQ(judge_arrival(unbuffered(slow, 50'000)).verdict.finding, Finding::kClear);
    const auto held = judge_arrival(through_buffer(slow, 4096, &Sent::bytes));
    EXPECT_EQ(held.verdict.finding, Finding::kFound) << seed << " " << held.verdict.text;
    EXPECT_TRUE(held.verdict.voids_split);
    EXPECT_NE(held.verdict.text.find("buffered on the way"), std::string::npos);
    ASSERT_TRUE(held.block_bytes.has_value());
    EXPECT_NEAR(static_cast<double>(*held.block_bytes), 4096, 4096 * 0.05);
    EXPECT_FALSE(held.is_of_text);
  }
}

TEST(Arrival, S154_TextThatIsLetGoInBlocksIsNamedWithTheBlock) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto held =
        judge_arrival(through_buffer(even_stream(seed, 9000, 100), 10'000, &Sent::text));
    EXPECT_EQ(held.verdict.finding, Finding::kFound);
    EXPECT_NE(held.verdict.text.find("held back"), std::string::npos);
    EXPECT_NEAR(static_cast<double>(*held.block_bytes), 10'000, 300);
    EXPECT_TRUE(held.is_of_text);
  }
}

TEST(Arrival, S131_StepsOfTenTokensAreNoBuffer) {
  RequestRecord record;
  const auto sent = even_stream(1, 200, 100);
  for (size_t i = 0; i < sent.size(); ++i) {
    add(record, sent[i], static_cast<int64_t>(i / 10) * 100'000'000, static_cast<int32_t>(i / 10));
  }
  EXPECT_EQ(judge_arrival(record).verdict.finding, Finding::kClear);
}

TEST(Arrival, AClientThatWasHeldUpIsNoBuffer) {
  // Stalls of any length: bursts of unequal size decide nothing.
  RequestRecord record;
  int32_t read = 0;
  size_t left = 0;
  for (const Sent& one : even_stream(3, 1000, 500)) {
    if (left == 0) {
      left = 16 + static_cast<size_t>(base::uniform(3, static_cast<uint64_t>(read), 9) * 150);
      ++read;
    }
    --left;
    add(record, one, read * int64_t{400'000'000}, read);
  }
  EXPECT_NE(judge_arrival(record).verdict.finding, Finding::kFound);
}

TEST(Arrival, AllAtOnceIsABufferAndAShortAnswerSaysNothing) {
  RequestRecord record;
  for (const Sent& one : even_stream(1, 60, 50)) add(record, one, 1'200'000'000, 1);
  const auto all = judge_arrival(record);
  EXPECT_EQ(all.verdict.finding, Finding::kFound);
  EXPECT_NE(all.verdict.text.find("at once"), std::string::npos);
  record.events.resize(10);
  EXPECT_EQ(judge_arrival(record).verdict.finding, Finding::kUnclear);
}

TEST(Arrival, AMeasurementIsHeldBackWhereMostOfItsStreamsAre) {
  const auto measured = [](int held, int honest, int failed) {
    std::vector<RequestRecord> records;
    for (int i = 0; i < held + honest + failed; ++i) {
      const auto sent = even_stream(static_cast<uint64_t>(i), 200, 20);
      const bool is_honest = i >= held && i < held + honest;
      records.push_back(is_honest ? unbuffered(sent, 50'000)
                                  : through_buffer(sent, 4096, &Sent::bytes));
      records.back().state = i < held + honest ? RequestState::kSuccess : RequestState::kTruncated;
    }
    return judge_held_back(records);
  };
  EXPECT_EQ(measured(5, 2, 0).finding, Finding::kFound);
  EXPECT_TRUE(measured(5, 2, 0).voids_split);
  EXPECT_NE(measured(5, 2, 0).text.find("5 of 7 streams"), std::string::npos);
  EXPECT_EQ(measured(2, 5, 4).finding, Finding::kClear);
  EXPECT_EQ(measured(0, 0, 3).finding, Finding::kUnclear);
  EXPECT_FALSE(measured(0, 0, 3).voids_split);
}

TEST(Arrival, S153_OnTheWireABufferIsFoundAndAnHonestStreamIsNot) {
  // The same 120 events, one by one every 2 ms, and as the bytes come out of a buffer.
  std::string bytes;
  tests::StreamScript honest, buffered;
  constexpr size_t kBlock = 4096;
  double at = 0;
  for (int i = 0; i < 120; ++i) {
    const std::string one = tests::text_event(fmt::format("word{} ", i));
    honest.send(at, one);
    bytes += one;
    while (bytes.size() >= kBlock) {
      buffered.send(at, bytes.substr(0, kBlock));
      bytes.erase(0, kBlock);
    }
    at += 2;
  }
  buffered.send(at, bytes);
  const auto one = testing::exchange(honest.finish(at, 3, 120));
  ASSERT_EQ(one.record.state, RequestState::kSuccess) << one.record.error;
  // A busy machine may bundle reads of its own, but not into equal blocks.
  EXPECT_NE(judge_arrival(one.record).verdict.finding, Finding::kFound);
  const auto held = testing::exchange(buffered.finish(at, 3, 120));
  ASSERT_EQ(held.record.state, RequestState::kSuccess) << held.record.error;
  EXPECT_EQ(held.record.text, one.record.text);
  const auto verdict = judge_arrival(held.record);
  fmt::print("    {}\n", verdict.verdict.text);
  if (!testing::is_sanitized()) {
    EXPECT_EQ(verdict.verdict.finding, Finding::kFound) << verdict.verdict.text;
  }
}

}  // namespace
}  // namespace pawl::lab
