// SPDX-License-Identifier: Apache-2.0
#include "server/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/ledger_file.h"
#include "server/ledger_owner.h"

namespace pawl::server {

using base::Result;

namespace {

// Bounds how long begin() and end() can find the lock taken while rows are copied.
constexpr size_t kRowsPerTransaction = 256;

struct Entry {
  LedgerRow row;
  std::vector<Ledger::Committed> committed;  // of the states that are not in the file yet
  int64_t version = 0;                       // grows with each state
  bool is_queued = false;                    // stands in State::queue
};

}  // namespace

struct Ledger::State {
  State(LedgerFile to_write, LedgerFile to_read, LedgerOwner held)
      : file(std::move(to_write)), owner(std::move(held)), reading(std::move(to_read)) {}

  void give(LedgerRow&& row, Committed&& committed);
  void run();
  bool write_some(std::unique_lock<std::mutex>& lock);
  void settle(const std::vector<std::pair<std::string, int64_t>>& taken,
              std::unique_lock<std::mutex>& lock);
  void tell_unwritten() const;

  LedgerOptions options;
  size_t interrupted = 0;

  // The writer's, after open().
  LedgerFile file;
  LedgerOwner owner;
  int64_t server = 0;
  bool has_failed = false;  // the latest write

  mutable std::mutex mutex;  // of what follows up to `reading_mutex`
  std::condition_variable work, written;
  std::unordered_map<std::string, Entry> entries;  // running, or not in the file
  std::deque<std::string> queue;                   // ids whose latest state is not in the file
  size_t in_flight = 0;                            // rows of the transaction at hand
  bool is_closing = false;

  mutable std::mutex reading_mutex;
  mutable LedgerFile reading;

  std::thread thread;
};

Result<std::unique_ptr<Ledger>> Ledger::open(const std::filesystem::path& path,
                                             const LedgerOptions& options) {
  std::error_code failure;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failure);
  PAWL_TRY(LedgerFile file, LedgerFile::open(path, base::Database::Mode::kReadWrite));
  PAWL_TRY(LedgerOwner owner, LedgerOwner::open(path.string() + ".servers"));
  PAWL_TRY(LedgerFile reading, LedgerFile::open(path, base::Database::Mode::kRead));
  auto state = std::make_unique<State>(std::move(file), std::move(reading), std::move(owner));
  state->options = options;
  PAWL_TRY(state->server, state->file.add_server());
  PAWL_TRY_VOID(state->owner.hold(state->server));
  PAWL_TRY(const std::vector<int64_t> servers, state->file.servers_with_running_rows());
  for (const int64_t server : servers) {
    PAWL_TRY(const bool is_alive, state->owner.is_alive(server));
    if (is_alive) continue;
    PAWL_TRY(const int64_t rows, state->file.interrupt_rows(server));
    state->interrupted += static_cast<size_t>(rows);
  }
  State* const shared = state.get();
  state->thread = std::thread([shared] { shared->run(); });
  return std::unique_ptr<Ledger>(new Ledger(std::move(state)));
}

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}

Ledger::~Ledger() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closing = true;
  }
  state_->work.notify_all();
  state_->thread.join();
}

bool Ledger::begin(LedgerRow row, Committed committed) {
  PAWL_CHECK(row.state == RowState::kRunning);
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->entries.size() >= state_->options.capacity) return false;
    PAWL_CHECK(!state_->entries.contains(row.id));
    state_->give(std::move(row), std::move(committed));
  }
  state_->work.notify_one();
  return true;
}

void Ledger::end(LedgerRow row, Committed committed) {
  PAWL_CHECK(row.state != RowState::kRunning);
  {
    const std::lock_guard lock(state_->mutex);
    const auto begun = state_->entries.find(row.id);
    PAWL_CHECK(begun != state_->entries.end() && begun->second.row.state == RowState::kRunning);
    state_->give(std::move(row), std::move(committed));
  }
  state_->work.notify_one();
}

// Two states of one row that both wait are one write, the later one.
void Ledger::State::give(LedgerRow&& row, Committed&& committed) {
  const std::string id = row.id;
  Entry& entry = entries[id];
  entry.row = std::move(row);
  ++entry.version;
  if (committed) entry.committed.push_back(std::move(committed));
  if (!std::exchange(entry.is_queued, true)) queue.push_back(id);
}

