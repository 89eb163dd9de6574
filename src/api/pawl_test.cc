// SPDX-License-Identifier: Apache-2.0
// The public interface, against the engine behind it and its own promises. The tiny model's logits
// come from an independent implementation (tests/golden/tiny).
#include <gtest/gtest.h>
#include <pawl/pawl.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

const std::string kTiny = PAWL_SOURCE_DIR "/tests/golden/tiny/gemma3.gguf";
const std::vector<pawl::Token> kPrompt = {2, 43, 80, 117, 154, 191};

pawl::Model tiny(const pawl::OpenOptions& options = {}) {
  auto model = pawl::Model::open(kTiny, options);
  EXPECT_TRUE(model.ok());
  return std::move(*model);
}

pawl::Token largest(std::span<const float> row) {
  return static_cast<pawl::Token>(std::max_element(row.begin(), row.end()) - row.begin());
}

TEST(PublicInterface, PassAndLargestByHandAreWhatGenerateGives) {
  pawl::Model model = tiny();
  auto sequence = model.begin();
  ASSERT_TRUE(sequence.ok());
  std::vector<pawl::Token> input = kPrompt, by_hand;
  while (by_hand.size() < 12) {
    const auto row = sequence->pass(input);
    ASSERT_TRUE(row.ok());
    ASSERT_EQ(row->size(), static_cast<size_t>(model.vocabulary()));
    const auto chosen = model.choose(*row, sequence->tokens());
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(*chosen, largest(*row));
    by_hand.push_back(*chosen);
    if (model.is_end(*chosen)) break;
    input = {*chosen};
  }
  const auto generated = model.generate(kPrompt, {.sampling = {}, .max_tokens = 12});
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->tokens, by_hand);
}

TEST(PublicInterface, DrawnTokensAreThoseOfGenerateToo) {
  pawl::Model model = tiny();
  const pawl::Sampling sampling{.temperature = 1.3, .top_k = 50, .seed = 11};
  auto sequence = model.begin();
  std::vector<pawl::Token> input = kPrompt, by_hand;
  while (by_hand.size() < 12) {
    const auto row = sequence->pass(input);
    const auto chosen = model.choose(*row, sequence->tokens(), sampling);
    ASSERT_TRUE(chosen.ok());
    by_hand.push_back(*chosen);
    if (model.is_end(*chosen)) break;
    input = {*chosen};
  }
  const auto generated = model.generate(kPrompt, {.sampling = sampling, .max_tokens = 12});
  ASSERT_TRUE(generated.ok());
  EXPECT_EQ(generated->tokens, by_hand);
}

TEST(PublicInterface, WhereAPassEndsChangesNoBitOfTheRow) {
  pawl::Model model = tiny();
  auto whole = model.begin(), pieces = model.begin();
  const auto row = whole->pass(kPrompt);
  ASSERT_TRUE(row.ok());
  ASSERT_TRUE(pieces->pass(std::span(kPrompt).first(2)).ok());
  const auto last = pieces->pass(std::span(kPrompt).subspan(2));
  ASSERT_TRUE(last.ok());
  EXPECT_TRUE(std::equal(row->begin(), row->end(), last->begin(), last->end()));
}

TEST(PublicInterface, ACallbackHearsEveryTokenAndCanEndIt) {
  pawl::Model model = tiny();
  std::stop_source source;
  std::vector<pawl::Token> heard;
  std::string text;
  const auto completion = model.generate(
      kPrompt,
      {.sampling = {.temperature = 1, .seed = 3}, .max_tokens = 100, .stop = source.get_token()},
      [&](const pawl::Piece& piece) {
        heard.push_back(piece.token);
        text += piece.text;
        if (heard.size() == 3) source.request_stop();
      });
  ASSERT_TRUE(completion.ok());
  EXPECT_EQ(completion->finish_reason, "cancelled");
  EXPECT_GE(completion->tokens.size(), 3u);
  EXPECT_LE(completion->tokens.size(), 4u);
  EXPECT_EQ(completion->text, text);
}

TEST(PublicInterface, TextComesBack) {
  pawl::Model model = tiny();
  const auto tokens = model.tokenize("a b");
  ASSERT_TRUE(tokens.ok());
  const auto text = model.detokenize(*tokens);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "a b");
}

TEST(PublicInterface, ErrorsNameTheOffender) {
  const auto missing = pawl::Model::open("/no/such.gguf");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/no/such.gguf"), std::string::npos);
  pawl::Model model = tiny({.threads = 1, .context = 8});
  EXPECT_EQ(model.context(), 8);
  auto sequence = model.begin();
  const std::vector<pawl::Token> far(9, 5), unknown = {1 << 30}, negative = {-1};
  for (const auto& tokens : {far, unknown, negative, {}}) EXPECT_FALSE(sequence->pass(tokens).ok());
  EXPECT_TRUE(sequence->tokens().empty());
  EXPECT_TRUE(sequence->pass(kPrompt).ok());
  EXPECT_NE(sequence->pass(kPrompt).error().message.find("context of 8"), std::string::npos);
  EXPECT_FALSE(model.generate(far).ok());
  EXPECT_FALSE(model.detokenize(unknown).ok());
  const std::vector<float> row(static_cast<size_t>(model.vocabulary()), 0.0F);
  EXPECT_FALSE(model.choose(std::span(row).first(3), {}).ok());
  const auto hot = model.choose(row, {}, {.temperature = -1});
  ASSERT_FALSE(hot.ok());
  EXPECT_NE(hot.error().message.find("temperature"), std::string::npos);
}

}  // namespace
