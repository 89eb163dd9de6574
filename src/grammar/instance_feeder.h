// SPDX-License-Identifier: Apache-2.0
// Whether a grammar takes a value, in whatever order of its members: for schema_judge.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "bridge/grammar.h"
#include "grammar/guarded_walk.h"

namespace pawl::grammar {

// The names of each `properties` of a schema, in their order.
using MemberOrders = std::vector<std::map<std::string, size_t, std::less<>>>;
MemberOrders member_orders(const base::Json& schema);

// A text under way over a vocabulary of single bytes, and the way back. Threads: none.
class InstanceFeeder {
 public:
  // has_old_integers: 2.0 is no integer, as in draft 4.
  InstanceFeeder(bridge::Walk walk, std::shared_ptr<const TokenTexts> texts,
                 std::shared_ptr<const GuardShapes> shapes, const MemberOrders& orders,
                 bool has_old_integers)
      : walk_(std::move(walk), std::move(texts), std::move(shapes)),
        orders_(orders),
        has_old_integers_(has_old_integers) {}

  // The value, compactly. Members are tried in the order of the instance first, then in those of
  // the schema, then in others, within a number of bytes: a search through all would not end.
  bool takes(const base::Json& value) { return this->value(value) && walk_.is_complete(); }
  // How far it came.
  const std::string& longest() const { return longest_; }
  // The limit that ended it, if one did.
  const std::string& limit() const { return limit_; }

 private:
  static constexpr int64_t kMaxBytes = 200'000;

  bool value(const base::Json& value);
  bool simple(const base::Json& value);
  bool object(const base::Json::Object& members);
  std::vector<base::Json::Object> likely_orders(const base::Json::Object& members) const;
  bool members(const base::Json::Object& members, std::vector<bool>& used, size_t count);
  bool text(const std::string& bytes);
  bool undo(size_t bytes);
  // What was fed since then is taken back; false.
  bool back_to(size_t start) { return undo(fed_.size() - start); }

  GuardedWalk walk_;
  const MemberOrders& orders_;
  const bool has_old_integers_;
  std::string fed_, longest_, limit_;
  std::vector<uint64_t> mask_ = std::vector<uint64_t>(5);  // of 257 ids
  int64_t bytes_ = 0;
};

}  // namespace pawl::grammar
