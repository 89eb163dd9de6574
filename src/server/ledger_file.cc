// SPDX-License-Identifier: Apache-2.0
#include "server/ledger_file.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

namespace pawl::server {

using base::Database;
using base::Result;
using base::SqlStatement;

namespace {

// The bytes "pawl" in the file's header.
constexpr int32_t kApplicationId = 0x7061776c;

constexpr std::array<std::string_view, 1> kMigrations = {R"sql(
CREATE TABLE servers(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  started_ms INTEGER NOT NULL
);
CREATE TABLE requests(
  id TEXT NOT NULL PRIMARY KEY,
  received_ms INTEGER NOT NULL,
  key_name TEXT NOT NULL,
  model TEXT NOT NULL,
  route TEXT NOT NULL,
  trace_parent TEXT NOT NULL,
  is_stream INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  computed_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  forced_tokens INTEGER NOT NULL,
  accepted_draft_tokens INTEGER NOT NULL,
  delivered_tokens INTEGER NOT NULL,
  forward_passes INTEGER NOT NULL,
  preemptions INTEGER NOT NULL,
  queue_ms REAL,
  prefill_ms REAL,
  decode_ms REAL,
  total_ms REAL,
  state TEXT NOT NULL,
  cause TEXT NOT NULL,
  error TEXT NOT NULL,
  http_status INTEGER NOT NULL,
  server INTEGER NOT NULL REFERENCES servers(number)
);
CREATE INDEX requests_received ON requests(received_ms);
CREATE INDEX requests_running ON requests(server) WHERE state = 'running';
)sql"};

const Database::Schema kSchema = {kApplicationId, "a usage ledger of pawl", kMigrations};

// Visits the columns with their values, in the one order that writing and reading share.
template <typename Row, typename Visit>
void for_each_column(Row& row, Visit&& visit) {
  visit("id", row.id);
  visit("received_ms", row.received_ms);
  visit("key_name", row.key_name);
  visit("model", row.model);
  visit("route", row.route);
  visit("trace_parent", row.trace_parent);
  visit("is_stream", row.is_stream);
  visit("prompt_tokens", row.prompt_tokens);
  visit("cached_tokens", row.cached_tokens);
  visit("computed_tokens", row.computed_tokens);
  visit("completion_tokens", row.completion_tokens);
  visit("forced_tokens", row.forced_tokens);
  visit("accepted_draft_tokens", row.accepted_draft_tokens);
  visit("delivered_tokens", row.delivered_tokens);
  visit("forward_passes", row.forward_passes);
  visit("preemptions", row.preemptions);
  visit("queue_ms", row.queue_ms);
  visit("prefill_ms", row.prefill_ms);
  visit("decode_ms", row.decode_ms);
  visit("total_ms", row.total_ms);
  visit("state", row.state);
  visit("cause", row.cause);
  visit("error", row.error);
  visit("http_status", row.http_status);
}

struct Binder {
  SqlStatement& statement;
  int index = 0;

  void operator()(const char*, const std::string& value) {
    statement.bind(index++, std::string_view(value));
  }
  void operator()(const char*, int64_t value) { statement.bind(index++, value); }
  void operator()(const char*, int value) { statement.bind(index++, int64_t{value}); }
  void operator()(const char*, bool value) { statement.bind(index++, int64_t{value}); }
  void operator()(const char*, const std::optional<double>& value) {
    statement.bind(index++, value);
  }
  void operator()(const char*, RowState value) { statement.bind(index++, row_state_name(value)); }
  void operator()(const char*, CancelCause value) {
    statement.bind(index++, cancel_cause_name(value));
  }
};

struct Reader {
  const SqlStatement& statement;
  int index = 0;

