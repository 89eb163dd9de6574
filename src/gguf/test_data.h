// SPDX-License-Identifier: Apache-2.0
// Where the tests of gguf/ find files, and the small file that most of them damage.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "gguf/writer.h"

namespace pawl::gguf {

inline std::filesystem::path golden_folder() {
  const char* const shared = std::getenv("PAWL_SHARED");
  const std::filesystem::path source = PAWL_SOURCE_DIR;
  return (shared != nullptr ? std::filesystem::path(shared) : source / "../shared") / "golden";
}

inline std::filesystem::path model_path(const std::string& name) {
  const char* const home = std::getenv("PAWL_HOME");
  const char* const user = std::getenv("HOME");
  const std::filesystem::path base =
      home != nullptr ? std::filesystem::path(home)
                      : std::filesystem::path(user != nullptr ? user : "/") / ".cache/pawl";
  return base / "models" / (name + ".gguf");
}

// A folder of this test's own, gone with it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("pawl-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> numbered_bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256);
  return bytes;
}

// Keys of every kind and three tensors: a F32 [4], b Q8_0 [64, 3], c F16 [2, 3, 2, 2].
inline Writer small_file() {
  Writer writer;
  writer.add("general.architecture", "llama");
  writer.add("llama.block_count", uint32_t{1});
  writer.add("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.add("tokenizer.ggml.add_bos_token", true);
  writer.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "a", "b", "ab"});
  writer.add_array("tokenizer.ggml.scores", std::vector<float>{0, -1, -2, -3});
  writer.add_array("tokenizer.ggml.token_type", std::vector<int32_t>{3, 1, 1, 1});
  writer.add_tensor("a", TensorType::kF32, {4}, numbered_bytes(16));
  writer.add_tensor("b", TensorType::kQ8_0, {64, 3}, numbered_bytes(204));
  writer.add_tensor("c", TensorType::kF16, {2, 3, 2, 2}, numbered_bytes(48));
  return writer;
}

}  // namespace pawl::gguf
