// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace pawl::base {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("pawl-mapped-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  fs::path folder_;
};

std::string text_of(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

TEST_F(MappedFileTest, GivesTheBytesOfTheFileAndKeepsThemWhenMoved) {
  auto file = MappedFile::open(write("a", "hello"));
  ASSERT_TRUE(file.ok());
  const auto before = file->bytes();
  MappedFile moved = std::move(file).value();
  EXPECT_EQ(moved.bytes().data(), before.data());
  EXPECT_EQ(text_of(moved.bytes()), "hello");
}

TEST_F(MappedFileTest, AnEmptyFileIsAnEmptySpan) {
  auto file = MappedFile::open(write("empty", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, WhatIsNotThereOrNoFileIsAnErrorWithItsPath) {
  const std::string missing = (folder_ / "missing").string();
  auto none = MappedFile::open(missing);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().where, missing);

  auto folder = MappedFile::open(folder_.string());
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(MappedFileTest, ReleasedPagesLeaveMemoryAndReadTheSameAgain) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::string text(page * 8, 'x');
  for (size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
  auto file = MappedFile::open(write("pages", text));
  ASSERT_TRUE(file.ok());
  file->prefetch(file->bytes());
  EXPECT_EQ(text_of(file->bytes()), text);
  file->release(file->bytes().subspan(1, page * 8 - 2));
  EXPECT_EQ(text_of(file->bytes()), text);
  file->release(file->bytes().subspan(3, 5));  // no whole page inside
  file->release({});
}

TEST_F(MappedFileTest, ContainsKnowsItsOwnBytesOnly) {
  auto a = MappedFile::open(write("a", "aaaa"));
  auto b = MappedFile::open(write("b", "bbbb"));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(a->contains(a->bytes()));
  EXPECT_TRUE(a->contains(a->bytes().subspan(4)));
  EXPECT_FALSE(a->contains(b->bytes()));
  EXPECT_FALSE(a->contains({a->bytes().data(), 5}));
}

}  // namespace
}  // namespace pawl::base
