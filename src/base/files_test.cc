// SPDX-License-Identifier: Apache-2.0
// Locks, files that appear only when whole, and child processes, on a real file system.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/child_process.h"
#include "base/file_lock.h"
#include "base/pending_file.h"

namespace pawl::base {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "pawl-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static std::string content(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  ChildCommand command(std::vector<std::string> arguments) const {
    ChildCommand made;
    made.arguments = std::move(arguments);
    made.folder = folder_;
    made.messages = folder_ / "messages";
    return made;
  }

  fs::path folder_;
};

TEST_F(Files, ALockIsHeldByOneAtATime) {
  auto first = FileLock::try_acquire(folder_ / "lock");
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_FALSE(FileLock::try_acquire(folder_ / "lock")->has_value());
  first->reset();
  EXPECT_TRUE(FileLock::try_acquire(folder_ / "lock")->has_value());
}

TEST_F(Files, ALockInAFolderThatIsNotThereNamesTheFile) {
  auto lock = FileLock::try_acquire(folder_ / "none" / "lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_NE(lock.error().where.find("none/lock"), std::string::npos);
}

TEST_F(Files, NothingStandsUnderTheNameBeforeCommit) {
  {
    auto file = PendingFile::create(folder_ / "x.tmp", PendingFile::Unfinished::kRemove);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(bytes_of("half")).ok());
    EXPECT_FALSE(fs::exists(folder_ / "x"));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Files, CommitRenames) {
  auto file = PendingFile::create(folder_ / "x.tmp", PendingFile::Unfinished::kRemove);
  ASSERT_TRUE(file->write(bytes_of("whole")).ok());
  ASSERT_TRUE(file->commit(folder_ / "x").ok());
  EXPECT_EQ(content(folder_ / "x"), "whole");
  EXPECT_FALSE(fs::exists(folder_ / "x.tmp"));
}

TEST_F(Files, AKeptFileIsContinued) {
  {
    auto file = PendingFile::create(folder_ / "x.part", PendingFile::Unfinished::kKeep);
    ASSERT_TRUE(file->write(bytes_of("one ")).ok());
  }
  auto file = PendingFile::resume(folder_ / "x.part", PendingFile::Unfinished::kKeep);
  EXPECT_EQ(file->size(), 4);
  ASSERT_TRUE(file->write(bytes_of("two")).ok());
  ASSERT_TRUE(file->commit(folder_ / "x").ok());
  EXPECT_EQ(content(folder_ / "x"), "one two");
}

TEST_F(Files, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  fs::create_symlink("/dev/full", folder_ / "x.tmp");
  auto file = PendingFile::resume(folder_ / "x.tmp", PendingFile::Unfinished::kRemove);
  ASSERT_TRUE(file.ok());
  auto written = file->write(bytes_of("x"));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
}

TEST_F(Files, AChildGetsItsArgumentsUntouched) {
  auto wanted = command({"printf", "%s|", "a b", "$HOME", "*", "'"});
  wanted.is_output_read = true;
  auto child = ChildProcess::start(wanted);
  ASSERT_TRUE(child.ok());
  std::string output;
  std::array<std::byte, 64> buffer;
  for (;;) {
    auto count = child->read_output(buffer, 10000);
    ASSERT_TRUE(count.ok() && count->has_value());
    if (**count == 0) break;
    output.append(reinterpret_cast<const char*>(buffer.data()), **count);
  }
  EXPECT_EQ(output, "a b|$HOME|*|'|");
  EXPECT_EQ(child->wait(10000), 0);
}

TEST_F(Files, AChildsStatusEnvironmentAndFolderAreItsOwn) {
  auto wanted = command({"sh", "-c", "echo \"$WORD\" >here; echo problem >&2; exit 7"});
  wanted.environment = {{"WORD", "x y"}};
  auto child = ChildProcess::start(wanted);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->wait(10000), 7);
  EXPECT_EQ(content(folder_ / "here"), "x y\n");
  EXPECT_EQ(content(folder_ / "messages"), "problem\n");
}

TEST_F(Files, ADroppedChildHasEndedWithItsOwnChildren) {
  int grandchild = -1;  // a pidfd: readable once the process has ended
  {
    auto wanted = command({"sh", "-c", "sleep 600 & echo $!; wait"});
    wanted.is_output_read = true;
    auto child = ChildProcess::start(wanted);
    ASSERT_TRUE(child.ok());
    std::array<std::byte, 64> buffer{};
    auto count = child->read_output(buffer, 10000);
    ASSERT_TRUE(count.ok() && count->has_value());
    const int pid = std::atoi(reinterpret_cast<const char*>(buffer.data()));
    grandchild = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    ASSERT_GE(grandchild, 0);
    EXPECT_EQ(child->wait(0), std::nullopt);
  }
  pollfd ended{grandchild, POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10000), 1);
  ::close(grandchild);
}

TEST_F(Files, AProgramThatIsNotThereIsNamed) {
  auto child = ChildProcess::start(command({"no-such-program"}));
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code, ErrorCode::kNotFound);
  EXPECT_NE(child.error().message.find("no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace pawl::base
