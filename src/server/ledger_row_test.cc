// SPDX-License-Identifier: Apache-2.0
#include "server/ledger_row.h"

#include <gtest/gtest.h>

#include <vector>

namespace pawl::server {
namespace {

using engine::Finished;
using engine::FinishReason;

// Times in milliseconds of the engine's clock; 0: it did not happen.
Finished finished(FinishReason reason, int64_t completion, const std::vector<int64_t>& times) {
  Finished end;
  end.reason = reason;
  end.usage = {.prompt_tokens = 10,
               .cached_tokens = 4,
               .completion_tokens = completion,
               .computed_tokens = 6 + completion,
               .forward_passes = completion + 1,
               .preemptions = 1};
  end.timeline = {times[0] * 1'000'000, times[1] * 1'000'000, times[2] * 1'000'000,
                  times[3] * 1'000'000, times[4] * 1'000'000};
  return end;
}

TEST(LedgerRow, TakesCountsAndTimesOfOneSequence) {
  const std::vector<Finished> ends = {finished(FinishReason::kStop, 5, {100, 110, 140, 240, 241})};
  LedgerRow row;
  row.prompt_tokens = 10;
  row.delivered_tokens = 5;
  row = ended_row(row, ends);
  EXPECT_EQ(row.state, RowState::kStop);
  EXPECT_EQ(row.cause, CancelCause::kNone);
  EXPECT_EQ(row.prompt_tokens, 10);
  EXPECT_EQ(row.cached_tokens, 4);
  EXPECT_EQ(row.computed_tokens, 11);
  EXPECT_EQ(row.completion_tokens, 5);
  EXPECT_EQ(row.delivered_tokens, 5);
  EXPECT_EQ(row.forward_passes, 6);
  EXPECT_EQ(row.preemptions, 1);
  EXPECT_EQ(row.queue_ms, 10);
  EXPECT_EQ(row.prefill_ms, 30);
  EXPECT_EQ(row.decode_ms, 100);
  EXPECT_EQ(row.total_ms, 141);
}

TEST(LedgerRow, SeveralChoicesAreOneRequest) {
  const std::vector<Finished> ends = {finished(FinishReason::kLength, 5, {100, 110, 140, 240, 241}),
                                      finished(FinishReason::kStop, 9, {100, 120, 130, 300, 302})};
  const LedgerRow row = ended_row({}, ends, CancelCause::kClientClosed);
  EXPECT_EQ(row.state, RowState::kLength);
  EXPECT_EQ(row.cause, CancelCause::kNone);  // nobody was cancelled by it
  EXPECT_EQ(row.completion_tokens, 14);
  EXPECT_EQ(row.queue_ms, 10);
  EXPECT_EQ(row.prefill_ms, 20);
  EXPECT_EQ(row.decode_ms, 170);
  EXPECT_EQ(row.total_ms, 202);
}

TEST(LedgerRow, WhatDidNotHappenHasNoTime) {
  const std::vector<Finished> queued = {finished(FinishReason::kCancelled, 0, {100, 0, 0, 0, 150})};
  LedgerRow row = ended_row({}, queued, CancelCause::kDeleted);
  EXPECT_EQ(row.cause, CancelCause::kDeleted);
  EXPECT_EQ(row.queue_ms, std::nullopt);
  EXPECT_EQ(row.total_ms, 50);
  EXPECT_TRUE(row_json(row).find("queue_ms")->is_null());
  EXPECT_TRUE(row_json(row).find("http_status")->is_null());

  const std::vector<Finished> early = {finished(FinishReason::kDeadline, 0, {100, 110, 0, 0, 150})};
  row = ended_row({}, early);
  EXPECT_EQ(row.queue_ms, 10);
  EXPECT_EQ(row.prefill_ms, std::nullopt);
}

TEST(LedgerRow, TheWorstEndStandsForTheRequest) {
  const auto one = [](FinishReason reason) { return finished(reason, 1, {1, 2, 3, 4, 5}); };
  Finished failed = one(FinishReason::kError);
  failed.error = "no token is allowed";
  const std::vector<Finished> ends = {one(FinishReason::kCancelled), failed,
                                      one(FinishReason::kStop)};
  LedgerRow row = ended_row({}, ends, CancelCause::kClientClosed);
  EXPECT_EQ(row.state, RowState::kError);
  EXPECT_EQ(row.error, "no token is allowed");
  EXPECT_EQ(row.cause, CancelCause::kNone);

  EXPECT_EQ(ended_row({}, std::vector{one(FinishReason::kShutdown)}).cause, CancelCause::kShutdown);
  EXPECT_EQ(ended_row({}, std::vector{one(FinishReason::kDeadline)}).cause, CancelCause::kDeadline);
  row = ended_row({}, std::vector{one(FinishReason::kShutdown)}, CancelCause::kSlowReader);
  EXPECT_EQ(row.cause, CancelCause::kSlowReader);
  EXPECT_EQ(row.state, RowState::kCancelled);
}

TEST(LedgerRow, NamesReadBack) {
  for (const RowState state : {RowState::kRunning, RowState::kStop, RowState::kLength,
                               RowState::kCancelled, RowState::kError, RowState::kInterrupted}) {
    EXPECT_EQ(parse_row_state(row_state_name(state)), state);
  }
  for (const CancelCause cause :
       {CancelCause::kNone, CancelCause::kClientClosed, CancelCause::kDeleted,
        CancelCause::kDeadline, CancelCause::kSlowReader, CancelCause::kShutdown}) {
    EXPECT_EQ(parse_cancel_cause(cancel_cause_name(cause)), cause);
  }
  EXPECT_EQ(row_state_name(RowState::kCancelled), "cancelled");
  EXPECT_EQ(cancel_cause_name(CancelCause::kClientClosed), "client_closed");
  EXPECT_EQ(parse_row_state("gone"), std::nullopt);
}

}  // namespace
}  // namespace pawl::server