void Ledger::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    work.wait(lock, [&] { return !queue.empty() || is_closing; });
    if (queue.empty()) return;
    if (write_some(lock)) continue;
    if (is_closing) {
      tell_unwritten();
      return;
    }
    work.wait_for(lock, std::chrono::milliseconds(options.retry_after_ms),
                  [&] { return is_closing; });
  }
}

// One transaction over the oldest that wait. False when it failed; they wait again, in order.
bool Ledger::State::write_some(std::unique_lock<std::mutex>& lock) {
  std::vector<LedgerRow> rows;
  std::vector<std::pair<std::string, int64_t>> taken;
  while (!queue.empty() && rows.size() < kRowsPerTransaction) {
    Entry& entry = entries.at(queue.front());
    entry.is_queued = false;
    rows.push_back(entry.row);
    taken.emplace_back(std::move(queue.front()), entry.version);
    queue.pop_front();
  }
  in_flight = rows.size();
  lock.unlock();
  auto refused = file.write(rows, server);
  if (!refused.ok() && !has_failed) {
    base::log_warning(fmt::format("the ledger cannot be written, rows wait in memory: {} ({})",
                                  refused.error().message, refused.error().where));
  }
  if (refused.ok() && has_failed) base::log_warning("the ledger can be written again");
  has_failed = !refused.ok();
  if (refused.ok()) {
    for (const size_t i : *refused) {
      base::log_warning(fmt::format("the ledger holds another request of this id, not written: {}",
                                    row_json(rows[i]).dump()));
    }
  }
  lock.lock();
  in_flight = 0;
  if (!has_failed) {
    settle(taken, lock);
    return true;
  }
  for (auto one = taken.rbegin(); one != taken.rend(); ++one) {
    if (!std::exchange(entries.at(one->first).is_queued, true)) {
      queue.push_front(std::move(one->first));
    }
  }
  return false;
}

// What is in the file and over leaves the memory; then those who wanted to know are told.
void Ledger::State::settle(const std::vector<std::pair<std::string, int64_t>>& taken,
                           std::unique_lock<std::mutex>& lock) {
  std::vector<Committed> told;
  for (const auto& [id, version] : taken) {
    const auto found = entries.find(id);
    Entry& entry = found->second;
    if (entry.version != version) continue;  // a later state waits, and tells for both
    std::move(entry.committed.begin(), entry.committed.end(), std::back_inserter(told));
    entry.committed.clear();
    if (entry.row.state != RowState::kRunning) entries.erase(found);
  }
  written.notify_all();
  if (told.empty()) return;
  lock.unlock();
  for (const Committed& committed : told) committed();
  lock.lock();
}

void Ledger::State::tell_unwritten() const {
  for (const std::string& id : queue) {
    base::log_warning(fmt::format("a row of the ledger was not written: {}",
                                  row_json(entries.at(id).row).dump()));
  }
}

Result<std::optional<LedgerRow>> Ledger::lookup(std::string_view id) const {
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->entries.find(std::string(id));
    if (found != state_->entries.end()) return std::optional<LedgerRow>(found->second.row);
  }
  const std::lock_guard lock(state_->reading_mutex);
  return state_->reading.read(id);
}

bool Ledger::flush(int64_t wait_ms) {
  std::unique_lock lock(state_->mutex);
  return state_->written.wait_for(lock, std::chrono::milliseconds(wait_ms),
                                  [&] { return state_->queue.empty() && state_->in_flight == 0; });
}

size_t Ledger::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queue.size() + state_->in_flight;
}

size_t Ledger::interrupted() const {
  return state_->interrupted;
}

Result<std::filesystem::path> default_ledger_path() {
  const char* own = std::getenv("PAWL_HOME");
  if (own != nullptr && *own != '\0') return std::filesystem::path(own) / "usage.db";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') {
    return std::filesystem::path(home) / ".cache" / "pawl" / "usage.db";
  }
  return base::Error{base::ErrorCode::kInvalidArgument, "neither $PAWL_HOME nor $HOME is set",
                     "usage ledger"};
}

}  // namespace pawl::server
