// SPDX-License-Identifier: Apache-2.0
#include "server/ledger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/ledger_file.h"

namespace pawl::server {
namespace {

constexpr int64_t kLong = 60'000;  // ms; nothing is expected to take it

LedgerRow begun(const std::string& id) {
  LedgerRow row;
  row.id = id;
  row.received_ms = 1'700'000'000'123;
  row.key_name = "alice";
  row.model = "gemma3-270m";
  row.route = "/v1/chat/completions";
  row.trace_parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  row.is_stream = true;
  row.prompt_tokens = 107;
  return row;
}

LedgerRow ended(const std::string& id) {
  LedgerRow row = begun(id);
  row.cached_tokens = 64;
  row.computed_tokens = 43;
  row.completion_tokens = 22;
  row.forced_tokens = 3;
  row.accepted_draft_tokens = 4;
  row.delivered_tokens = 20;
  row.forward_passes = 19;
  row.preemptions = 1;
  row.queue_ms = 0.25;
  row.prefill_ms = 177.5;
  row.decode_ms = 400;
  row.total_ms = 580.75;
  row.state = RowState::kCancelled;
  row.cause = CancelCause::kClientClosed;
  row.http_status = 200;
  return row;
}

class LedgerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-ledger-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "home" / "usage.db"; }

  std::unique_ptr<Ledger> open(const LedgerOptions& options = {}) {
    auto ledger = Ledger::open(path(), options);
    EXPECT_TRUE(ledger.ok()) << ledger.error().message;
    return ledger.ok() ? std::move(*ledger) : nullptr;
  }

  // id → state of every row in the file; an id that stands twice fails.
  std::map<std::string, RowState> rows_in_file() {
    std::map<std::string, RowState> rows;
    auto file = LedgerFile::open(path(), base::Database::Mode::kRead);
    EXPECT_TRUE(file.ok()) << file.error().message;
    auto select = file->database().prepare("SELECT id, state FROM requests");
    while (select->step().value()) {
      const auto state = parse_row_state(select->text(1));
      EXPECT_TRUE(state.has_value()) << select->text(1);
      EXPECT_TRUE(rows.emplace(select->text(0), *state).second) << "double: " << select->text(0);
    }
    auto check = file->database().prepare("PRAGMA integrity_check");
    EXPECT_TRUE(check->step().value());
    EXPECT_EQ(check->text(0), "ok");
    return rows;
  }

  std::filesystem::path folder_;
};

std::optional<LedgerRow> found(const Ledger& ledger, std::string_view id) {
  auto row = ledger.lookup(id);
  EXPECT_TRUE(row.ok()) << row.error().message;
  return row.ok() ? *row : std::nullopt;
}

// S-044: usage of a stream that its client closed is on record, and says what was decoded.
TEST_F(LedgerTest, S044_ARowIsTheSameFromMemoryAndFromTheFile) {
  const std::string expected = row_json(ended("r1")).dump();
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger->begin(begun("r1")));
    EXPECT_EQ(row_json(*found(*ledger, "r1")).dump(), row_json(begun("r1")).dump());
    ledger->end(ended("r1"));
    EXPECT_EQ(row_json(*found(*ledger, "r1")).dump(), expected);
    ASSERT_TRUE(ledger->flush(kLong));
    EXPECT_EQ(row_json(*found(*ledger, "r1")).dump(), expected);
    EXPECT_EQ(found(*ledger, "r2"), std::nullopt);
  }
  const auto again = open();
  EXPECT_EQ(again->interrupted(), 0u);
  EXPECT_EQ(row_json(*found(*again, "r1")).dump(), expected);
}

TEST_F(LedgerTest, CommittedIsCalledOnceForEachStateAndTheRowIsThere) {
  const auto ledger = open();
  std::atomic<int> begins = 0, ends = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(ledger->begin(begun("r" + std::to_string(i)), [&] { ++begins; }));
  }
  for (int i = 0; i < 300; ++i) ledger->end(ended("r" + std::to_string(i)), [&] { ++ends; });
  ASSERT_TRUE(ledger->flush(kLong));
  EXPECT_EQ(rows_in_file().size(), 300u);
  EXPECT_EQ(ledger->waiting(), 0u);
  while (begins < 300 || ends < 300) sched_yield();  // the last call may follow the flush
  EXPECT_EQ(begins, 300);
  EXPECT_EQ(ends, 300);
}

