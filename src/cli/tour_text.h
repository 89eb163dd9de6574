// SPDX-License-Identifier: Apache-2.0
// The tour in a terminal: a head, each chapter as it is over, a table of all rows, and a line of
// progress between them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/paint.h"
#include "cli/tour.h"

namespace pawl::cli {

struct TourHead {
  std::string model, machine;  // "AMD EPYC · 2 threads · avx512vnni"
  size_t chapters = 0;
};
std::string tour_head_text(const TourHead& head, const Paint& paint);

struct TourChapterDone {
  const TourChapter* chapter = nullptr;
  double seconds = 0;
  TourChapterResult result;
};
std::string tour_chapter_text(const TourChapterDone& done, const Paint& paint);
std::string tour_table_text(const std::vector<TourChapterDone>& done, const Paint& paint);

std::string tour_mark(TourVerdict verdict);  // "✓", "✗", "?", "≠"
Ink tour_ink(TourVerdict verdict);

// How far the whole tour is, on stderr: on a terminal one line that is drawn over, elsewhere a line
// for each chapter. Threads: one.
class TourProgressLine {
 public:
  TourProgressLine(bool is_quiet, double usual_s, const base::Clock& clock);
  ~TourProgressLine();
  TourProgressLine(const TourProgressLine&) = delete;
  TourProgressLine& operator=(const TourProgressLine&) = delete;

  void begin(const TourChapter& chapter, size_t number, size_t of);
  void update(double share, std::string_view what);
  void end();  // of the chapter: clears the line

 private:
  bool is_quiet_, is_drawn_;
  double usual_s_, done_s_ = 0;  // of the chapters, as they usually take
  const base::Clock& clock_;
  int64_t start_ns_;
  const TourChapter* chapter_ = nullptr;
  size_t number_ = 0, of_ = 0;
};

}  // namespace pawl::cli
