// SPDX-License-Identifier: Apache-2.0
// The subject walked on one model: chapters, each a few claims of the field with what was measured
// here and a verdict. A chapter is one row of tour_chapters() and one function; what chapters share
// (the model, a server, the sweep that predictions rest on) is opened when the first asks for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/lab_session.h"
#include "cli/model_session.h"
#include "cli/paint.h"
#include "lab/sweep.h"

namespace pawl::cli {

enum class TourVerdict {
  kHolds,
  kFails,       // what the claim says is not so here
  kCannotTell,  // the measurement does not decide
  kDiffers,     // another figure here, of a claim that is about other models
};
std::string_view verdict_name(TourVerdict verdict);  // "holds", "does not hold", …

// One row of the subject.
struct TourFinding {
  std::string_view row;    // "1a"
  std::string_view title;  // at most 32 cells
  std::string_view claim;  // one sentence
  std::string figure;      // at most 24 cells
  std::string measured;    // one sentence with its numbers
  TourVerdict verdict = TourVerdict::kCannotTell;
};

// A drawing in a terminal: lines of a label, bars and a text. Bars of one picture share their
// scale.
struct TourPicture {
  struct Bar {
    double value = 0;
    Ink ink = Ink::kFirst;
  };
  struct Line {
    std::string label;
    std::vector<Bar> bars;  // one behind the other; none: a line of text
    std::string text;
  };
  std::string title;
  std::vector<Line> lines;
};

struct TourChapterResult {
  std::vector<TourFinding> findings;
  std::vector<TourPicture> pictures;
  std::vector<base::Json> documents;  // result files, as the command to look closer writes them
  std::string source;                 // where its numbers were measured, if not here; or empty
};

class Tour;
struct TourChapter {
  int number = 0;           // of the subject's rows: 2 for 2a to 2c
  std::string_view name;    // for --chapter
  std::string_view title;   // one line
  std::string_view closer;  // the command that shows more
  double usual_s = 0;       // on two CPUs with the default model, for the time that is left
  base::Result<TourChapterResult> (*run)(Tour& tour);
};
std::span<const TourChapter> tour_chapters();

struct TourOptions {
  CommonOptions common;
  uint64_t seed() const { return common.seed.value_or(1); }
};

// Told how far a chapter is, from 0 to 1, and what it does.
using TourProgress = std::function<void(double share, std::string_view what)>;

// Threads: none of its own; one object, one thread. The arguments outlive it.
class Tour {
 public:
  Tour(const TourOptions& options, const base::Clock& clock, const InterruptWatch& interrupt,
       TourProgress progress);

  const TourOptions& options() const { return options_; }
  const base::Clock& clock() const { return clock_; }
  std::stop_token stop() const { return interrupt_.token(); }
  void tell(double share, std::string_view what) const { progress_(share, what); }

  // The model in this process. Valid until server() is called: both would share the processor.
  base::Result<ModelSession*> model();
  // `pawl serve` with the model, as its own process. Valid until model() is called.
  base::Result<LabSession*> server();

  // Asks the plan of the server, one request at a time, while the chapter goes from one share to
  // the other.
  base::Result<std::vector<lab::RequestRecord>> ask(const std::vector<lab::Planned>& plan,
                                                    double from, double to, std::string_view what);
  // A sweep of the server, made once. The records are those that it concludes from.
  struct Swept {
    std::vector<lab::RequestRecord> records;
    lab::SweepResult result;
  };
  base::Result<const Swept*> sweep(double from, double to);
  bool has_swept() const { return swept_.has_value(); }

 private:
  const TourOptions& options_;
  const base::Clock& clock_;
  const InterruptWatch& interrupt_;
  TourProgress progress_;
  LabFlags lab_flags_;
  std::optional<ModelSession> model_;
  std::optional<LabSession> server_;
  std::optional<Swept> swept_;
};

// The chapters' functions, in the order of the subject.
base::Result<TourChapterResult> tour_logits(Tour& tour);
base::Result<TourChapterResult> tour_loop(Tour& tour);
base::Result<TourChapterResult> tour_divergence(Tour& tour);
base::Result<TourChapterResult> tour_phases(Tour& tour);
base::Result<TourChapterResult> tour_shapes(Tour& tour);
base::Result<TourChapterResult> tour_prediction(Tour& tour);
base::Result<TourChapterResult> tour_streaming(Tour& tour);
base::Result<TourChapterResult> tour_cancel(Tour& tour);
base::Result<TourChapterResult> tour_schema(Tour& tour);

}  // namespace pawl::cli
