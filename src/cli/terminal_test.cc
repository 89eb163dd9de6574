// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <csignal>
#include <mutex>

namespace pawl::cli {
namespace {

TEST(Terminal, BytesAreShownInThreeDigits) {
  EXPECT_EQ(human_bytes(0), "0 bytes");
  EXPECT_EQ(human_bytes(999), "999 bytes");
  EXPECT_EQ(human_bytes(1000), "1.00 kB");
  EXPECT_EQ(human_bytes(253113024), "253 MB");
  EXPECT_EQ(human_bytes(999999), "1.00 MB");
  EXPECT_EQ(human_bytes(1117320768), "1.12 GB");
}

TEST(Terminal, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(262144), "262,144");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

TEST(Terminal, PiecesShowEveryByte) {
  EXPECT_EQ(quoted_piece(" the\n"), "\" the⏎\"");
  EXPECT_EQ(quoted_piece("\xe2\x82"), "\"\\xe2\\x82\"");
  EXPECT_EQ(quoted_piece("é\x1b"), "\"é\\x1b\"");
}

TEST(Terminal, WhatATerminalObeysIsLeftOut) {
  EXPECT_EQ(without_control_characters("a\x1b[31m\tb\r\nc\x7f\a"), "a[31m\tb\nc");
  EXPECT_EQ(without_control_characters("\xc2\x9b\x32J é\xc2\xa0😀"), "2J é\xc2\xa0😀");
  EXPECT_EQ(without_control_characters("half \xe2\x82"), "half \xe2\x82");
}

TEST(Terminal, OutsideATerminalProgressIsALineForEveryTenPercent) {
  base::FakeClock clock;
  testing::internal::CaptureStderr();
  {
    Progress progress("m", Progress::Style::kLines, clock);
    for (int64_t done = 0; done <= 1000; done += 5) progress.update(done, 1000);
    progress.update(500, 1000);  // what was shown never shrinks
  }
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 10) << lines;
  EXPECT_TRUE(lines.starts_with("m  10 %")) << lines;
  EXPECT_EQ(lines.find('\r'), std::string::npos);
}

TEST(Terminal, TheFirstInterruptAsksToStop) {
  InterruptWatch watch;
  std::mutex mutex;
  std::condition_variable_any changed;
  std::stop_callback wake(watch.token(), [&] {
    const std::scoped_lock lock(mutex);
    changed.notify_all();
  });
  EXPECT_FALSE(watch.has_stopped());
  ::kill(::getpid(), SIGINT);
  std::unique_lock lock(mutex);
  EXPECT_TRUE(
      changed.wait_for(lock, std::chrono::seconds(10), [&] { return watch.has_stopped(); }));
}

// Waits until the watch has taken a signal; false after ten seconds.
bool stops(const InterruptWatch& watch, int signal) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::stop_callback wake(watch.token(), [&] {
    const std::scoped_lock lock(mutex);
    changed.notify_all();
  });
  ::kill(::getpid(), signal);
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, std::chrono::seconds(10), [&] { return watch.has_stopped(); });
}

TEST(InterruptWatch, ASessionGoesOnAfterCtrlCAndNotAfterARequestToEnd) {
  InterruptWatch watch;
  EXPECT_TRUE(watch.renew());
  EXPECT_TRUE(stops(watch, SIGINT));
  EXPECT_TRUE(watch.renew());
  EXPECT_FALSE(watch.has_stopped());
  EXPECT_TRUE(stops(watch, SIGTERM));
  EXPECT_FALSE(watch.renew());
  EXPECT_TRUE(watch.has_stopped());
}

}  // namespace
}  // namespace pawl::cli
