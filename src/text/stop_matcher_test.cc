// SPDX-License-Identifier: Apache-2.0
#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::text {
namespace {

struct Shown {
  std::string text;
  bool stopped = false;
  std::vector<std::string> outputs;  // of each push
};

// Feeds the pieces; flushes when no stop string came.
Shown run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher = StopMatcher::create(stops).value();
  Shown shown;
  for (const std::string& piece : pieces) {
    std::string out;
    shown.stopped = matcher.push(piece, out);
    shown.outputs.push_back(out);
    shown.text += out;
    if (shown.stopped) return shown;
  }
  matcher.flush(shown.text);
  return shown;
}

// Every way to cut a text into pieces.
std::vector<std::vector<std::string>> all_cuts(const std::string& text) {
  std::vector<std::vector<std::string>> cuts;
  for (uint32_t mask = 0; mask < 1u << (text.size() - 1); ++mask) {
    std::vector<std::string> pieces(1);
    for (size_t i = 0; i < text.size(); ++i) {
      pieces.back() += text[i];
      if (i + 1 < text.size() && (mask >> i & 1) != 0) pieces.emplace_back();
    }
    cuts.push_back(pieces);
  }
  return cuts;
}

TEST(StopMatcher, S021_NoByteOfAStopStringIsShownHoweverItIsCut) {
  for (const auto& pieces : all_cuts("DEFGHIJKLMNOPQRS")) {
    const Shown shown = run({"MNOPQ"}, pieces);
    ASSERT_TRUE(shown.stopped);
    ASSERT_EQ(shown.text, "DEFGHIJKL");
  }
}

TEST(StopMatcher, S021_OverlappingStopsAndAStopAtTheBeginning) {
  for (const auto& pieces : all_cuts("xyabcd")) EXPECT_EQ(run({"ab", "abc"}, pieces).text, "xy");
  for (const auto& pieces : all_cuts("xyabcd")) EXPECT_EQ(run({"abc", "bc"}, pieces).text, "xy");
  for (const auto& pieces : all_cuts("xyabcd")) EXPECT_EQ(run({"bc", "abcd"}, pieces).text, "xya");
  for (const auto& pieces : all_cuts("abc")) {
    const Shown shown = run({"ab"}, pieces);
    EXPECT_TRUE(shown.stopped);
    EXPECT_EQ(shown.text, "");
  }
  // The beginning of a stop string inside another try of it.
  for (const auto& pieces : all_cuts("aaabaaac")) EXPECT_EQ(run({"aac"}, pieces).text, "aaaba");
}

TEST(StopMatcher, S022_HeldTextIsFlushedAtTheEnd) {
  const Shown shown = run({"asap"}, {"ple", "as"});
  EXPECT_FALSE(shown.stopped);
  EXPECT_EQ(shown.text, "pleas");
  EXPECT_EQ(shown.outputs, (std::vector<std::string>{"ple", ""}));
}

TEST(StopMatcher, HoldsBackOnlyWhatMayStillBecomeAStop) {
  const Shown shown = run({"\n\nUser:"}, {"Hi", "\n", "\n", "Us", "ual"});
  EXPECT_EQ(shown.outputs, (std::vector<std::string>{"Hi", "", "", "", "\n\nUsual"}));
}

TEST(StopMatcher, NamesTheStopThatWasFoundAndStaysStopped) {
  StopMatcher matcher = StopMatcher::create(std::vector<std::string>{"x", "END"}).value();
  std::string out;
  EXPECT_TRUE(matcher.push("the ENDx", out));
  EXPECT_EQ(matcher.found(), 1u);
  EXPECT_TRUE(matcher.push("more", out));
  matcher.flush(out);
  EXPECT_EQ(out, "the ");
}

TEST(StopMatcher, WithoutStopsEverythingPassesAtOnce) {
  StopMatcher matcher;
  std::string out;
  EXPECT_FALSE(matcher.push("abc", out));
  EXPECT_EQ(out, "abc");
}

TEST(StopMatcher, RefusesWhatCannotBeAStopString) {
  const auto message = [](std::vector<std::string> stops) {
    auto matcher = StopMatcher::create(stops);
    return matcher.ok() ? std::string() : matcher.error().message;
  };
  EXPECT_NE(message({"a", ""}).find("stop string 1 is empty"), std::string::npos);
  EXPECT_NE(message({"\xFF"}).find("not valid UTF-8"), std::string::npos);
  EXPECT_NE(message({std::string(2 << 20, 'a')}).find("1048576 bytes"), std::string::npos);
}

// A text that nearly matches everywhere: each byte is looked at a bounded number of times on
// average.
TEST(StopMatcher, LongNearMatchesStayCheap) {
  StopMatcher matcher =
      StopMatcher::create(std::vector<std::string>{std::string(100000, 'a') + "b"}).value();
  std::string out;
  const std::string text = std::string(99999, 'a') + "c";
  for (int round = 0; round < 10; ++round) EXPECT_FALSE(matcher.push(text, out));
  EXPECT_EQ(out.size(), 1000000u);
}

}  // namespace
}  // namespace pawl::text