  void operator()(const char*, std::string& value) { value = statement.text(index++); }
  void operator()(const char*, int64_t& value) { value = statement.integer(index++); }
  void operator()(const char*, int& value) { value = static_cast<int>(statement.integer(index++)); }
  void operator()(const char*, bool& value) { value = statement.integer(index++) != 0; }
  void operator()(const char*, std::optional<double>& value) {
    value = statement.optional_number(index++);
  }
  void operator()(const char*, RowState& value) {
    value = parse_row_state(statement.text(index++)).value_or(RowState::kError);
  }
  void operator()(const char*, CancelCause& value) {
    value = parse_cancel_cause(statement.text(index++)).value_or(CancelCause::kNone);
  }
};

std::string upsert_sql() {
  std::string names, marks, updates;
  LedgerRow row;
  for_each_column(row, [&](const char* name, const auto&) {
    names += fmt::format("{}, ", name);
    marks += "?, ";
    updates += fmt::format("{}{} = excluded.{}", updates.empty() ? "" : ", ", name, name);
  });
  return fmt::format(
      "INSERT INTO requests({}server) VALUES({}?) ON CONFLICT(id) DO UPDATE SET {} "
      "WHERE server = excluded.server AND received_ms = excluded.received_ms",
      names, marks, updates);
}

}  // namespace

std::string_view ledger_columns() {
  static const std::string columns = [] {
    std::string names;
    LedgerRow row;
    for_each_column(row, [&](const char* name, const auto&) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    });
    return names;
  }();
  return columns;
}

LedgerRow read_row(const SqlStatement& statement) {
  LedgerRow row;
  for_each_column(row, Reader{statement});
  return row;
}

Result<LedgerFile> LedgerFile::open(const std::filesystem::path& path, Database::Mode mode) {
  PAWL_TRY(Database database, Database::open(path, kSchema, {.mode = mode}));
  PAWL_TRY(SqlStatement read,
           database.prepare(fmt::format("SELECT {} FROM requests WHERE id = ?", ledger_columns())));
  LedgerFile file(std::move(database), std::move(read));
  if (mode == Database::Mode::kReadWrite) {
    PAWL_TRY(SqlStatement write, file.database_.prepare(upsert_sql()));
    file.write_.emplace(std::move(write));
  }
  return file;
}

Result<int64_t> LedgerFile::add_server() {
  PAWL_TRY(SqlStatement insert,
           database_.prepare("INSERT INTO servers(started_ms) VALUES(?) RETURNING number"));
  insert.bind(0, utc_now_ms());
  PAWL_TRY(const bool has_row, insert.step());
  const int64_t number = has_row ? insert.integer(0) : 0;
  if (has_row) PAWL_TRY_VOID(insert.step());  // the commit
  return number;
}

Result<std::vector<int64_t>> LedgerFile::servers_with_running_rows() {
  PAWL_TRY(SqlStatement select,
           database_.prepare("SELECT DISTINCT server FROM requests WHERE state = 'running'"));
  std::vector<int64_t> servers;
  while (true) {
    PAWL_TRY(const bool has_row, select.step());
    if (!has_row) return servers;
    servers.push_back(select.integer(0));
  }
}

Result<int64_t> LedgerFile::interrupt_rows(int64_t server) {
  PAWL_TRY(SqlStatement update, database_.prepare("UPDATE requests SET state = 'interrupted' "
                                                  "WHERE state = 'running' AND server = ?"));
  update.bind(0, server);
  PAWL_TRY_VOID(update.run());
  return database_.changes();
}

Result<std::vector<size_t>> LedgerFile::write(std::span<const LedgerRow> rows, int64_t server) {
  PAWL_CHECK(write_.has_value());
  std::vector<size_t> refused;
  const Result<void> done = database_.transact([&]() -> Result<void> {
    for (size_t i = 0; i < rows.size(); ++i) {
      Binder binder{*write_};
      for_each_column(rows[i], binder);
      write_->bind(binder.index, server);
      PAWL_TRY_VOID(write_->run());
      if (database_.changes() == 0) refused.push_back(i);
    }
    return {};
  });
  if (!done.ok()) return done.error();
  return refused;
}

Result<std::optional<LedgerRow>> LedgerFile::read(std::string_view id) {
  read_.bind(0, id);
  PAWL_TRY(const bool has_row, read_.step());
  if (!has_row) return std::optional<LedgerRow>();
  LedgerRow row = read_row(read_);
  read_.reset();
  return std::optional<LedgerRow>(std::move(row));
}

}  // namespace pawl::server
