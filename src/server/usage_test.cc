// SPDX-License-Identifier: Apache-2.0
#include "server/usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace pawl::server {
namespace {

constexpr int64_t kNov28 = 1795824000000;  // 2026-11-28T00:00:00Z, from `date -d … +%s`
constexpr int64_t kHour = 3'600'000;

class Usage : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-usage-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    auto file = LedgerFile::open(path(), base::Database::Mode::kReadWrite);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const int64_t server = file->add_server().value();
    std::vector<LedgerRow> rows;
    // Three requests on the 28th, two on the 29th.
    rows.push_back(row("a", kNov28, "alice", RowState::kStop, 10));
    rows.push_back(row("b", kNov28 + 23 * kHour, "bob", RowState::kLength, 20));
    rows.push_back(row("c", kNov28 + 24 * kHour - 1, "alice", RowState::kCancelled, 5));
    rows.back().cause = CancelCause::kClientClosed;
    rows.back().delivered_tokens = 3;
    rows.push_back(row("d", kNov28 + 24 * kHour, "alice", RowState::kStop, 40));
    rows.push_back(row("e", kNov28 + 25 * kHour, "", RowState::kRunning, 0));
    rows.back().queue_ms = rows.back().decode_ms = std::nullopt;
    ASSERT_TRUE(file->write(rows, server).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static LedgerRow row(const std::string& id, int64_t received_ms, const std::string& key,
                       RowState state, int64_t completion) {
    LedgerRow made;
    made.id = id;
    made.received_ms = received_ms;
    made.key_name = key;
    made.model = "m";
    made.state = state;
    made.prompt_tokens = 100;
    made.cached_tokens = 60;
    made.completion_tokens = made.delivered_tokens = completion;
    made.queue_ms = 1.5;
    made.decode_ms = 10;
    return made;
  }
  std::filesystem::path path() const { return folder_ / "usage.db"; }

  std::filesystem::path folder_;
};

std::string shown(const std::vector<UsageSum>& sums) {
  std::string text;
  for (const UsageSum& sum : sums) {
    for (const std::string& value : sum.group) text += value + " ";
    text += std::to_string(sum.requests) + "/" + std::to_string(sum.completion_tokens) + "; ";
  }
  return text;
}

TEST_F(Usage, SumsByEveryKeyAndByNone) {
  auto reader = UsageReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  const auto by = [&](std::vector<UsageKey> keys) { return shown(*reader->sums(keys, {})); };
  EXPECT_EQ(by({}), "5/75; ");
  EXPECT_EQ(by({UsageKey::kKey}), " 1/0; alice 3/55; bob 1/20; ");
  EXPECT_EQ(by({UsageKey::kDay}), "2026-11-28 3/35; 2026-11-29 2/40; ");
  EXPECT_EQ(by({UsageKey::kModel}), "m 5/75; ");
  EXPECT_EQ(by({UsageKey::kReason}),
            "cancelled:client_closed 1/5; length 1/20; running 1/0; stop 2/50; ");
  EXPECT_EQ(by({UsageKey::kDay, UsageKey::kKey}),
            "2026-11-28 alice 2/15; 2026-11-28 bob 1/20; 2026-11-29  1/0; 2026-11-29 alice 1/40; ");
  const UsageSum all = reader->sums({}, {})->at(0);
  EXPECT_EQ(all.prompt_tokens, 500);
  EXPECT_EQ(all.cached_tokens, 300);
  EXPECT_EQ(all.delivered_tokens, 73);
  EXPECT_EQ(all.queue_ms, 6);
  EXPECT_EQ(all.decode_ms, 40);
}

TEST_F(Usage, TheSpanHoldsItsFirstMomentAndNotItsLast) {
  auto reader = UsageReader::open(path());
  const auto count = [&](const UsageSpan& span) { return reader->sums({}, span)->at(0).requests; };
  EXPECT_EQ(count({.since_ms = kNov28 + 24 * kHour}), 2);
  EXPECT_EQ(count({.until_ms = kNov28 + 24 * kHour}), 3);
  EXPECT_EQ(count({kNov28 + 1, kNov28 + 24 * kHour}), 2);
  EXPECT_EQ(count({kNov28 + 100 * kHour, std::nullopt}), 0);
  EXPECT_TRUE(reader->sums(std::array{UsageKey::kKey}, {kNov28 + 100 * kHour, {}})->empty());
}

TEST_F(Usage, TheLatestComeInTheOrderOfTheirArrival) {
  auto reader = UsageReader::open(path());
  const auto rows = reader->latest({.until_ms = kNov28 + 25 * kHour}, 2);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).id, "c");
  EXPECT_EQ(rows->at(0).cause, CancelCause::kClientClosed);
  EXPECT_EQ(rows->at(1).id, "d");
  EXPECT_EQ(reader->latest({}, 100)->size(), 5u);
  EXPECT_EQ(reader->latest({}, 100)->at(4).decode_ms, std::nullopt);
}

TEST(UsageMoment, IsReadAsPeopleWriteIt) {
  const int64_t now = kNov28 + 12 * kHour;
  const auto at = [now](std::string_view text, bool is_end = false) {
    const auto moment = parse_moment(text, now, is_end);
    return moment.ok() ? *moment : int64_t{-1};
  };
  EXPECT_EQ(at("2026-11-28"), kNov28);
  EXPECT_EQ(at("2026-11-27", true), kNov28);
  EXPECT_EQ(at("2026-11-28T01:00"), kNov28 + kHour);
  EXPECT_EQ(at("2026-11-28 01:00:01Z", true), kNov28 + kHour + 1000);
  EXPECT_EQ(at("12h"), kNov28);
  EXPECT_EQ(at("720m"), kNov28);
  EXPECT_EQ(at("1d"), kNov28 - 12 * kHour);
  for (const char* wrong :
       {"", "d", "yesterday", "2026-02-30", "2026-1-1", "2026-11-28T25:00", "2026-11-28T1:00",
        "2026-11-28T01:00+02:00", "-1d", "99999999d", "2026-11-28x"}) {
    EXPECT_EQ(at(wrong), -1) << wrong;
  }
  EXPECT_EQ(moment_text(kNov28 + kHour + 61'999), "2026-11-28 01:01:01");
}

}  // namespace
}  // namespace pawl::server
