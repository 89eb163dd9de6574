// SPDX-License-Identifier: Apache-2.0
#include "cli/tour_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/terminal.h"

namespace pawl::cli {

namespace {

constexpr size_t kMargin = 2;

std::string repeated(std::string_view text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string padded(std::string_view text, size_t width) {
  return fmt::format("{}{}", text, std::string(width - std::min(width, cells(text)), ' '));
}

// A bar of `value` in eighths of a cell.
std::string bar_text(double value, double per_cell) {
  constexpr std::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double exact = std::max(0.0, value / per_cell);
  auto whole = static_cast<size_t>(exact);
  auto part = static_cast<size_t>(std::lround((exact - static_cast<double>(whole)) * 8));
  if (part == 8) {
    ++whole;
    part = 0;
  }
  if (whole == 0 && part == 0 && value > 0) part = 1;
  return fmt::format("{}{}", repeated("█", whole), kParts[part]);
}

void put_picture(const TourPicture& picture, const Paint& paint, std::string& text) {
  const size_t width = paint.columns - 2 * kMargin - 2;
  const std::string indent(kMargin + 2, ' ');
  size_t label = 0, longest = 0;
  double most = 0;
  for (const TourPicture::Line& line : picture.lines) {
    label = std::max(label, cells(line.label));
    if (line.bars.empty()) continue;
    longest = std::max(longest, cells(line.text));
    double sum = 0;
    for (const TourPicture::Bar& bar : line.bars) sum += bar.value;
    most = std::max(most, sum);
  }
  const size_t gaps = label > 0 ? 4 : 2;
  // One cell for each bar's rounding.
  const size_t room = width - std::min(width - 10, label + longest + gaps + 2);
  const double per_cell = most > 0 ? most / static_cast<double>(std::min<size_t>(room, 48)) : 1;
  text += indent + paint(Ink::kSoft, shortened(picture.title, width)) + '\n';
  for (const TourPicture::Line& line : picture.lines) {
    text += indent;
    if (label > 0) text += padded(line.label, label) + "  ";
    size_t left = label > 0 ? width - label - 2 : width;
    for (const TourPicture::Bar& bar : line.bars) {
      const std::string drawn = bar_text(bar.value, per_cell);
      left -= std::min(left, cells(drawn) + 1);
      text += paint(bar.ink, drawn);
    }
    if (!line.bars.empty()) text += ' ';
    text += shortened(line.text, left) + '\n';
  }
}

void put_finding(const TourFinding& finding, const Paint& paint, std::string& text) {
  const std::string indent(kMargin + 4, ' ');
  const size_t width = paint.columns - kMargin - indent.size();
  bool is_first = true;
  for (const std::string& line : wrapped(finding.claim, width)) {
    text += is_first
                ? fmt::format("{}{}  ", std::string(kMargin, ' '), paint(Ink::kBold, finding.row))
                : indent;
    text += paint(Ink::kBold, line) + '\n';
    is_first = false;
  }
  const std::string verdict =
      fmt::format("{} {}", tour_mark(finding.verdict), verdict_name(finding.verdict));
  const std::string after(cells(verdict) + 2, ' ');
  is_first = true;
  for (const std::string& line : wrapped(visible(finding.measured), width - after.size())) {
    text += indent + (is_first ? paint(tour_ink(finding.verdict), verdict) + "  " : after) + line;
    text += '\n';
    is_first = false;
  }
}

}  // namespace

std::string tour_mark(TourVerdict verdict) {
  switch (verdict) {
    case TourVerdict::kHolds:
      return "✓";
    case TourVerdict::kFails:
      return "✗";
    case TourVerdict::kCannotTell:
      return "?";
    case TourVerdict::kDiffers:
      return "≠";
  }
  return "";
}

Ink tour_ink(TourVerdict verdict) {
  switch (verdict) {
    case TourVerdict::kHolds:
      return Ink::kGood;
    case TourVerdict::kFails:
      return Ink::kBad;
    case TourVerdict::kCannotTell:
    case TourVerdict::kDiffers:
      return Ink::kWarn;
  }
  return Ink::kPlain;
}

std::string tour_head_text(const TourHead& head, const Paint& paint) {
  const size_t width = paint.columns - 2 * kMargin;
  const std::string margin(kMargin, ' ');
  constexpr std::string_view kName = "pawl tour";
  constexpr std::string_view kAbout =
      "one forward pass, one token: what follows from it, measured here";
  std::string text = "\n" + margin + paint(Ink::kBold, kName) + "  " +
                     shortened(kAbout, width - kName.size() - 2) + '\n';
  text +=
      margin +
      paint(Ink::kSoft,
            shortened(fmt::format("{} · {} · {} chapters", head.model, head.machine, head.chapters),
                      width)) +
      "\n";
  return text;
}

std::string tour_chapter_text(const TourChapterDone& done, const Paint& paint) {
  const size_t width = paint.columns - 2 * kMargin;
  const std::string margin(kMargin, ' ');
  const std::string title = fmt::format("{}  {}", done.chapter->number, done.chapter->title);
  const std::string seconds =
      done.result.source.empty() ? fmt::format("{:.1f} s", done.seconds) : done.result.source;
  std::string text = "\n" + margin;
  text += paint(Ink::kBold, shortened(title, width - seconds.size() - 1));
  text += std::string(width - std::min(width - 1, cells(title) + seconds.size()), ' ');
  text += paint(Ink::kSoft, seconds) + '\n';
  text += margin + paint(Ink::kSoft, repeated("─", width)) + '\n';
  for (const TourPicture& picture : done.result.pictures) {
    put_picture(picture, paint, text);
    text += '\n';
  }
  for (const TourFinding& finding : done.result.findings) put_finding(finding, paint, text);
  // A command is copied: it is never shortened, and breaks at a space alone.
  bool is_first = true;
  for (const std::string& line : wrapped(done.chapter->closer, width - 8)) {
    text += margin + (is_first ? paint(Ink::kSoft, "closer") + "  " : std::string(8, ' '));
    text += paint(Ink::kTail, line) + '\n';
    is_first = false;
  }
  return text;
}

std::string tour_table_text(const std::vector<TourChapterDone>& done, const Paint& paint) {
  constexpr size_t kTitle = 32, kVerdict = 15;
  const std::string margin(kMargin, ' ');
  const size_t width = paint.columns - 2 * kMargin;
  const size_t figure = std::min<size_t>(30, width - 4 - kTitle - 1 - kVerdict - 1);
  std::string text = "\n" + margin;
  text += paint(Ink::kSoft,
                fmt::format("    {} {} verdict", padded("claim", kTitle), padded("here", figure))) +
          '\n';
  text += margin + paint(Ink::kSoft, repeated("─", width)) + '\n';
  for (const TourChapterDone& one : done) {
    for (const TourFinding& finding : one.result.findings) {
      text += fmt::format(
          "{}{}  {} {} {}\n", margin, paint(Ink::kBold, padded(finding.row, 2)),
          padded(shortened(finding.title, kTitle), kTitle),
          padded(shortened(visible(finding.figure), figure), figure),
          paint(tour_ink(finding.verdict),
                fmt::format("{} {}", tour_mark(finding.verdict), verdict_name(finding.verdict))));
    }
  }
  return text;
}

TourProgressLine::TourProgressLine(bool is_quiet, double usual_s, const base::Clock& clock)
    : is_quiet_(is_quiet),
      is_drawn_(!is_quiet && is_terminal(STDERR_FILENO)),
      usual_s_(usual_s),
      clock_(clock),
      start_ns_(clock.now_ns()) {}

TourProgressLine::~TourProgressLine() {
  end();
}

void TourProgressLine::begin(const TourChapter& chapter, size_t number, size_t of) {
  chapter_ = &chapter;
  number_ = number;
  of_ = of;
  if (!is_drawn_) note(is_quiet_, fmt::format("{} of {}: {}", number, of, chapter.name));
}

void TourProgressLine::update(double share, std::string_view what) {
  if (!is_drawn_ || chapter_ == nullptr) return;
  constexpr size_t kCells = 24;
  const Paint paint = Paint::of(STDERR_FILENO);
  const double done_s = done_s_ + std::clamp(share, 0.0, 1.0) * chapter_->usual_s;
  const double passed_s = static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9;
  // As slow as it was so far; until that says something, as it usually is.
  constexpr double kTrustedS = 5;
  const double pace = (passed_s + kTrustedS) / (done_s + kTrustedS);
  const std::string left = human_seconds(std::max(0.0, usual_s_ - done_s) * pace);
  const auto full = static_cast<size_t>(done_s / usual_s_ * kCells);
  const std::string bar =
      repeated("█", std::min(full, kCells)) + repeated("░", kCells - std::min(full, kCells));
  const std::string line = fmt::format("part {} of {}, {}: {}", number_, of_, chapter_->name, what);
  const std::string rest = fmt::format("about {} left", left);
  const size_t room = paint.columns - 1 - kMargin - kCells - 2 - cells(rest) - 2;
  fmt::print(stderr, "\r{}{}  {}  {}\x1b[K", std::string(kMargin, ' '), paint(Ink::kFirst, bar),
             padded(shortened(line, room), room), paint(Ink::kSoft, rest));
  std::fflush(stderr);
}

void TourProgressLine::end() {
  if (chapter_ == nullptr) return;
  done_s_ += chapter_->usual_s;
  chapter_ = nullptr;
  if (!is_drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace pawl::cli
