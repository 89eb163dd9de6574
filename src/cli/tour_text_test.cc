// SPDX-License-Identifier: Apache-2.0
// The tour's text: every row is there, and no line is wider than the terminal.
#include "cli/tour_text.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl::cli {
namespace {

TourChapterDone chapter_with(TourVerdict verdict) {
  TourChapterDone done;
  done.chapter = &tour_chapters().front();
  done.seconds = 2.25;
  TourFinding finding{
      "1a",
      "scores and choice are separate",
      "A claim that is a sentence of quite some length, so that it has to go on in "
      "the next line of a terminal.",
      "262,144 scores",
      "A measurement that is longer than a line too, with größer and ≥ in it, and a "
      "word_that_has_no_space_for_a_very_long_time_and_goes_on_and_on_and_on_and_on_"
      "and_on_and_on.",
      verdict};
  done.result.findings.push_back(finding);
  TourPicture picture{"a picture with a title", {}};
  picture.lines.push_back({"first", {{10, Ink::kFirst}, {0.01, Ink::kTail}}, "10 + 0.01"});
  picture.lines.push_back({"second", {{1e9, Ink::kFirst}}, "much"});
  picture.lines.push_back({"none", {{0, Ink::kFirst}}, "0"});
  picture.lines.push_back({"text", {}, std::string(300, 'x')});
  done.result.pictures.push_back(picture);
  return done;
}

void expect_narrow(const std::string& text, size_t columns) {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    EXPECT_LE(cells(rest.substr(0, end)), columns) << rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

TEST(TourText, NoLineIsWiderThanTheTerminal) {
  for (const size_t columns : {60U, 80U, 100U, 120U}) {
    const Paint paint{false, columns};
    const TourChapterDone done = chapter_with(TourVerdict::kHolds);
    expect_narrow(tour_chapter_text(done, paint), columns);
    expect_narrow(tour_table_text({done}, paint), columns);
    expect_narrow(tour_head_text({"gemma3-270m", std::string(200, 'm'), 8}, paint), columns);
  }
}

TEST(TourText, EachVerdictHasItsMarkAndItsWord) {
  const Paint paint;
  const std::pair<TourVerdict, const char*> all[] = {{TourVerdict::kHolds, "✓ holds"},
                                                     {TourVerdict::kFails, "✗ does not hold"},
                                                     {TourVerdict::kCannotTell, "? cannot tell"},
                                                     {TourVerdict::kDiffers, "≠ differs here"}};
  for (const auto& [verdict, said] : all) {
    const TourChapterDone done = chapter_with(verdict);
    EXPECT_NE(tour_chapter_text(done, paint).find(said), std::string::npos) << said;
    EXPECT_NE(tour_table_text({done}, paint).find(said), std::string::npos) << said;
  }
}

TEST(TourText, AnEndlessCommandIsNotCut) {
  const Paint paint;
  for (const TourChapter& chapter : tour_chapters()) {
    TourChapterDone done;
    done.chapter = &chapter;
    std::string text;
    for (const char c : tour_chapter_text(done, paint)) {
      if (c != '\n' && (c != ' ' || text.empty() || text.back() != ' ')) text += c;
    }
    std::string command;
    for (const char c : chapter.closer) command += c;
    // A line break stands where a space was.
    const auto bare = [](std::string from) {
      std::erase(from, ' ');
      return from;
    };
    EXPECT_NE(bare(text).find(bare(command)), std::string::npos) << text;
  }
}

TEST(TourText, ChaptersAreKnownByTheirNames) {
  std::set<std::string_view> names;
  for (const TourChapter& chapter : tour_chapters()) {
    EXPECT_TRUE(names.insert(chapter.name).second) << chapter.name;
    EXPECT_GT(chapter.usual_s, 0);
    EXPECT_NE(chapter.run, nullptr);
  }
}

}  // namespace
}  // namespace pawl::cli
