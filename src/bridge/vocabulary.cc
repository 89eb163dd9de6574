// SPDX-License-Identifier: Apache-2.0
#include "bridge/vocabulary.h"

#include <algorithm>

#include "bridge/text.h"

namespace pawl::bridge {
namespace {

size_t call_tokenize(const void* user, const char* text, size_t size, uint32_t* ids,
                     size_t capacity) {
  const auto& tokenize = *static_cast<const Vocabulary::Tokenize*>(user);
  const std::vector<base::TokenId> made = tokenize(std::string_view(text, size));
  if (made.size() <= capacity) {
    std::ranges::transform(made, ids, [](base::TokenId id) { return static_cast<uint32_t>(id); });
  }
  return made.size();
}

}  // namespace

void Vocabulary::Free::operator()(pawl_vocabulary* vocabulary) const {
  pawl_vocabulary_free(vocabulary);
}

base::Result<std::shared_ptr<const Vocabulary>> Vocabulary::create(
    const std::vector<std::string>& words, std::span<const base::TokenId> end_ids,
    Tokenize tokenize) {
  std::shared_ptr<Vocabulary> vocabulary(new Vocabulary(words.size(), std::move(tokenize)));
  std::string bytes;
  std::vector<uint64_t> ends;
  ends.reserve(words.size());
  for (const std::string& word : words) {
    bytes += word;
    ends.push_back(bytes.size());
  }
  std::vector<uint32_t> end_numbers;
  for (const base::TokenId id : end_ids) end_numbers.push_back(static_cast<uint32_t>(id));
  const pawl_vocabulary_source source{
      .bytes = bytes.data(),
      .ends = ends.data(),
      .entries = ends.size(),
      .end_ids = end_numbers.data(),
      .end_id_count = end_numbers.size(),
      .tokenize = vocabulary->tokenize_ ? call_tokenize : nullptr,
      .user = &vocabulary->tokenize_,
  };
  pawl_vocabulary* made = nullptr;
  pawl_text message{};
  const int32_t status = pawl_vocabulary_create(&source, &made, &message);
  std::string text = take(message);
  if (status != PAWL_BRIDGE_OK) return error_of(status, "the vocabulary " + text, "vocabulary");
  vocabulary->made_.reset(made);
  return std::shared_ptr<const Vocabulary>(std::move(vocabulary));
}

}  // namespace pawl::bridge
