// SPDX-License-Identifier: Apache-2.0
// For tests of this module: where reference data lies, and small GGUF files made on the spot.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "gguf/writer.h"
#include "text/tokenizer.h"

namespace pawl::text {

std::filesystem::path clone_golden();                       // tests/golden
std::filesystem::path shared_golden();                      // $PAWL_SHARED/golden
std::filesystem::path model_file(const std::string& name);  // $PAWL_HOME/models/NAME.gguf
nlohmann::json read_json(const std::filesystem::path& path);

// A tokenizer, or nullptr after a test failure that says why.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& path);
std::unique_ptr<Tokenizer> open_tiny(const std::string& name);  // of tests/golden/tiny

// The vocabulary of a file as values that a test can change.
struct TinyVocabulary {
  std::string model;
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<float> scores;        // not written when empty
  std::vector<std::string> merges;  // not written when empty
  std::string pre;                  // not written when empty

  static TinyVocabulary of(const std::string& tiny_name);
  // SPM: <unk>, the 256 bytes, U+2581, "a", U+2581 "a".
  static TinyVocabulary smallest_spm();

  // The tokenizer of a file with this and whatever `more` adds.
  base::Result<std::unique_ptr<Tokenizer>> create(const std::function<void(gguf::Writer&)>& more =
                                                      [](gguf::Writer&) {}) const;
};

// The tokenizer of what a writer holds.
base::Result<std::unique_ptr<Tokenizer>> create_tokenizer(const gguf::Writer& writer);

}  // namespace pawl::text
