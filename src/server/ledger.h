// SPDX-License-Identifier: Apache-2.0
// The usage ledger: one row per request in an SQLite file, written by a thread of its own.
//
// What is lost when. A transaction is durable against kill -9 and a crash of the program once its
// commit returned: it is in the page cache, which outlives the process. The file is in WAL mode
// with synchronous=NORMAL, so no commit waits for the disk, and a power failure may take the last
// transactions since the latest checkpoint; it never damages the file. Accounting of tokens does
// not justify a disk flush per request.
//
// Behind. begin() reserves the request's place, and end() uses the same place, so what waits is
// bounded by `capacity` rows and a row that was accepted always gets in. When the writer cannot
// keep up (a full disk, a locked file) it retries, rows stay in memory, and begin() says no once
// the places are used: the server then refuses new requests (503) and never blocks.
//
// Several servers may share a file: each holds a byte of FILE.servers locked while it lives. Rows
// that are `running` and whose server is gone become `interrupted` at the next open.
//
// Threads: thread-safe. begin and end take one short lock and no file access.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "server/ledger_row.h"

namespace pawl::server {

struct LedgerOptions {
  size_t capacity = 10'000;      // rows that are running or not written yet
  int64_t retry_after_ms = 500;  // after a failed write
};

class Ledger {
 public:
  // Called on the writer's thread when the row is in the file. Short; must not call the ledger.
  using Committed = std::function<void()>;

  // Makes the file and its folder; brings an older one up to date. Errors: kBadFile for a file that
  // is no ledger, kUnsupported for one of a later version, kIo.
  static base::Result<std::unique_ptr<Ledger>> open(const std::filesystem::path& path,
                                                    const LedgerOptions& options = {});

  // Writes what waits, then closes. Rows that cannot be written are told, one line of JSON each,
  // in the log.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // A request was accepted. False, and nothing recorded, when every place is used: refuse the
  // request. REQUIRES: state kRunning, an id that was never used
  [[nodiscard]] bool begin(LedgerRow row, Committed committed = {});

  // It is over. Always taken. REQUIRES: begin() took this id; a state other than kRunning; once
  void end(LedgerRow row, Committed committed = {});

  // The row: from memory while it runs or waits to be written (a running one as begin() got it),
  // else from the file. Nothing when the id is unknown. The file is read on the calling thread, a
  // look-up by key. Error kIo.
  base::Result<std::optional<LedgerRow>> lookup(std::string_view id) const;

  // Waits until everything given so far is in the file. False when that took longer.
  bool flush(int64_t wait_ms);

  size_t waiting() const;      // rows that are not in the file yet
  size_t interrupted() const;  // rows that open() found left behind

 private:
  struct State;
  explicit Ledger(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// $PAWL_HOME/usage.db, or ~/.cache/pawl/usage.db. Error kInvalidArgument when there is neither
// $PAWL_HOME nor $HOME.
base::Result<std::filesystem::path> default_ledger_path();

}  // namespace pawl::server
