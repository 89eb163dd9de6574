// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "cli/exit_status.h"
#include "cli/prompt_input.h"

namespace pawl::cli {
namespace {

constexpr CommandHelp kHelp = {"try", "Tries flags.", "pawl try word", "[options]"};

struct Given {
  std::optional<std::string> prompt;
  std::vector<std::string> stops;
  int64_t count = 128;
  double temperature = 1;
  std::optional<uint64_t> seed;
  bool is_json = false;
  std::optional<std::string> word;

  base::Result<bool> parse(const std::vector<std::string>& arguments) {
    CommandLine line(kHelp);
    line.text({"-p,--prompt", "TEXT", "a text"}, prompt);
    line.texts({"--stop", "TEXT", "a stop"}, stops);
    line.integer({"-n,--max-tokens", "N", "tokens"}, count, 0, 1000);
    line.number({"--temperature", "X", "heat"}, temperature, 0, 10);
    line.unsigned_integer({"--seed", "N", "seed"}, seed);
    line.flag({"--json", "", "JSON"}, is_json);
    line.word({"TEXT", "", "a word"}, word);
    return line.parse(arguments);
  }
};

std::string message_of(const std::vector<std::string>& arguments) {
  Given given;
  auto result = given.parse(arguments);
  return result.ok() ? "(accepted)" : error_line(result.error());
}

TEST(CommandLine, ValuesArriveUntouched) {
  for (const char* text : {"[INST] a, b [/INST]", "[x]", "", " ", "-5", "--help", "a=b", "\"q\"",
                           "{}", "%s", "run", "/x"}) {
    Given given;
    ASSERT_TRUE(given.parse({"-p", text, "--stop", text, "--stop", "second"}).ok()) << text;
    EXPECT_EQ(given.prompt, text);
    EXPECT_EQ(given.stops, (std::vector<std::string>{text, "second"}));
  }
}

TEST(CommandLine, WordsArriveUntouched) {
  for (const char* text : {"[INST] a, b [/INST]", "[x]", "", "run", "model", "a=b"}) {
    Given given;
    ASSERT_TRUE(given.parse({text}).ok()) << text;
    EXPECT_EQ(given.word, text);
  }
  Given given;
  ASSERT_TRUE(given.parse({"--json", "--", "--seed"}).ok());
  EXPECT_EQ(given.word, "--seed");
}

TEST(CommandLine, NumbersAreDecimalAndWhole) {
  Given given;
  ASSERT_TRUE(
      given.parse({"-n", "010", "--temperature", "0.7", "--seed", "18446744073709551615"}).ok());
  EXPECT_EQ(given.count, 10);
  EXPECT_EQ(given.temperature, 0.7);
  EXPECT_EQ(given.seed, UINT64_MAX);
}

TEST(CommandLine, AWrongValueNamesItsFlagAndTheRange) {
  for (const char* value :
       {"12abc", "0x10", "1.5", "", " 5", "1001", "-1", "99999999999999999999"}) {
    const std::string message = message_of({"-n", value});
    EXPECT_NE(message.find("--max-tokens"), std::string::npos) << message;
    EXPECT_NE(message.find("from 0 to 1000"), std::string::npos) << message;
  }
  for (const char* value : {"nan", "inf", "-0.1", "11", "hot"}) {
    EXPECT_NE(message_of({"--temperature", value}).find("--temperature"), std::string::npos)
        << value;
  }
  EXPECT_NE(message_of({"--seed", "-1"}).find("--seed"), std::string::npos);
}

TEST(CommandLine, WhatIsUnknownTwiceOrMissingIsNamed) {
  EXPECT_NE(message_of({"--temprature", "1"}).find("'--temprature'; did you mean --temperature?"),
            std::string::npos)
      << message_of({"--temprature", "1"});
  EXPECT_NE(message_of({"-p"}).find("--prompt needs a value"), std::string::npos)
      << message_of({"-p"});
  EXPECT_NE(message_of({"-n", "1", "-n", "2"}).find("--max-tokens is given twice"),
            std::string::npos)
      << message_of({"-n", "1", "-n", "2"});
  EXPECT_NE(message_of({"one", "two"}).find("'two'"), std::string::npos)
      << message_of({"one", "two"});
}

TEST(CommandLine, AnErrorIsOneLine) {
  EXPECT_EQ(error_line({base::ErrorCode::kBadFile, "key 'a\nb\x1b[31m'", "x.gguf"}),
            "pawl: error: key 'a?b?[31m' (x.gguf)");
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"-x"}, {"-p"}, {"--seed", "a\nb"}}) {
    EXPECT_EQ(message_of(arguments).find('\n'), std::string::npos);
  }
}

TEST(CommandLine, HelpStartsWithASentenceAndAnExampleAndShowsDefaults) {
  int64_t count = 128;
  CommandLine line(kHelp);
  line.group("Generation");
  line.integer({"-n,--max-tokens", "N", "output tokens at most"}, count, 0, 1000);
  const std::string help = line.help_text();
  EXPECT_TRUE(help.starts_with("Tries flags.\n\n  pawl try word\n")) << help;
  EXPECT_NE(help.find("Generation\n  -n, --max-tokens N  output tokens at most (default 128)\n"),
            std::string::npos)
      << help;
}

TEST(PromptInput, IdsAreReadAndTheOffenderIsNamed) {
  EXPECT_EQ(*parse_ids("1,2, 3"), (std::vector<base::TokenId>{1, 2, 3}));
  for (const char* bad : {"-1", "x", "", "1,,2", "1,", "2147483648", "1 2", "0x5"}) {
    EXPECT_FALSE(parse_ids(bad).ok()) << bad;
  }
  EXPECT_NE(parse_ids("5,-1").error().message.find("'-1'"), std::string::npos);
  EXPECT_NE(parse_ids("5,2147483648").error().message.find("'2147483648'"), std::string::npos);
}

TEST(ExitStatus, FollowsTheContract) {
  using base::ErrorCode;
  EXPECT_EQ(exit_status_of(ErrorCode::kInvalidArgument), ExitStatus::kWrongInput);
  EXPECT_EQ(exit_status_of(ErrorCode::kBadFile), ExitStatus::kWrongInput);
  EXPECT_EQ(exit_status_of(ErrorCode::kNetwork), ExitStatus::kSurroundings);
  EXPECT_EQ(exit_status_of(ErrorCode::kCancelled), ExitStatus::kInterrupted);
  EXPECT_EQ(static_cast<int>(ExitStatus::kInterrupted), 130);
}

}  // namespace
}  // namespace pawl::cli
