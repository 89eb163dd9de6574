// SPDX-License-Identifier: Apache-2.0
#include "server/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

namespace pawl::server {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::SqlStatement;

namespace {

struct KeyRow {
  UsageKey key;
  std::string_view name;
  std::string_view sql;
};
constexpr std::array kKeys = {
    KeyRow{UsageKey::kKey, "key", "key_name"},
    KeyRow{UsageKey::kDay, "day", "strftime('%Y-%m-%d', received_ms / 1000, 'unixepoch')"},
    KeyRow{UsageKey::kModel, "model", "model"},
    KeyRow{UsageKey::kReason, "reason",
           "state || CASE WHEN cause = '' THEN '' ELSE ':' || cause END"},
};

constexpr std::array kCounts = {
    UsageCount{"requests", &UsageSum::requests},
    UsageCount{"prompt_tokens", &UsageSum::prompt_tokens},
    UsageCount{"cached_tokens", &UsageSum::cached_tokens},
    UsageCount{"computed_tokens", &UsageSum::computed_tokens},
    UsageCount{"completion_tokens", &UsageSum::completion_tokens},
    UsageCount{"forced_tokens", &UsageSum::forced_tokens},
    UsageCount{"accepted_draft_tokens", &UsageSum::accepted_draft_tokens},
    UsageCount{"delivered_tokens", &UsageSum::delivered_tokens},
    UsageCount{"forward_passes", &UsageSum::forward_passes},
    UsageCount{"preemptions", &UsageSum::preemptions},
};
constexpr std::array kTimes = {
    UsageTime{"queue_ms", &UsageSum::queue_ms},
    UsageTime{"prefill_ms", &UsageSum::prefill_ms},
    UsageTime{"decode_ms", &UsageSum::decode_ms},
};

constexpr std::string_view kInSpan = "received_ms >= ? AND received_ms < ?";

int bind_span(SqlStatement& statement, const UsageSpan& span) {
  statement.bind(0, span.since_ms.value_or(std::numeric_limits<int64_t>::min()));
  statement.bind(1, span.until_ms.value_or(std::numeric_limits<int64_t>::max()));
  return 2;
}

const KeyRow& row_of(UsageKey key) {
  return *std::find_if(kKeys.begin(), kKeys.end(),
                       [key](const KeyRow& row) { return row.key == key; });
}

std::string sums_sql(std::span<const UsageKey> keys) {
  std::string columns, group;
  for (size_t i = 0; i < keys.size(); ++i) {
    columns += fmt::format("{}, ", row_of(keys[i]).sql);
    group += fmt::format("{}{}", i == 0 ? "" : ", ", i + 1);
  }
  columns += "count(*)";
  for (const UsageCount& count : std::span(kCounts).subspan(1)) {
    columns += fmt::format(", sum({})", count.name);
  }
  for (const UsageTime& time : kTimes) columns += fmt::format(", total({})", time.name);
  std::string sql = fmt::format("SELECT {} FROM requests WHERE {}", columns, kInSpan);
  if (!keys.empty()) sql += fmt::format(" GROUP BY {} ORDER BY {}", group, group);
  return sql;
}

// The whole text as `count` digits.
std::optional<int> digits(std::string_view text, size_t count) {
  int value = 0;
  if (text.size() != count ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

constexpr int64_t kDayMs = 86'400'000;

// "YYYY-MM-DD" → its first moment.
std::optional<int64_t> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = digits(text.substr(0, 4), 4);
  const auto month = digits(text.substr(5, 2), 2);
  const auto day = digits(text.substr(8, 2), 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * kDayMs;
}

// "HH:MM" or "HH:MM:SS", with a Z or without → milliseconds of the day.
std::optional<int64_t> parse_time(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.size() == 5) return parse_time(std::string(text) + ":00");
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hour = digits(text.substr(0, 2), 2);
  const auto minute = digits(text.substr(3, 2), 2);
  const auto second = digits(text.substr(6, 2), 2);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  return ((int64_t{*hour} * 60 + *minute) * 60 + *second) * 1000;
}

// "90m", "24h", "7d" → milliseconds.
std::optional<int64_t> parse_ago(std::string_view text) {
  if (text.size() < 2 || text.size() > 7) return std::nullopt;
  const auto count = digits(text.substr(0, text.size() - 1), text.size() - 1);
  if (!count) return std::nullopt;
  switch (text.back()) {
    case 'm':
      return int64_t{*count} * 60'000;
    case 'h':
      return int64_t{*count} * 3'600'000;
    case 'd':
      return int64_t{*count} * kDayMs;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string_view usage_key_name(UsageKey key) {
  return row_of(key).name;
}

std::optional<UsageKey> parse_usage_key(std::string_view name) {
  for (const KeyRow& row : kKeys) {
    if (row.name == name) return row.key;
  }
  return std::nullopt;
}

std::span<const UsageCount> usage_counts() {
  return kCounts;
}

std::span<const UsageTime> usage_times() {
  return kTimes;
}

Result<UsageReader> UsageReader::open(const std::filesystem::path& path) {
  PAWL_TRY(LedgerFile file, LedgerFile::open(path, base::Database::Mode::kRead));
  return UsageReader(std::move(file));
}

Result<std::vector<LedgerRow>> UsageReader::latest(const UsageSpan& span, int64_t count) {
  PAWL_TRY(SqlStatement select,
           file_.database().prepare(fmt::format("SELECT {} FROM requests WHERE {} "
                                                "ORDER BY received_ms DESC, rowid DESC LIMIT ?",
                                                ledger_columns(), kInSpan)));
  select.bind(bind_span(select, span), count);
  std::vector<LedgerRow> rows;
  while (true) {
    PAWL_TRY(const bool has_row, select.step());
    if (!has_row) break;
    rows.push_back(read_row(select));
  }
  std::reverse(rows.begin(), rows.end());
  return rows;
}

Result<std::vector<UsageSum>> UsageReader::sums(std::span<const UsageKey> keys,
                                                const UsageSpan& span) {
  PAWL_TRY(SqlStatement select, file_.database().prepare(sums_sql(keys)));
  bind_span(select, span);
  std::vector<UsageSum> sums;
  while (true) {
    PAWL_TRY(const bool has_row, select.step());
    if (!has_row) return sums;
    UsageSum sum;
    int column = 0;
    for (size_t i = 0; i < keys.size(); ++i) sum.group.emplace_back(select.text(column++));
    for (const UsageCount& count : kCounts) sum.*count.value = select.integer(column++);
    for (const UsageTime& time : kTimes) sum.*time.value = select.number(column++);
    sums.push_back(std::move(sum));
  }
}

Result<int64_t> parse_moment(std::string_view text, int64_t now_ms, bool is_end) {
  if (const auto ago = parse_ago(text)) return now_ms - *ago;
  const auto date = parse_date(text.substr(0, 10));
  if (date && text.size() == 10) return *date + (is_end ? kDayMs : 0);
  if (date && (text[10] == 'T' || text[10] == ' ')) {
    if (const auto time = parse_time(text.substr(11))) return *date + *time;
  }
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("'{}' is no time: 2026-11-29, 2026-11-29T10:30, or 7d, 24h, 90m ago", text), ""};
}

std::string moment_text(int64_t ms) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::milliseconds> moment{std::chrono::milliseconds(ms)};
  const auto day = floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(floor<std::chrono::seconds>(moment - day));
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

}  // namespace pawl::server
