// SPDX-License-Identifier: Apache-2.0
// What a person sees: notes and progress on stderr, numbers in a readable form, Ctrl-C.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"

namespace pawl::cli {

bool is_terminal(int descriptor);
// Of that terminal; 80 where it is none or does not tell.
int terminal_columns(int descriptor);

// "253 MB", "1.2 GB", "812 bytes": powers of ten, three digits.
std::string human_bytes(int64_t bytes);
// "262,144".
std::string grouped(int64_t number);

// One line on stderr, unless the user asked for quiet.
void note(bool is_quiet, std::string_view line);

// The text with its control characters made visible, for tables: a newline is ⏎, others are \xNN.
std::string visible(std::string_view text);

// Without the control characters that a terminal obeys: newlines and tabs stay. Of half a character
// nothing is lost.
std::string without_control_characters(std::string_view text);

// A token's bytes in double quotes, so that spaces at its ends are seen; bytes that are no whole
// UTF-8 character are \xNN.
std::string quoted_piece(std::string_view piece);

// How far a transfer is. On a terminal one line that is drawn over, elsewhere a line for every 10
// %. Threads: one.
class Progress {
 public:
  enum class Style { kNone, kBar, kLines };
  // The style that fits stderr.
  static Style style_for(bool is_quiet);

  Progress(std::string label, Style style, const base::Clock& clock);
  ~Progress();  // ends the drawn line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` never shrinks what is shown. `total` is nothing while unknown.
  void update(int64_t done, std::optional<int64_t> total);
  // Leaves a last line that says how much came and how fast.
  void finish();
  // Bytes that were there before this transfer (a continued download): not part of the rate.
  void set_start(int64_t bytes) { start_bytes_ = shown_ = bytes; }

 private:
  void draw_bar(std::optional<int64_t> total);
  void print_step(std::optional<int64_t> total);

  std::string label_;
  Style style_;
  const base::Clock& clock_;
  int64_t start_ns_;
  int64_t drawn_ns_;
  int64_t start_bytes_ = 0;
  int64_t shown_ = 0;
  int64_t steps_ = 0;  // of 10 % printed
  bool is_line_open_ = false;
};

// While it lives, the first Ctrl-C (or request to end) asks the stop token, the second ends the
// program with status 130 at once. REQUIRES: made before any other thread, so that no thread takes
// the signal; one at a time
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  std::stop_token token() const;
  bool has_stopped() const { return token().stop_requested(); }

  // A session that goes on after a Ctrl-C: if the token was asked by one, there is a new token, and
  // the next Ctrl-C is a first one. False, and all stays, after a request to end.
  bool renew();

 private:
  struct State {
    std::mutex mutex;
    std::stop_source source;
    bool must_end = false;
  };
  static void watch(State& state);

  mutable State state_;
  std::thread watcher_;
};

}  // namespace pawl::cli