TEST_F(LedgerTest, WhenTheFileIsLockedNobodyWaitsAndNothingIsLost) {
  const auto ledger = open({.capacity = 50, .retry_after_ms = 1});
  auto other = LedgerFile::open(path(), base::Database::Mode::kReadWrite);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other->database().execute("BEGIN IMMEDIATE").ok());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(ledger->begin(begun("r" + std::to_string(i))));
  EXPECT_FALSE(ledger->begin(begun("r50")));  // no place left: the request is refused
  for (int i = 0; i < 50; ++i) ledger->end(ended("r" + std::to_string(i)));
  EXPECT_FALSE(ledger->begin(begun("r50")));
  EXPECT_FALSE(ledger->flush(0));
  EXPECT_EQ(found(*ledger, "r49")->state, RowState::kCancelled);
  ASSERT_TRUE(other->database().execute("ROLLBACK").ok());
  ASSERT_TRUE(ledger->flush(kLong));
  EXPECT_TRUE(ledger->begin(begun("r50")));
  ASSERT_TRUE(ledger->flush(kLong));
  const auto rows = rows_in_file();
  EXPECT_EQ(rows.size(), 51u);
  EXPECT_EQ(rows.at("r0"), RowState::kCancelled);
}

// The table is put out of reach by another name, which fails every write as a full disk does.
TEST_F(LedgerTest, RowsWaitWhileTheFileCannotBeWritten) {
  const auto ledger = open({.retry_after_ms = 1});
  auto other = LedgerFile::open(path(), base::Database::Mode::kReadWrite);
  ASSERT_TRUE(other->database().execute("ALTER TABLE requests RENAME TO away").ok());
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(ledger->begin(begun("r" + std::to_string(i))));
  EXPECT_FALSE(ledger->flush(50));
  for (int i = 0; i < 300; i += 2) ledger->end(ended("r" + std::to_string(i)));
  // A row that ends while its beginning is being written waits twice, until that has failed.
  for (int i = 0; i < 5000 && ledger->waiting() != 300; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(ledger->waiting(), 300u);
  ASSERT_TRUE(other->database().execute("ALTER TABLE away RENAME TO requests").ok());
  ASSERT_TRUE(ledger->flush(kLong));
  const auto rows = rows_in_file();
  EXPECT_EQ(rows.size(), 300u);
  EXPECT_EQ(rows.at("r0"), RowState::kCancelled);
  EXPECT_EQ(rows.at("r299"), RowState::kRunning);
}

TEST_F(LedgerTest, ARowThatCannotBeWrittenAtTheEndIsTold) {
  auto ledger = open({.retry_after_ms = 1});
  auto other = LedgerFile::open(path(), base::Database::Mode::kReadWrite);
  ASSERT_TRUE(other->database().execute("DROP TABLE requests").ok());
  testing::internal::CaptureStderr();
  ASSERT_TRUE(ledger->begin(begun("r1")));
  ledger->end(ended("r1"));
  ledger.reset();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("was not written: " + row_json(ended("r1")).dump()), std::string::npos) << log;
}

TEST_F(LedgerTest, AnIdOfAnotherRequestIsLeftAlone) {
  {
    const auto ledger = open();
    ASSERT_TRUE(ledger->begin(begun("r1")));
    ledger->end(ended("r1"));
  }
  const auto ledger = open();
  LedgerRow same = begun("r1");
  same.model = "another";
  ASSERT_TRUE(ledger->begin(std::move(same)));
  ASSERT_TRUE(ledger->flush(kLong));
  auto file = LedgerFile::open(path(), base::Database::Mode::kRead);
  EXPECT_EQ(file->read("r1").value()->model, "gemma3-270m");
}

