// SPDX-License-Identifier: Apache-2.0
// An SQLite database in a file: statements that close themselves, errors as Result, numbered
// migrations. sqlite.cc is the only user of the library.
// Threads: a Database, and the statements made from it, belong to one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace pawl::base {

// A prepared statement. Parameters and columns count from 0. Text is UTF-8.
class SqlStatement {
 public:
  SqlStatement(SqlStatement&& other) noexcept;
  SqlStatement& operator=(SqlStatement&& other) noexcept;
  ~SqlStatement();

  void bind(int index, int64_t value);
  void bind(int index, double value);
  void bind(int index, std::string_view value);  // copied
  void bind(int index, std::nullptr_t);
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    if (value) {
      bind(index, *value);
    } else {
      bind(index, nullptr);
    }
  }

  // True: there is a row to read. False: done, and ready to be run again with other parameters.
  // Errors as of Database::execute, also for a parameter that did not fit.
  Result<bool> step();
  // Runs a statement that gives no rows.
  Result<void> run();
  // Ready to be run again before step() said false. Parameters become null.
  void reset();

  // Of the row that step() gave; valid until the next step or reset.
  bool is_null(int column) const;
  int64_t integer(int column) const;
  double number(int column) const;
  std::string_view text(int column) const;
  std::optional<double> optional_number(int column) const;

 private:
  friend class Database;
  SqlStatement(sqlite3_stmt* statement, std::string where)
      : statement_(statement), where_(std::move(where)) {}

  sqlite3_stmt* statement_;
  std::string where_;
  int bind_status_ = 0;  // of the first bind that failed
};

class Database {
 public:
  enum class Mode {
    kReadWrite,  // made when it is not there; WAL, synchronous=NORMAL
    kRead,       // kNotFound when it is not there
  };

  struct Options {
    Mode mode = Mode::kReadWrite;
    int busy_ms = 5000;  // how long a statement waits for another process's lock
  };

  // What a file of ours is: `application_id` in its header, and one step of SQL for each version.
  struct Schema {
    int32_t application_id = 0;
    std::string_view what;  // "a pawl usage ledger", for messages
    std::span<const std::string_view> migrations;
  };

  // Opens it and brings it to the last version of the schema, all steps in one transaction; kRead
  // only checks. Errors: kBadFile for a file that is no database or another application's,
  // kUnsupported for a version that is not migrations.size() (kRead) or above it, kIo.
  static Result<Database> open(const std::filesystem::path& path, const Schema& schema,
                               const Options& options);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // Statements without rows or parameters, separated by semicolons. Errors: kBadFile when the file
  // is damaged, kIo (full disk, lock held by another for longer than busy_ms), kInvalidArgument for
  // SQL that is wrong.
  Result<void> execute(const char* sql);
  Result<SqlStatement> prepare(std::string_view sql);

  int64_t changes() const;  // rows that the latest INSERT, UPDATE or DELETE changed

  // Runs `work` between BEGIN IMMEDIATE and COMMIT; rolled back when either of them fails.
  template <typename Work>
  Result<void> transact(Work&& work) {
    PAWL_TRY_VOID(execute("BEGIN IMMEDIATE"));
    Result<void> done = work();
    if (done.ok()) done = execute("COMMIT");
    if (!done.ok()) roll_back();
    return done;
  }

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  Database(std::unique_ptr<sqlite3, Closer> database, std::string where)
      : database_(std::move(database)), where_(std::move(where)) {}

  Result<int64_t> pragma(const char* name);
  Result<void> configure(Mode mode);
  Result<void> migrate(const Schema& schema, Mode mode);
  void roll_back();

  std::unique_ptr<sqlite3, Closer> database_;
  std::string where_;
};

}  // namespace pawl::base
