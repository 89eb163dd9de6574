// SPDX-License-Identifier: Apache-2.0
// pawl usage: the server's ledger, summed over groups or as the latest requests.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "base/json.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "server/ledger.h"
#include "server/usage.h"

namespace pawl::cli {

using base::Json;
using base::Result;
using server::LedgerRow;
using server::usage_counts;
using server::usage_times;
using server::UsageKey;
using server::UsageSum;

const CommandHelp kUsageHelp = {
    "usage", "Lists and sums what the server computed: its ledger, one row for each request.",
    "pawl usage --by day,model --since 7d", "[options]"};

namespace {

struct UsageFlags {
  std::optional<std::string> ledger, since, until;
  std::string by = "day,model";
  std::optional<int64_t> last;
  bool is_csv = false, is_json = false;

  void declare(CommandLine& line) {
    line.group("What is read");
    line.text({"--ledger", "FILE", "the file that pawl serve writes", "$PAWL_HOME/usage.db"},
              ledger);
    line.text({"--since", "TIME",
               "requests received then or later, UTC: 2026-11-29, "
               "2026-11-29T10:30, or 7d, 24h, 90m ago",
               "all"},
              since);
    line.text(
        {"--until", "TIME", "requests received before; of a date alone, its whole day", "all"},
        until);
    line.group("What is shown");
    line.text({"--by", "KEYS", "sums over groups: one or more of key, day, model, reason"}, by);
    line.integer({"--last", "N", "the latest requests instead of sums", "sums"}, last, 1,
                 1'000'000);
    line.flag({"--csv", "", "comma-separated values on stdout"}, is_csv);
    line.flag({"--json", "", "one JSON document on stdout"}, is_json);
  }

  Result<server::UsageSpan> span(const CommandLine& line) const {
    server::UsageSpan read;
    const int64_t now_ms = server::utc_now_ms();
    const auto take = [&](const std::optional<std::string>& text, bool is_end, const char* flag,
                          std::optional<int64_t>& into) -> Result<void> {
      if (!text) return {};
      auto moment = server::parse_moment(*text, now_ms, is_end);
      if (!moment.ok()) return line.wrong(fmt::format("{}: {}", flag, moment.error().message));
      into = *moment;
      return {};
    };
    PAWL_TRY_VOID(take(since, false, "--since", read.since_ms));
    PAWL_TRY_VOID(take(until, true, "--until", read.until_ms));
    return read;
  }

