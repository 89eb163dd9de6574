// SPDX-License-Identifier: Apache-2.0
// Reading a ledger, while a server writes it or not: the latest requests, and sums over groups.
// Threads: one object, one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/ledger_file.h"
#include "server/ledger_row.h"

namespace pawl::server {

// What requests are put together by. A day is one of UTC, "2026-11-29"; a reason is the state, with
// the cause behind a colon where there is one: "cancelled:client_closed".
enum class UsageKey { kKey, kDay, kModel, kReason };
std::string_view usage_key_name(UsageKey key);  // "key", "day", "model", "reason"
std::optional<UsageKey> parse_usage_key(std::string_view name);

// Requests received in [since, until), in milliseconds since 1970.
struct UsageSpan {
  std::optional<int64_t> since_ms = std::nullopt;
  std::optional<int64_t> until_ms = std::nullopt;
};

struct UsageSum {
  std::vector<std::string> group;  // one value for each key that was asked for
  int64_t requests = 0;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t computed_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t forced_tokens = 0;
  int64_t accepted_draft_tokens = 0;
  int64_t delivered_tokens = 0;
  int64_t forward_passes = 0;
  int64_t preemptions = 0;
  double queue_ms = 0;    // of those that were scheduled
  double prefill_ms = 0;  // of those that got a token
  double decode_ms = 0;
};

// The numbers of a sum in their order, under the names they have in the ledger, in CSV and in JSON;
// `requests`, which is no column, comes first.
struct UsageCount {
  std::string_view name;
  int64_t UsageSum::*value;
};
struct UsageTime {
  std::string_view name;
  double UsageSum::*value;
};
std::span<const UsageCount> usage_counts();
std::span<const UsageTime> usage_times();

class UsageReader {
 public:
  // Errors: kNotFound, and as of LedgerFile.
  static base::Result<UsageReader> open(const std::filesystem::path& path);

  // The latest `count` requests of the span, the oldest of them first.
  base::Result<std::vector<LedgerRow>> latest(const UsageSpan& span, int64_t count);

  // A sum for each group, ordered by group. Without keys: one sum, over everything in the span.
  base::Result<std::vector<UsageSum>> sums(std::span<const UsageKey> keys, const UsageSpan& span);

 private:
  explicit UsageReader(LedgerFile file) : file_(std::move(file)) {}

  LedgerFile file_;
};

// A moment as people write it, all UTC: "2026-11-29", "2026-11-29T10:30", "2026-11-29T10:30:05", a
// Z behind it or not; or so long before `now_ms`: "90m", "24h", "7d". A date alone is its first
// moment, or with `is_end` that of the next day. Error kInvalidArgument.
base::Result<int64_t> parse_moment(std::string_view text, int64_t now_ms, bool is_end);

// "2026-11-29 10:30:05", UTC.
std::string moment_text(int64_t ms);

}  // namespace pawl::server
