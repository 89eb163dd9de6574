// SPDX-License-Identifier: Apache-2.0
#include "server/request_table.h"

#include <algorithm>

namespace pawl::server {

void RequestTable::add(std::shared_ptr<LiveRequest> request) {
  const std::scoped_lock lock(mutex_);
  live_[request->id()] = std::move(request);
}

bool RequestTable::retire(const LiveRequest& request, const LedgerRow& row) {
  const std::scoped_lock lock(mutex_);
  if (live_.erase(request.id()) == 0) return false;
  over_.push_back({request.request_id(), row});
  if (over_.size() > kKept) over_.pop_front();
  return true;
}

std::shared_ptr<LiveRequest> RequestTable::find_live(std::string_view id,
                                                     std::string_view key_name) const {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<LiveRequest> found;
  if (const auto at = live_.find(std::string(id)); at != live_.end()) {
    found = at->second;
  } else {
    for (const auto& [unused, request] : live_) {
      if (request->request_id() != id || request->row().key_name != key_name) continue;
      if (!found || request->received_ns() > found->received_ns()) found = request;
    }
  }
  if (found && found->row().key_name != key_name) return nullptr;
  return found;
}

std::optional<LedgerRow> RequestTable::find_over(std::string_view id,
                                                 std::string_view key_name) const {
  const std::scoped_lock lock(mutex_);
  for (auto one = over_.rbegin(); one != over_.rend(); ++one) {
    if (one->row.id != id && one->request_id != id) continue;
    if (one->row.key_name == key_name) return one->row;
  }
  return std::nullopt;
}

std::vector<std::shared_ptr<LiveRequest>> RequestTable::live() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<LiveRequest>> all;
  for (const auto& [unused, request] : live_) all.push_back(request);
  return all;
}

std::vector<LedgerRow> RequestTable::newest(std::string_view key_name, size_t most) const {
  std::vector<LedgerRow> rows;
  const std::scoped_lock lock(mutex_);
  for (const auto& [unused, request] : live_) {
    if (request->row().key_name == key_name) rows.push_back(request->snapshot());
  }
  std::sort(rows.begin(), rows.end(),
            [](const LedgerRow& a, const LedgerRow& b) { return a.received_ms > b.received_ms; });
  if (rows.size() > most) rows.resize(most);
  for (auto one = over_.rbegin(); one != over_.rend() && rows.size() < most; ++one) {
    if (one->row.key_name == key_name) rows.push_back(one->row);
  }
  return rows;
}

}  // namespace pawl::server