TEST_F(LedgerTest, RowsOfALivingServerAreNotInterruptedByAnother) {
  auto first = open();
  ASSERT_TRUE(first->begin(begun("r1")));
  ASSERT_TRUE(first->flush(kLong));
  {
    const auto second = open();
    EXPECT_EQ(second->interrupted(), 0u);
    ASSERT_TRUE(second->begin(begun("r2")));
  }
  EXPECT_EQ(rows_in_file().at("r1"), RowState::kRunning);
  first.reset();  // ends without ending its request
  const auto third = open();
  EXPECT_EQ(third->interrupted(), 2u);
  EXPECT_EQ(rows_in_file().at("r1"), RowState::kInterrupted);
  EXPECT_EQ(found(*third, "r2")->state, RowState::kInterrupted);
}

TEST_F(LedgerTest, AFileThatIsNoLedgerIsRefused) {
  std::filesystem::create_directories(path().parent_path());
  std::ofstream(path()) << "keys: none\n" << std::string(4096, ' ');
  auto ledger = Ledger::open(path());
  ASSERT_FALSE(ledger.ok());
  EXPECT_EQ(ledger.error().code, base::ErrorCode::kBadFile);
  EXPECT_EQ(ledger.error().where, path().string());
}

// What the process does that will be killed: 50 requests begin, then end one after the other. For
// each row that is in the file for good one byte comes out: 'b', or the request's number + 128.
[[noreturn]] void serve_until_killed(const std::filesystem::path& path, int pipe) {
  auto ledger = Ledger::open(path);
  if (!ledger.ok()) _exit(1);
  const auto say = [pipe](unsigned char byte) {
    if (write(pipe, &byte, 1) != 1) _exit(1);
  };
  for (int i = 0; i < 50; ++i) {
    if (!(*ledger)->begin(begun("r" + std::to_string(i)), [say] { say('b'); })) _exit(1);
  }
  if (!(*ledger)->flush(kLong)) _exit(1);
  for (int i = 0; i < 50; ++i) {
    (*ledger)->end(ended("r" + std::to_string(i)),
                   [say, i] { say(static_cast<unsigned char>(128 + i)); });
    if (i % 3 == 0) (*ledger)->flush(kLong);
  }
  pause();
  _exit(1);
}

TEST_F(LedgerTest, KilledInTheMiddleOf50RequestsNoRowIsLostAndNoneIsDouble) {
  for (const size_t acknowledged : {1, 25, 50, 51, 60, 73, 99}) {
    std::filesystem::remove_all(path().parent_path());
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      serve_until_killed(path(), ends[1]);
    }
    close(ends[1]);
    std::vector<unsigned char> said;
    unsigned char byte = 0;
    while (said.size() < acknowledged && read(ends[0], &byte, 1) == 1) said.push_back(byte);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "ended by itself with " << status;
    while (read(ends[0], &byte, 1) == 1) said.push_back(byte);
    close(ends[0]);
    ASSERT_GE(said.size(), acknowledged);

    size_t interrupted = 0;
    {
      const auto ledger = open();
      interrupted = ledger->interrupted();
      EXPECT_EQ(found(*ledger, "r0").has_value(), true);
    }
    const auto rows = rows_in_file();
    size_t left = 0, begins = 0;
    std::set<std::string> over;
    for (const unsigned char one : said) {
      if (one == 'b') {
        ++begins;
      } else {
        over.insert("r" + std::to_string(one - 128));
      }
    }
    EXPECT_GE(rows.size(), begins);
    if (begins == 50) {
      EXPECT_EQ(rows.size(), 50u);
    }
    for (const auto& [id, state] : rows) {
      left += state == RowState::kInterrupted ? 1 : 0;
      EXPECT_NE(state, RowState::kRunning) << id;
      if (over.contains(id)) {
        EXPECT_EQ(state, RowState::kCancelled) << id;
      }
    }
    EXPECT_EQ(left, interrupted);
    EXPECT_EQ(open()->interrupted(), 0u);
  }
}

}  // namespace
}  // namespace pawl::server
