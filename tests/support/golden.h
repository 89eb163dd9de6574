// SPDX-License-Identifier: Apache-2.0
// Finding and reading the reference data: first what a clone carries in tests/golden, then
// $PAWL_SHARED/golden (default: ../shared/golden beside the repository). Models: $PAWL_HOME/models.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace pawl::tests {

// The path of "tiny/gemma3.gguf" and the like, or nothing: the caller then skips, naming it.
inline std::optional<std::string> golden_path(const std::string& name) {
  const std::filesystem::path source(PAWL_SOURCE_DIR);
  const char* shared = std::getenv("PAWL_SHARED");
  const std::filesystem::path outside =
      shared != nullptr ? std::filesystem::path(shared) : source / "../shared";
  for (const auto& path : {source / "tests/golden" / name, outside / "golden" / name}) {
    if (std::filesystem::exists(path)) return path.string();
  }
  return std::nullopt;
}

inline std::optional<std::string> model_path(const std::string& name) {
  const char* home = std::getenv("PAWL_HOME");
  const char* user = std::getenv("HOME");
  const std::filesystem::path base =
      home != nullptr ? std::filesystem::path(home)
                      : std::filesystem::path(user != nullptr ? user : "/") / ".cache/pawl";
  const std::filesystem::path path = base / "models" / (name + ".gguf");
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path.string();
}

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

// A float32 C-order array of two dimensions, as numpy saves it.
struct Npy {
  int64_t rows = 0, cols = 0;
  std::vector<float> data;
  const float* row(int64_t i) const { return data.data() + i * cols; }
};

inline Npy read_npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t header =
      10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  const std::string text = bytes.substr(10, header - 10);
  Npy npy;
  const size_t open = text.find('(');
  char* end = nullptr;
  npy.rows = std::strtoll(text.c_str() + open + 1, &end, 10);
  npy.cols = std::strtoll(end + 1, nullptr, 10);
  npy.data.resize(static_cast<size_t>(npy.rows * npy.cols));
  std::memcpy(npy.data.data(), bytes.data() + header, npy.data.size() * sizeof(float));
  return npy;
}

}  // namespace pawl::tests
