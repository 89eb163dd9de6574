// SPDX-License-Identifier: Apache-2.0
// Tour: streaming, the two clocks of a request, and what would blur them.
#include <fmt/format.h>

#include <algorithm>

#include "cli/sweep_report.h"
#include "cli/terminal.h"
#include "cli/tour.h"
#include "lab/stats.h"

namespace pawl::cli {

using base::Result;
using lab::Finding;
using lab::Point;
using lab::SweepResult;
using lab::Verdict;

namespace {

const Verdict* find(const std::vector<Verdict>& verdicts, std::string_view name) {
  const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                  [&](const Verdict& one) { return one.name == name; });
  return found == verdicts.end() ? nullptr : &*found;
}

std::string ms_text(double ms) {
  return ms < 1000 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.2f} s", ms / 1000);
}

TourFinding streaming_finding(const SweepResult& sweep) {
  TourFinding finding{"6a",
                      "streaming moves the first token",
                      "Streaming moves the first token, not the last.",
                      "not measured",
                      "No answer came both ways.",
                      TourVerdict::kCannotTell};
  if (!sweep.streaming) return finding;
  const lab::Streaming& streaming = *sweep.streaming;
  const double width = streaming.ratio.interval.high - streaming.ratio.interval.low;
  const bool is_earlier = streaming.streamed_first_ms < streaming.whole_end_ms / 2;
  finding.figure = fmt::format("{} of {}", ms_text(streaming.streamed_first_ms),
                               ms_text(streaming.streamed_end_ms));
  finding.measured = fmt::format(
      "The first text came after {}, the last after {}; without a stream all of it after {}: {} "
      "times as long to the end.",
      ms_text(streaming.streamed_first_ms), ms_text(streaming.streamed_end_ms),
      ms_text(streaming.whole_end_ms), shown_estimate(streaming.ratio));
  if (!streaming.holds || !is_earlier) {
    finding.verdict = TourVerdict::kFails;
  } else if (width <= 0.5) {
    finding.verdict = TourVerdict::kHolds;
  }
  return finding;
}

TourFinding clocks_finding(const SweepResult& sweep) {
  TourFinding finding{"6b",
                      "two clocks",
                      "Two clocks: the prompt moves the start-up, the output moves the tail.",
                      "no fit",
                      "",
                      TourVerdict::kCannotTell};
  if (!sweep.split.is_usable()) {
    finding.measured =
        sweep.split.symptoms().empty() ? "No fit is given." : sweep.split.symptoms().front().text;
    return finding;
  }
  const double prompt = sweep.split.prompt_token_ms(sweep.split.prompt_range().high).value;
  const double output = sweep.split.output_token_ms(sweep.split.prompt_range().high).value;
  const Verdict* const sum = find(sweep.verdicts, "additivity");
  const Verdict* const cross = find(sweep.verdicts, "buffering");
  finding.figure = fmt::format("{:.2f} and {:.1f} ms a token", prompt, output);
  finding.measured = fmt::format(
      "A prompt token adds {:.2f} ms before the first text, an output token {:.1f} ms behind it. "
      "Output in the start-up: {}. Both at once: {}.",
      prompt, output, cross ? cross->text : "not judged", sum ? sum->text : "not judged");
  const auto is = [](const Verdict* verdict, Finding what) {
    return verdict != nullptr && verdict->finding == what;
  };
  if (is(sum, Finding::kFound) || is(cross, Finding::kFound)) {
    finding.verdict = TourVerdict::kFails;
  } else if (is(sum, Finding::kClear) && is(cross, Finding::kClear)) {
    finding.verdict = TourVerdict::kHolds;
  }
  return finding;
}

// The same records as a proxy that keeps a stream until its end would have made them.
std::vector<lab::RequestRecord> held_back(std::vector<lab::RequestRecord> records) {
  for (lab::RequestRecord& record : records) {
    if (record.events.empty()) continue;
    const lab::RawEvent last = record.events.back();
    for (lab::RawEvent& event : record.events) {
      event.stamp_ns = last.stamp_ns;
      event.read = last.read;
      event.shared_read = &event != &record.events.front();
    }
  }
  return records;
}

