// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/lab_session.h"
#include "cli/paint.h"
#include "cli/terminal.h"

namespace pawl::cli {

LabProgress::LabProgress(bool is_quiet, size_t requests, double weight, const base::Clock& clock)
    : is_shown_(!is_quiet && is_terminal(STDERR_FILENO)),
      clock_(clock),
      start_ns_(clock.now_ns()),
      all_(requests),
      all_weight_(weight) {}

LabProgress::~LabProgress() {
  if (is_shown_) fmt::print(stderr, "\r\x1b[K");
}

void LabProgress::advance(double weight, std::string_view what) {
  done_weight_ += weight;
  ++done_;
  if (!is_shown_) return;
  constexpr int kCells = 30;
  const double share = std::min(1.0, done_weight_ / all_weight_);
  std::string bar;
  for (int i = 0; i < kCells; ++i) bar += i < share * kCells ? "█" : "░";
  const double passed_s = static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9;
  const double left_s = passed_s / share - passed_s;
  const std::string line =
      fmt::format("{} {} of {}, about {} left  {}", bar, done_, all_, human_seconds(left_s), what);
  const auto columns = static_cast<size_t>(terminal_columns(STDERR_FILENO));
  fmt::print(stderr, "\r{}\x1b[K", shortened(line, columns - 1));
  std::fflush(stderr);
}

}  // namespace pawl::cli