  Result<std::vector<UsageKey>> keys(const CommandLine& line) const {
    std::vector<UsageKey> read;
    size_t at = 0;
    while (at <= by.size()) {
      const size_t end = std::min(by.find(',', at), by.size());
      const std::string name = by.substr(at, end - at);
      const auto key = server::parse_usage_key(name);
      if (!key) {
        return line.wrong(fmt::format("--by: '{}' is none of key, day, model, reason", name));
      }
      read.push_back(*key);
      at = end + 1;
    }
    return read;
  }
};

// What of a sum stands in the table, under which title; times in seconds there.
struct Title {
  std::string_view name;
  const char* title;
};
constexpr std::array kTitles = {
    Title{"requests", "requests"},
    Title{"prompt_tokens", "prompt"},
    Title{"cached_tokens", "cached"},
    Title{"computed_tokens", "computed"},
    Title{"completion_tokens", "completion"},
    Title{"delivered_tokens", "delivered"},
    Title{"forward_passes", "passes"},
    Title{"queue_ms", "queue s"},
    Title{"prefill_ms", "prefill s"},
    Title{"decode_ms", "decode s"},
};

const char* title_of(std::string_view name) {
  for (const Title& row : kTitles) {
    if (row.name == name) return row.title;
  }
  return nullptr;
}

std::string shown(const std::string& value) {
  return value.empty() ? "-" : value;
}

TextTable sums_csv(const std::vector<UsageKey>& keys, const std::vector<UsageSum>& sums) {
  TextTable table;
  for (const UsageKey key : keys) table.columns.push_back({std::string(usage_key_name(key))});
  for (const auto& count : usage_counts()) table.columns.push_back({std::string(count.name), true});
  for (const auto& time : usage_times()) table.columns.push_back({std::string(time.name), true});
  for (const UsageSum& sum : sums) {
    std::vector<std::string> row = sum.group;
    for (const auto& count : usage_counts()) row.push_back(std::to_string(sum.*count.value));
    for (const auto& time : usage_times()) row.push_back(fmt::format("{:.3f}", sum.*time.value));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_sum(std::vector<std::string>& row, const UsageSum& sum) {
  for (const auto& count : usage_counts()) {
    if (title_of(count.name) != nullptr) row.push_back(grouped(sum.*count.value));
  }
  for (const auto& time : usage_times()) {
    if (title_of(time.name) != nullptr) row.push_back(fmt::format("{:.1f}", sum.*time.value / 1e3));
  }
}

TextTable sums_table(const std::vector<UsageKey>& keys, const std::vector<UsageSum>& sums,
                     const UsageSum& total) {
  TextTable table;
  for (const UsageKey key : keys) table.columns.push_back({std::string(usage_key_name(key))});
  const auto add_column = [&table](std::string_view name) {
    if (title_of(name) != nullptr) table.columns.push_back({title_of(name), true});
  };
  for (const auto& count : usage_counts()) add_column(count.name);
  for (const auto& time : usage_times()) add_column(time.name);
  for (const UsageSum& sum : sums) {
    std::vector<std::string> row;
    for (const std::string& value : sum.group) row.push_back(shown(value));
    add_sum(row, sum);
    table.rows.push_back(std::move(row));
  }
  if (sums.size() > 1) {
    table.total.assign(keys.size(), "");
    table.total[0] = "total";
    add_sum(table.total, total);
  }
  return table;
}

Json sum_json(const std::vector<UsageKey>& keys, const UsageSum& sum) {
  Json json = Json::object();
  for (size_t i = 0; i < sum.group.size(); ++i) json[usage_key_name(keys[i])] = sum.group[i];
  for (const auto& count : usage_counts()) json[count.name] = sum.*count.value;
  for (const auto& time : usage_times()) json[time.name] = sum.*time.value;
  return json;
}

std::string reason_of(const LedgerRow& row) {
  std::string reason(row_state_name(row.state));
  if (row.cause != server::CancelCause::kNone) {
    reason += fmt::format(":{}", cancel_cause_name(row.cause));
  }
  return reason;
}

std::string ms_text(const std::optional<double>& ms) {
  return ms ? fmt::format("{:.1f}", *ms) : "-";
}

TextTable rows_table(const std::vector<LedgerRow>& rows) {
  TextTable table;
  table.columns = {{"received (UTC)"}, {"id"}, {"key"}, {"model"}, {"reason"}};
  for (const char* title :
       {"prompt", "cached", "completion", "delivered", "queue ms", "prefill ms", "decode ms"}) {
    table.columns.push_back({title, true});
  }
  for (const LedgerRow& row : rows) {
    table.rows.push_back({server::moment_text(row.received_ms), row.id, shown(row.key_name),
                          shown(row.model), reason_of(row), grouped(row.prompt_tokens),
                          grouped(row.cached_tokens), grouped(row.completion_tokens),
                          grouped(row.delivered_tokens), ms_text(row.queue_ms),
                          ms_text(row.prefill_ms), ms_text(row.decode_ms)});
  }
  return table;
}

// Every column of the ledger, under the names of the JSON.
TextTable rows_csv(const std::vector<LedgerRow>& rows) {
  TextTable table;
  const Json named = row_json(LedgerRow());
  for (const auto& member : *named.as_object()) table.columns.push_back({member.key});
  for (const LedgerRow& row : rows) {
    const Json json = row_json(row);
    std::vector<std::string> texts;
    for (const auto& [key, value] : *json.as_object()) {
      const std::string* text = value.as_string();
      texts.push_back(text != nullptr ? *text : value.is_null() ? "" : value.dump());
    }
    table.rows.push_back(std::move(texts));
  }
  return table;
}

void show_rows(const std::vector<LedgerRow>& rows, const UsageFlags& flags,
               const std::string& path) {
  if (flags.is_json) {
    Json document;
    document["ledger"] = path;
    document["requests"] = Json::array();
    for (const LedgerRow& row : rows) document["requests"].push_back(row_json(row));
    fmt::print("{}\n", document.dump());
  } else if (flags.is_csv) {
    fmt::print("{}", csv_text(rows_csv(rows)));
  } else {
    fmt::print("{}", table_text(rows_table(rows)));
  }
}

void show_sums(const std::vector<UsageSum>& sums, const std::vector<UsageKey>& keys,
               const UsageFlags& flags, const std::string& path) {
  if (flags.is_csv) {
    fmt::print("{}", csv_text(sums_csv(keys, sums)));
    return;
  }
  UsageSum total;
  for (const UsageSum& sum : sums) {
    for (const auto& count : usage_counts()) total.*count.value += sum.*count.value;
    for (const auto& time : usage_times()) total.*time.value += sum.*time.value;
  }
  if (flags.is_json) {
    Json document;
    document["ledger"] = path;
    document["by"] = Json::array();
    for (const UsageKey key : keys) document["by"].push_back(usage_key_name(key));
    document["groups"] = Json::array();
    for (const UsageSum& sum : sums) document["groups"].push_back(sum_json(keys, sum));
    document["total"] = sum_json({}, total);
    fmt::print("{}\n", document.dump());
  } else if (sums.empty()) {
    fmt::print("no requests\n");
  } else {
    fmt::print("{}", table_text(sums_table(keys, sums, total)));
  }
}

Result<void> show(const UsageFlags& flags, const server::UsageSpan& span,
                  const std::vector<UsageKey>& keys) {
  std::filesystem::path path;
  if (flags.ledger) {
    path = *flags.ledger;
  } else {
    PAWL_TRY(path, server::default_ledger_path());
  }
  std::optional<server::UsageReader> reader;
  std::error_code failure;
  if (flags.ledger || std::filesystem::exists(path, failure)) {
    PAWL_TRY(server::UsageReader opened, server::UsageReader::open(path));
    reader.emplace(std::move(opened));
  } else {
    note(false, fmt::format("nothing was recorded yet: pawl serve writes {}", path.string()));
  }
  if (flags.last) {
    std::vector<LedgerRow> rows;
    if (reader) {
      PAWL_TRY(rows, reader->latest(span, *flags.last));
    }
    show_rows(rows, flags, path.string());
  } else {
    std::vector<UsageSum> sums;
    if (reader) {
      PAWL_TRY(sums, reader->sums(keys, span));
    }
    show_sums(sums, keys, flags, path.string());
  }
  return {};
}

}  // namespace

Result<ExitStatus> usage_command(const Arguments& arguments) {
  CommandLine line(kUsageHelp);
  UsageFlags flags;
  flags.declare(line);
  PAWL_TRY(const bool goes_on, line.parse(arguments));
  if (!goes_on) return ExitStatus::kDone;
  if (flags.is_csv && flags.is_json) return line.wrong("--csv and --json exclude one another");
  if (flags.last && line.was_given("--by"))
    return line.wrong("--by and --last exclude one another");
  PAWL_TRY(const server::UsageSpan span, flags.span(line));
  PAWL_TRY(const std::vector<UsageKey> keys, flags.keys(line));
  PAWL_TRY_VOID(show(flags, span, keys));
  return ExitStatus::kDone;
}

}  // namespace pawl::cli
