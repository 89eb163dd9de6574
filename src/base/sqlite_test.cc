// SPDX-License-Identifier: Apache-2.0
// Expectations from SQLite's documentation: https://sqlite.org/fileformat2.html for the header.
#include "base/sqlite.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>

namespace pawl::base {
namespace {

constexpr int32_t kApplication = 0x70415754;
constexpr std::array<std::string_view, 2> kSteps = {
    "CREATE TABLE words(id INTEGER PRIMARY KEY, word TEXT UNIQUE, weight REAL)",
    "ALTER TABLE words ADD COLUMN count INTEGER NOT NULL DEFAULT 7; "
    "CREATE INDEX words_by_count ON words(count)"};
const Database::Schema kSchema = {kApplication, "a list of words", kSteps};
const Database::Schema kOldSchema = {kApplication, "a list of words", std::span(kSteps).first(1)};

class Sqlite : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-sqlite-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Database> open(const Database::Schema& schema = kSchema,
                        const Database::Options& options = {}) {
    return Database::open(path(), schema, options);
  }
  std::filesystem::path path() const { return folder_ / "words.db"; }

  std::filesystem::path folder_;
};

int64_t number_of(Database& database, std::string_view sql) {
  auto statement = database.prepare(sql);
  EXPECT_TRUE(statement.ok()) << statement.error().message;
  EXPECT_TRUE(statement->step().value());
  return statement->integer(0);
}

TEST_F(Sqlite, ValuesComeBackAsTheyWereGiven) {
  auto database = open();
  ASSERT_TRUE(database.ok()) << database.error().message;
  auto insert = database->prepare("INSERT INTO words(id, word, weight) VALUES(?, ?, ?)");
  ASSERT_TRUE(insert.ok());
  const std::string with_nul("a\0b", 3);
  insert->bind(0, std::numeric_limits<int64_t>::min());
  insert->bind(1, std::string_view(with_nul));
  insert->bind(2, 0.1);
  ASSERT_TRUE(insert->run().ok());
  EXPECT_EQ(database->changes(), 1);
  insert->bind(0, int64_t{2});
  insert->bind(1, std::string_view());  // empty is not NULL
  insert->bind(2, std::optional<double>());
  ASSERT_TRUE(insert->run().ok());

  auto select = database->prepare("SELECT id, word, weight FROM words ORDER BY id");
  ASSERT_TRUE(select.ok());
  ASSERT_TRUE(select->step().value());
  EXPECT_EQ(select->integer(0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(select->text(1), with_nul);
  EXPECT_EQ(select->optional_number(2), 0.1);
  ASSERT_TRUE(select->step().value());
  EXPECT_FALSE(select->is_null(1));
  EXPECT_EQ(select->text(1), "");
  EXPECT_EQ(select->optional_number(2), std::nullopt);
  EXPECT_FALSE(select->step().value());
}

TEST_F(Sqlite, AFailedTransactionLeavesNothing) {
  auto database = open();
  ASSERT_TRUE(database.ok());
  const auto done = database->transact([&]() -> Result<void> {
    PAWL_TRY_VOID(database->execute("INSERT INTO words(word) VALUES('one')"));
    return database->execute("INSERT INTO words(word) VALUES('one')");
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(done.error().message.find("words.word"), std::string::npos) << done.error().message;
  EXPECT_EQ(done.error().where, path().string());
  EXPECT_EQ(number_of(*database, "SELECT count(*) FROM words"), 0);
  EXPECT_TRUE(database->execute("INSERT INTO words(word) VALUES('one')").ok());
}

TEST_F(Sqlite, AnOlderFileIsBroughtUpToDateWithItsRows) {
  {
    auto old = open(kOldSchema);
    ASSERT_TRUE(old.ok()) << old.error().message;
    ASSERT_TRUE(old->execute("INSERT INTO words(word) VALUES('kept')").ok());
  }
  auto read = open(kSchema, {.mode = Database::Mode::kRead});
  ASSERT_FALSE(read.ok());  // a reader changes nothing
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);

  auto database = open();
  ASSERT_TRUE(database.ok()) << database.error().message;
  EXPECT_EQ(number_of(*database, "SELECT count FROM words WHERE word='kept'"), 7);
  EXPECT_EQ(number_of(*database, "PRAGMA user_version"), 2);
}

TEST_F(Sqlite, ALaterFileIsRefusedAndLeftAlone) {
  ASSERT_TRUE(open().ok());
  auto old = open(kOldSchema);
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(old.error().message.find("version 2"), std::string::npos) << old.error().message;
}

TEST_F(Sqlite, ForeignFilesAreRefused) {
  std::ofstream(path()) << std::string(8192, 'x');
  auto noise = open();
  ASSERT_FALSE(noise.ok());
  EXPECT_EQ(noise.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(noise.error().where, path().string());

  std::filesystem::remove(path());
  ASSERT_TRUE(open({0x11223344, "something else", kSteps}).ok());
  auto other = open();
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kBadFile);
  EXPECT_NE(other.error().message.find("not a list of words"), std::string::npos);
}

TEST_F(Sqlite, WhatIsNotThereIsNotMadeByAReader) {
  auto missing = open(kSchema, {.mode = Database::Mode::kRead});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path()));
  auto no_folder = Database::open(folder_ / "none" / "words.db", kSchema, {});
  ASSERT_FALSE(no_folder.ok());
  EXPECT_EQ(no_folder.error().code, ErrorCode::kIo);
}

TEST_F(Sqlite, AReaderSeesWhatIsCommittedWhileTheWriterHoldsItsLock) {
  auto writer = open();
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->execute("INSERT INTO words(word) VALUES('one')").ok());
  auto reader = open(kSchema, {.mode = Database::Mode::kRead, .busy_ms = 0});
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  ASSERT_TRUE(writer->execute("BEGIN IMMEDIATE; INSERT INTO words(word) VALUES('two')").ok());
  EXPECT_EQ(number_of(*reader, "SELECT count(*) FROM words"), 1);

  auto second = open(kSchema, {.busy_ms = 0});  // locks are told, not waited for without end
  ASSERT_TRUE(second.ok()) << second.error().message;
  const auto blocked = second->execute("INSERT INTO words(word) VALUES('three')");
  ASSERT_FALSE(blocked.ok());
  EXPECT_EQ(blocked.error().code, ErrorCode::kIo);
  EXPECT_FALSE(reader->execute("INSERT INTO words(word) VALUES('four')").ok());
}

// Page size stands at byte 16, the application id at 68, big endian.
TEST_F(Sqlite, TheFileSaysWhoseItIs) {
  ASSERT_TRUE(open().ok());
  std::ifstream file(path(), std::ios::binary);
  std::array<char, 100> header{};
  ASSERT_TRUE(file.read(header.data(), header.size()));
  EXPECT_EQ(std::string(header.data(), 15), "SQLite format 3");
  EXPECT_EQ(std::string(&header[68], 4), "\x70\x41\x57\x54");
}

TEST_F(Sqlite, WrongUseIsAnError) {
  auto database = open();
  ASSERT_TRUE(database.ok());
  EXPECT_FALSE(database->prepare("SELECT nothing FROM words").ok());
  auto statement = database->prepare("SELECT ?");
  ASSERT_TRUE(statement.ok());
  statement->bind(5, int64_t{1});
  const auto stepped = statement->step();
  ASSERT_FALSE(stepped.ok());
  EXPECT_EQ(stepped.error().code, ErrorCode::kInvalidArgument);
  statement->bind(0, int64_t{9});
  ASSERT_TRUE(statement->step().value());
  EXPECT_EQ(statement->integer(0), 9);
}

}  // namespace
}  // namespace pawl::base
