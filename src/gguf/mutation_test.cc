// SPDX-License-Identifier: Apache-2.0
// Damaged files: each opens, or ends in an error with a message of one line. Crashes, and reads
// outside, are for the sanitizers to see.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "gguf/reader.h"
#include "gguf/test_data.h"
#include "gguf/writer.h"

namespace pawl::gguf {
namespace {

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Looks at everything a loader would look at.
void read_all(const File& file) {
  uint64_t sum = 0;
  for (const Metadata::Entry& entry : file.metadata().entries()) {
    ASSERT_EQ(file.metadata().find(entry.key), &entry.value);
    sum += describe(entry.value, 3).size();
    const auto texts = file.metadata().get_string_array(entry.key);
    if (texts.ok()) {
      for (const std::string_view text : *texts)
        sum += text.empty() ? 0U : std::string(text).size();
    }
    const auto numbers = file.metadata().get_i32_array(entry.key);
    for (size_t i = 0; numbers.ok() && i < numbers->size(); ++i) {
      sum += static_cast<uint32_t>((*numbers)[i]);
    }
  }
  for (const TensorView& tensor : file.tensors()) {
    ASSERT_EQ(file.find_tensor(tensor.name), &tensor);
    for (const std::byte byte : tensor.data) sum += std::to_integer<uint64_t>(byte);
  }
  ASSERT_GE(sum, 0U);
}

// True when it opened.
bool open_damaged(std::vector<std::byte> bytes) {
  bytes.shrink_to_fit();  // so that a sanitizer sees the first byte behind
  const auto file = open_bytes(bytes);
  if (file.ok()) {
    read_all(**file);
    return true;
  }
  EXPECT_FALSE(file.error().message.empty());
  EXPECT_LT(file.error().message.size(), 400U);
  for (const char c : file.error().message) {
    EXPECT_TRUE(c >= 0x20 && c < 0x7f) << file.error().message;
  }
  return false;
}

void truncate_everywhere(const std::vector<std::byte>& whole, size_t times) {
  for (size_t i = 0; i < times; ++i) {
    const size_t size = times >= whole.size() ? i % whole.size() : i * whole.size() / times;
    EXPECT_FALSE(open_damaged({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size << " bytes";
  }
}

// One to four changes each, nearly all in the first `dense` bytes: a bit, a byte, or a number of 4
// or 8 bytes that lies near a border.
size_t mutate(const std::vector<std::byte>& whole, size_t dense, size_t times) {
  constexpr uint64_t kBorders[] = {0,
                                   1,
                                   2,
                                   9,
                                   0x7f,
                                   0xff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   uint64_t{1} << 32,
                                   uint64_t{1} << 61,
                                   uint64_t{1} << 62,
                                   ~uint64_t{0} >> 1,
                                   ~uint64_t{0} - 7,
                                   ~uint64_t{0}};
  std::mt19937_64 random(20240607);
  size_t opened = 0;
  for (size_t i = 0; i < times; ++i) {
    std::vector<std::byte> bytes = whole;
    for (uint64_t change = 0, changes = 1 + random() % 4; change < changes; ++change) {
      const size_t range = random() % 16 == 0 ? bytes.size() : std::min(dense, bytes.size());
      const size_t at = random() % range;
      const uint64_t value = kBorders[random() % std::size(kBorders)];
      const size_t width = std::min<size_t>(random() % 2 == 0 ? 4 : 8, bytes.size() - at);
      switch (random() % 4) {
        case 0:
          bytes[at] ^= static_cast<std::byte>(1U << random() % 8);
          break;
        case 1:
          bytes[at] = static_cast<std::byte>(random());
          break;
        default:
          std::memcpy(bytes.data() + at, &value, width);
      }
    }
    opened += open_damaged(std::move(bytes)) ? 1 : 0;
  }
  return opened;
}

TEST(DamagedFile, TruncationsOfASmallFileEndInAnError) {
  const std::vector<std::byte> whole = small_file().bytes();
  ASSERT_TRUE(open_damaged(whole));
  truncate_everywhere(whole, 1000);
}

TEST(DamagedFile, MutationsOfASmallFileOpenOrEndInAnError) {
  const std::vector<std::byte> whole = small_file().bytes();
  const size_t opened = mutate(whole, whole.size(), 10000);
  // Both must happen, or the mutations do not test what they should.
  EXPECT_GT(opened, 500U);
  EXPECT_LT(opened, 9500U);
}

TEST(DamagedFile, TruncationsAndMutationsOfATinyModelOpenOrEndInAnError) {
  const auto path = golden_folder() / "tiny/mamba.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "missing: " << path;
  const std::vector<std::byte> whole = read_file(path);
  ASSERT_TRUE(open_damaged(whole));
  truncate_everywhere(whole, 1000);
  const size_t opened = mutate(whole, 20 * 1024, 2000);
  EXPECT_GT(opened, 50U);
  EXPECT_LT(opened, 1950U);
}

// The seeds of the fuzz target, and whatever it found: a file that crashed once stays here.
TEST(DamagedFile, EveryFileOfTheFuzzCorpusOpensOrEndsInAnError) {
  size_t valid = 0;
  const auto folder = std::filesystem::path(PAWL_SOURCE_DIR) / "tests/fuzz/corpus/gguf";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool opened = open_damaged(read_file(entry.path()));
    if (!entry.path().filename().string().starts_with("valid-")) continue;
    EXPECT_TRUE(opened) << entry.path();
    ++valid;
  }
  EXPECT_EQ(valid, 7U);
}

}  // namespace
}  // namespace pawl::gguf
