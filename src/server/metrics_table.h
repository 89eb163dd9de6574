// SPDX-License-Identifier: Apache-2.0
// The place of each metric in the table: what metrics.cc writes to and metrics_table.cc describes.
#pragma once

#include <cstddef>

#include "server/metrics.h"

namespace pawl::server {

enum class MetricId : size_t {
  // of the engine, as its stats stand
  kRunning,
  kWaiting,
  kKvUsage,
  kKvBlocks,
  kKvBlocksUsed,
  kKvBlocksCached,
  kPrefixQueries,
  kPrefixHits,
  kPromptTokens,
  kComputedTokens,
  kGenerationTokens,
  kPreemptions,
  kSteps,
  kLargestFound,
  kLargestFellBack,
  kLargestRows,
  // as they happen
  kStepTime,
  kStepTokens,
  kTimeToFirstToken,
  kInterToken,
  kHttpResponses,
  // of requests that are over
  kFinished,
  kCancelled,
  kQueueTime,
  kPrefillTime,
  kDecodeTime,
  kEndToEnd,
  kRequestPromptTokens,
  kRequestGenerationTokens,
  kCachedTokens,
  kForcedTokens,
  kFormatViolations,
  kAcceptedDraftTokens,
  kCancelledTokens,
  kUndeliveredTokens,
  // of the process
  kConnections,
  kLedgerRowsWaiting,
  kStartTime,
  kBuildInfo,
  kEnd
};

const MetricRow& metric_row(MetricId id);

}  // namespace pawl::server
