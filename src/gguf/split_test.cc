// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "gguf/reader.h"
#include "gguf/test_data.h"
#include "gguf/writer.h"

namespace pawl::gguf {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

// Keys as real tools write them: u16, u16, i32.
Writer part(uint16_t number, uint16_t count, int32_t tensors) {
  Writer writer;
  if (number == 0) writer.add("general.architecture", "llama");
  writer.add("split.no", number);
  writer.add("split.count", count);
  writer.add("split.tensors.count", tensors);
  return writer;
}

// Three parts: metadata alone, then two tensors, then one.
class Split : public ::testing::Test {
 protected:
  void SetUp() override {
    Writer first = part(0, 3, 3);
    Writer second = part(1, 3, 3);
    second.add_tensor("a", TensorType::kF32, {2}, numbered_bytes(8));
    second.add_tensor("b", TensorType::kF32, {4}, numbered_bytes(16));
    Writer third = part(2, 3, 3);
    third.add_tensor("c", TensorType::kI8, {9}, numbered_bytes(9));
    ASSERT_TRUE(first.write(name(1)).ok());
    ASSERT_TRUE(second.write(name(2)).ok());
    ASSERT_TRUE(third.write(name(3)).ok());
  }

  std::string name(int number) const {
    return folder_ / ("model-0000" + std::to_string(number) + "-of-00003.gguf");
  }
  // Opens the second part; "path: message" of the error.
  std::string error() const {
    const auto file = open(name(2));
    return file.ok() ? "(opened)" : file.error().where + ": " + file.error().message;
  }

  TemporaryFolder folder_{"gguf-split"};
};

TEST_F(Split, AnyPartOpensAllOfThem) {
  for (int i = 1; i <= 3; ++i) {
    const auto file = open(name(i));
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(*(*file)->metadata().get_string("general.architecture"), "llama");
    ASSERT_EQ((*file)->tensors().size(), 3U);
    EXPECT_EQ((*file)->tensors()[0].name, "a");
    const TensorView* const c = (*file)->find_tensor("c");
    ASSERT_NE(c, nullptr);
    (*file)->prefetch(c->data);
    (*file)->release(c->data);
    EXPECT_TRUE(std::ranges::equal(c->data, numbered_bytes(9)));
    int64_t bytes = 0;
    for (int part = 1; part <= 3; ++part) {
      bytes += static_cast<int64_t>(fs::file_size(name(part)));
    }
    EXPECT_EQ((*file)->bytes(), bytes);
  }
}

TEST_F(Split, AMissingPartIsNamed) {
  fs::remove(name(3));
  EXPECT_EQ(error(), name(3) + ": part 3 of 3 is missing");
  EXPECT_EQ(open(name(2)).error().code, ErrorCode::kNotFound);
}

TEST_F(Split, APartOfAnotherFileIsRefused) {
  ASSERT_TRUE(part(2, 4, 3).write(name(3)).ok());
  EXPECT_EQ(error(), name(3) + ": does not describe itself as part 3 of 3 with 3 tensors in all");
  ASSERT_TRUE(part(0, 3, 3).write(name(3)).ok());  // of this file, in the wrong place
  EXPECT_EQ(error(), name(3) + ": does not describe itself as part 3 of 3 with 3 tensors in all");
  ASSERT_TRUE(small_file().write(name(3)).ok());
  EXPECT_EQ(error(), name(3) + ": does not describe itself as part 3 of 3 with 3 tensors in all");
  ASSERT_TRUE(Writer(1).write(name(3)).ok());
  EXPECT_EQ(error(), name(3) + ": GGUF version 1, only 2 and 3 are read");
}

TEST_F(Split, TensorsThatAreMissingOrDoubledAreSaid) {
  ASSERT_TRUE(part(2, 3, 3).write(name(3)).ok());
  EXPECT_EQ(error(), name(2) + ": the parts hold 2 tensors, key 'split.tensors.count' says 3");
  Writer doubled = part(2, 3, 3);
  doubled.add_tensor("b", TensorType::kI8, {9}, numbered_bytes(9));
  ASSERT_TRUE(doubled.write(name(3)).ok());
  EXPECT_EQ(error(), name(2) + ": tensor 'b' is there twice");
}

TEST_F(Split, ARenamedPartSaysWhichNameItNeeds) {
  const std::string renamed = folder_ / "renamed.gguf";
  fs::copy_file(name(2), renamed);
  const auto file = open(renamed);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(
      file.error().message,
      "is part 2 of 3, so its name must end in -00002-of-00003.gguf for the others to be found");
}

TEST(SplitKeys, AreCheckedBeforeAnyOtherFileIsLookedFor) {
  const auto error_of = [](const Writer& writer) {
    const std::vector<std::byte> bytes = writer.bytes();
    const auto file = open_bytes(bytes);
    return file.ok() ? std::string("(opened)") : file.error().message;
  };
  EXPECT_EQ(error_of(part(0, 1, 0)), "(opened)");
  EXPECT_EQ(error_of(part(1, 3, 3)), "part 2 of 3 of a split file, without the others");
  EXPECT_EQ(error_of(part(3, 3, 3)), "key 'split.no': 3 of 3 parts");
  EXPECT_EQ(error_of(part(0, 3, -1)), "key 'split.tensors.count': value -1, wanted uint32");
  Writer many;
  many.add("split.count", uint32_t{100000});
  EXPECT_EQ(error_of(many), "key 'split.count': 100000, limit 99999");
  Writer alone;
  alone.add("split.count", uint32_t{2});
  EXPECT_EQ(error_of(alone), "key 'split.no' is missing");
}

}  // namespace
}  // namespace pawl::gguf
