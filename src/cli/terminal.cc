// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/utf8.h"

namespace pawl::cli {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

std::string human_seconds(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 90) return fmt::format("{} s", whole);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

sigset_t interrupt_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1;
}

int terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string human_bytes(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  constexpr const char* kUnits[] = {"", "kB", "MB", "GB", "TB"};
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string grouped(int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool begins_group = (digits.size() - i) % 3 == 0 && i > 0 && digits[i - 1] != '-';
    if (begins_group) text += ',';
    text += digits[i];
  }
  return text;
}

void note(bool is_quiet, std::string_view line) {
  if (!is_quiet) fmt::print(stderr, "{}\n", line);
}

std::string visible(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\n') {
      shown += "⏎";
    } else if (c == '\t') {
      shown += "⇥";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      shown += c;
    }
  }
  return shown;
}

std::string without_control_characters(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F are C2 80 to C2 9F.
    const bool is_c1 =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (is_c1) ++i;
    if (!is_c0 && !is_c1) shown += text[i];
  }
  return shown;
}

std::string quoted_piece(std::string_view piece) {
  std::string shown = "\"";
  while (!piece.empty()) {
    const size_t length = base::utf8_character_bytes(piece);
    if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(piece[0]));
    } else {
      shown += visible(piece.substr(0, length));
    }
    piece.remove_prefix(std::max<size_t>(length, 1));
  }
  return shown + '"';
}

Progress::Style Progress::style_for(bool is_quiet) {
  if (is_quiet) return Style::kNone;
  return is_terminal(STDERR_FILENO) ? Style::kBar : Style::kLines;
}

Progress::Progress(std::string label, Style style, const base::Clock& clock)
    : label_(std::move(label)),
      style_(style),
      clock_(clock),
      start_ns_(clock.now_ns()),
      drawn_ns_(start_ns_ - kSecondNs) {}

Progress::~Progress() {
  if (is_line_open_) fmt::print(stderr, "\n");
}

void Progress::update(int64_t done, std::optional<int64_t> total) {
  shown_ = std::max(shown_, done);
  if (total) shown_ = std::min(shown_, *total);
  if (style_ == Style::kBar) draw_bar(total);
  if (style_ == Style::kLines) print_step(total);
}

void Progress::draw_bar(std::optional<int64_t> total) {
  const int64_t now = clock_.now_ns();
  if (now - drawn_ns_ < kSecondNs / 15) return;
  drawn_ns_ = now;
  const double seconds = static_cast<double>(now - start_ns_) / kSecondNs;
  const double rate = seconds > 0 ? static_cast<double>(shown_ - start_bytes_) / seconds : 0;
  std::string line;
  if (total && *total > 0) {
    const auto left = static_cast<double>(*total - shown_);
    const std::string numbers =
        fmt::format(" {:3} %  {} of {}  {}/s{}", shown_ * 100 / *total, human_bytes(shown_),
                    human_bytes(*total), human_bytes(static_cast<int64_t>(rate)),
                    rate > 0 && seconds > 1 ? "  " + human_seconds(left / rate) + " left" : "");
    const int room =
        terminal_columns(STDERR_FILENO) - static_cast<int>(label_.size() + numbers.size()) - 3;
    const int cells = std::clamp(room, 0, 40);
    const auto full = static_cast<int>(shown_ * cells / *total);
    line = label_ + " ";
    for (int i = 0; i < cells; ++i) line += i < full ? "█" : "░";
    line += numbers;
  } else {
    line = fmt::format("{}  {}  {}/s", label_, human_bytes(shown_),
                       human_bytes(static_cast<int64_t>(rate)));
  }
  fmt::print(stderr, "\r{}\033[K", line);
  std::fflush(stderr);
  is_line_open_ = true;
}

void Progress::print_step(std::optional<int64_t> total) {
  if (!total || *total <= 0) return;
  const int64_t step = shown_ * 10 / *total;
  if (step <= steps_) return;
  steps_ = step;
  fmt::print(stderr, "{}  {} %  {} of {}\n", label_, step * 10, human_bytes(shown_),
             human_bytes(*total));
}

void Progress::finish() {
  if (style_ == Style::kNone) return;
  const double seconds = static_cast<double>(clock_.now_ns() - start_ns_) / kSecondNs;
  fmt::print(stderr, "{}{}  {} in {:.1f} s, SHA-256 checked{}\n", is_line_open_ ? "\r" : "", label_,
             human_bytes(shown_ - start_bytes_), seconds, is_line_open_ ? "\033[K" : "");
  is_line_open_ = false;
}

InterruptWatch::InterruptWatch() {
  const sigset_t signals = interrupt_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread(watch, std::ref(state_));
}

// Waits for signals in a thread of its own: a handler could do next to nothing.
void InterruptWatch::watch(State& state) {
  const sigset_t signals = interrupt_signals();
  for (;;) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) return;
    if (signal == SIGUSR1) return;  // the watch ends
    std::stop_source source;
    {
      const std::lock_guard lock(state.mutex);
      source = state.source;
      state.must_end = state.must_end || signal != SIGINT;
    }
    if (!source.request_stop()) std::_Exit(130);
  }
}

std::stop_token InterruptWatch::token() const {
  const std::lock_guard lock(state_.mutex);
  return state_.source.get_token();
}

bool InterruptWatch::renew() {
  const std::lock_guard lock(state_.mutex);
  if (state_.must_end) return false;
  if (state_.source.stop_requested()) state_.source = std::stop_source();
  return true;
}

InterruptWatch::~InterruptWatch() {
  ::pthread_kill(watcher_.native_handle(), SIGUSR1);
  watcher_.join();
  sigset_t signals = interrupt_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace pawl::cli
