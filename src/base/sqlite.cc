// SPDX-License-Identifier: Apache-2.0
#include "base/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace pawl::base {

namespace {

ErrorCode code_of(int status) {
  switch (status & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return ErrorCode::kBadFile;
    case SQLITE_NOMEM:
      return ErrorCode::kOutOfMemory;
    case SQLITE_ERROR:
    case SQLITE_RANGE:
    case SQLITE_MISUSE:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return ErrorCode::kInvalidArgument;
    default:
      return ErrorCode::kIo;
  }
}

// The library's message of the connection is about the call that failed last; without one, the
// status has a general name.
Error error_of(int status, sqlite3* database, const std::string& where) {
  const bool is_latest = database != nullptr && sqlite3_errcode(database) == status;
  return {code_of(status), is_latest ? sqlite3_errmsg(database) : sqlite3_errstr(status), where};
}

}  // namespace

SqlStatement::SqlStatement(SqlStatement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      where_(std::move(other.where_)),
      bind_status_(other.bind_status_) {}

SqlStatement& SqlStatement::operator=(SqlStatement&& other) noexcept {
  std::swap(statement_, other.statement_);
  std::swap(where_, other.where_);
  std::swap(bind_status_, other.bind_status_);
  return *this;
}

SqlStatement::~SqlStatement() {
  sqlite3_finalize(statement_);
}

void SqlStatement::bind(int index, int64_t value) {
  if (bind_status_ == SQLITE_OK) bind_status_ = sqlite3_bind_int64(statement_, index + 1, value);
}

void SqlStatement::bind(int index, double value) {
  if (bind_status_ == SQLITE_OK) bind_status_ = sqlite3_bind_double(statement_, index + 1, value);
}

void SqlStatement::bind(int index, std::string_view value) {
  if (bind_status_ != SQLITE_OK) return;
  // A null pointer would be NULL, and an empty view may hold one.
  const char* bytes = value.empty() ? "" : value.data();
  bind_status_ = sqlite3_bind_text64(statement_, index + 1, bytes, value.size(), SQLITE_TRANSIENT,
                                     SQLITE_UTF8);
}

void SqlStatement::bind(int index, std::nullptr_t) {
  if (bind_status_ == SQLITE_OK) bind_status_ = sqlite3_bind_null(statement_, index + 1);
}

Result<bool> SqlStatement::step() {
  const int status =
      bind_status_ != SQLITE_OK ? std::exchange(bind_status_, SQLITE_OK) : sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = error_of(status, sqlite3_db_handle(statement_), where_);
  reset();
  return error;
}

Result<void> SqlStatement::run() {
  PAWL_TRY(const bool has_row, step());
  if (has_row) reset();
  return {};
}

void SqlStatement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bind_status_ = SQLITE_OK;
}

bool SqlStatement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t SqlStatement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double SqlStatement::number(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string_view SqlStatement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<double> SqlStatement::optional_number(int column) const {
  if (is_null(column)) return std::nullopt;
  return number(column);
}

void Database::Closer::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);  // v2: waits for statements that are still alive
}

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::filesystem::path& path, const Schema& schema,
                                const Options& options) {
  std::error_code failure;
  if (options.mode == Mode::kRead && !std::filesystem::exists(path, failure)) {
    return Error{ErrorCode::kNotFound, "there is no such file", path.string()};
  }
  const int flags = (options.mode == Mode::kRead ? SQLITE_OPEN_READONLY
                                                 : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                    SQLITE_OPEN_NOMUTEX;
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  Database database(std::unique_ptr<sqlite3, Closer>(opened), path.string());
  if (status != SQLITE_OK) return error_of(status, opened, path.string());
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, options.busy_ms);
  PAWL_TRY_VOID(database.migrate(schema, options.mode));
  PAWL_TRY_VOID(database.configure(options.mode));
  return database;
}

Result<void> Database::configure(Mode mode) {
  // A crafted file cannot run functions through its schema.
  PAWL_TRY_VOID(execute("PRAGMA trusted_schema=OFF"));
  if (mode == Mode::kRead) return {};
  // WAL: readers do not hold up the writer. NORMAL: commits do not wait for the disk.
  return execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
}

// Whose file it is stands in its header: the application id, and user_version counts the steps.
Result<void> Database::migrate(const Schema& schema, Mode mode) {
  const auto last = static_cast<int64_t>(schema.migrations.size());
  const auto check = [&]() -> Result<int64_t> {
    PAWL_TRY(const int64_t version, pragma("user_version"));
    PAWL_TRY(const int64_t application, pragma("application_id"));
    PAWL_TRY(const int64_t changes, pragma("schema_version"));
    const bool is_empty = version == 0 && application == 0 && changes == 0;
    if (!is_empty && application != schema.application_id) {
      return Error{ErrorCode::kBadFile, fmt::format("a database, but not {}", schema.what), where_};
    }
    if (version < 0 || version > last || (mode == Mode::kRead && version != last)) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{} of version {}, this program reads version {}", schema.what,
                               version, last),
                   where_};
    }
    return version;
  };
  PAWL_TRY(const int64_t found, check());
  if (found == last) return {};
  return transact([&]() -> Result<void> {
    PAWL_TRY(const int64_t version, check());  // another process may have been first
    for (int64_t step = version; step < last; ++step) {
      const std::string sql(schema.migrations[static_cast<size_t>(step)]);
      PAWL_TRY_VOID(execute(sql.c_str()));
    }
    const std::string stamp = fmt::format("PRAGMA application_id={}; PRAGMA user_version={}",
                                          schema.application_id, last);
    return execute(stamp.c_str());
  });
}

Result<int64_t> Database::pragma(const char* name) {
  PAWL_TRY(SqlStatement statement, prepare(fmt::format("PRAGMA {}", name)));
  PAWL_TRY(const bool has_row, statement.step());
  return has_row ? statement.integer(0) : 0;
}

Result<void> Database::execute(const char* sql) {
  const int status = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return error_of(status, database_.get(), where_);
  return {};
}

Result<SqlStatement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  if (status != SQLITE_OK) return error_of(status, database_.get(), where_);
  PAWL_CHECK(statement != nullptr);
  return SqlStatement(statement, where_);
}

int64_t Database::changes() const {
  return sqlite3_changes64(database_.get());
}

// Some failures have rolled back already, and another rollback is then an error of no interest.
void Database::roll_back() {
  if (sqlite3_get_autocommit(database_.get()) == 0) {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

}  // namespace pawl::base