TourFinding blur_finding(const Tour::Swept& swept, uint64_t seed) {
  const SweepResult& sweep = swept.result;
  const Verdict proxy = lab::judge_buffering(lab::points_of(held_back(swept.records)), seed);
  const bool sees_proxy = proxy.finding == Finding::kFound;
  const bool sees_hit = sweep.probe && sweep.probe->is_cached;
  std::string clear, found;
  for (const std::string_view name :
       {"cache", "buffering", "batching", "chunked prefill", "bundling"}) {
    const Verdict* const verdict = find(sweep.verdicts, name);
    if (verdict == nullptr || verdict->finding == Finding::kUnclear) continue;
    std::string& list = verdict->finding == Finding::kClear ? clear : found;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  TourFinding finding{"6c",
                      "what blurs is found",
                      "Batching, cache hits, chunked prefill and buffering proxies blur the split; "
                      "each is found where it is, and only there.",
                      "",
                      "",
                      TourVerdict::kCannotTell};
  finding.figure = found.empty() ? "nothing blurs here" : "found: " + found;
  if (cells(finding.figure) > 24) finding.figure = "several found";
  finding.measured = fmt::format(
      "{} by a prompt that was sent twice, {} in the same records held back as a proxy would. Here "
      "{}: {}{}{}.",
      sees_hit ? "The cache was seen" : "No cache was seen",
      sees_proxy ? "a buffer was seen" : "no buffer was seen",
      found.empty() ? "nothing blurs" : "there is", found,
      found.empty() ? "looked for " : "; clear of ", clear.empty() ? "nothing" : clear);
  if (!sees_proxy) {
    finding.verdict = TourVerdict::kFails;
  } else if (sees_hit && found.empty()) {
    finding.verdict = TourVerdict::kHolds;
  }
  return finding;
}

// Medians of one arm.
TourPicture arm_of(const std::vector<Point>& points, bool is_prompt) {
  TourPicture picture{is_prompt ? "the prompt grows: ms to the first text, then to the last"
                                : "the output grows: ms to the first text, then to the last",
                      {}};
  std::vector<int64_t> lengths;
  const auto length_of = [&](const Point& point) {
    return is_prompt ? point.prompt_asked : point.output_asked;
  };
  const std::string_view arm = is_prompt ? lab::kPromptArm : lab::kOutputArm;
  for (const Point& point : points) {
    if (point.arm == arm) lengths.push_back(length_of(point));
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  for (const int64_t length : lengths) {
    std::vector<double> first, rest;
    for (const Point& point : points) {
      if (point.arm != arm || length_of(point) != length) continue;
      first.push_back(point.ttft_ms);
      rest.push_back(point.e2e_ms - point.ttft_ms);
    }
    const double before = lab::median_of(first), after = lab::median_of(rest);
    picture.lines.push_back({fmt::format("{:>3} {}", length, is_prompt ? "in" : "out"),
                             {{before, Ink::kFirst}, {after, Ink::kTail}},
                             fmt::format("{:.0f} + {:.0f}", before, after)});
  }
  return picture;
}

}  // namespace

Result<TourChapterResult> tour_streaming(Tour& tour) {
  const bool is_measured = tour.has_swept();
  PAWL_TRY(const Tour::Swept* const swept, tour.sweep(0, 1));
  const SweepResult& sweep = swept->result;
  TourChapterResult result;
  if (is_measured) result.source = "from the sweep of chapter 5";
  result.pictures = {arm_of(sweep.points, true), arm_of(sweep.points, false)};
  result.findings = {streaming_finding(sweep), clocks_finding(sweep),
                     blur_finding(*swept, tour.options().seed())};
  result.documents.push_back(lab::sweep_json(sweep));
  return result;
}

}  // namespace pawl::cli
