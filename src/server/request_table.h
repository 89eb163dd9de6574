// SPDX-License-Identifier: Apache-2.0
// Requests by id: those that live, and the last that are over. What is older is in the ledger.
// Threads: thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/live_request.h"

namespace pawl::server {

class RequestTable {
 public:
  void add(std::shared_ptr<LiveRequest> request);

  // Keeps its last row in place of it. False when it is not in the table.
  bool retire(const LiveRequest& request, const LedgerRow& row);

  // By its id, or by the x-request-id of its reply, which a client may give itself; of two with the
  // same, the later.
  // `key_name`: requests of other keys are not found.
  std::shared_ptr<LiveRequest> find_live(std::string_view id, std::string_view key_name) const;
  std::optional<LedgerRow> find_over(std::string_view id, std::string_view key_name) const;

  std::vector<std::shared_ptr<LiveRequest>> live() const;

  // Of one key, at most `most`: those that live, the newest first, then those that are over, the
  // one that ended last first.
  std::vector<LedgerRow> newest(std::string_view key_name, size_t most) const;

 private:
  static constexpr size_t kKept = 1000;

  struct Over {
    std::string request_id;
    LedgerRow row;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<LiveRequest>> live_;
  std::deque<Over> over_;  // the latest last
};

}  // namespace pawl::server
