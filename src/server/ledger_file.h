// SPDX-License-Identifier: Apache-2.0
// The ledger's file: what stands in it and how rows get in and out. One table `requests`, a row per
// request, its columns named as in LedgerRow; one table `servers`, a row per start of a server.
// Threads: one object, one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sqlite.h"
#include "server/ledger_row.h"

namespace pawl::server {

class LedgerFile {
 public:
  // Errors as of base::Database::open.
  static base::Result<LedgerFile> open(const std::filesystem::path& path,
                                       base::Database::Mode mode);

  // A number for a server that starts, never given before.
  base::Result<int64_t> add_server();

  // The servers with rows that are still running.
  base::Result<std::vector<int64_t>> servers_with_running_rows();

  // The running rows of a server that is gone become kInterrupted. How many there were.
  base::Result<int64_t> interrupt_rows(int64_t server);

  // Writes all of the rows or none, in one transaction. A row of the same id, server and time is
  // replaced; an id that stands for another request is left alone, and its index given back.
  base::Result<std::vector<size_t>> write(std::span<const LedgerRow> rows, int64_t server);

  base::Result<std::optional<LedgerRow>> read(std::string_view id);

  base::Database& database() { return database_; }

 private:
  LedgerFile(base::Database database, base::SqlStatement read)
      : database_(std::move(database)), read_(std::move(read)) {}

  base::Database database_;
  base::SqlStatement read_;
  std::optional<base::SqlStatement> write_;
};

// The columns of read_row, in its order, for a SELECT.
std::string_view ledger_columns();
// The row that a statement over ledger_columns() stands on. Names that this program does not know
// read as kError and kNone.
LedgerRow read_row(const base::SqlStatement& statement);

}  // namespace pawl::server
