// SPDX-License-Identifier: Apache-2.0
#include "grammar/instance_feeder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schema/number_language.h"

namespace pawl::grammar {

using base::Json;

namespace {

// Schemas that most of an object's members are of.
constexpr size_t kLikelyOrders = 8;
constexpr size_t kBytesToMask = 8;

void collect(const Json& schema, MemberOrders& orders) {
  if (const Json::Array* items = schema.as_array(); items != nullptr) {
    for (const Json& item : *items) collect(item, orders);
  }
  if (schema.as_object() == nullptr) return;
  for (const auto& [name, member] : *schema.as_object()) {
    collect(member, orders);
    if (name != "properties" || member.as_object() == nullptr) continue;
    orders.emplace_back();
    for (const auto& [key, unused] : *member.as_object()) {
      orders.back().try_emplace(key, orders.back().size());
    }
  }
}

bool has_same_keys(const Json::Object& a, const Json::Object& b) {
  return std::ranges::equal(a, b, {}, &Json::Member::key, &Json::Member::key);
}

}  // namespace

MemberOrders member_orders(const Json& schema) {
  MemberOrders orders;
  collect(schema, orders);
  return orders;
}

bool InstanceFeeder::value(const Json& value) {
  if (value.as_object() != nullptr) return object(*value.as_object());
  const Json::Array* items = value.as_array();
  if (items == nullptr) return simple(value);
  const size_t start = fed_.size();
  bool is_ok = text("[");
  for (size_t i = 0; i < items->size() && is_ok; ++i) {
    is_ok = (i == 0 || text(",")) && this->value((*items)[i]);
  }
  return (is_ok && text("]")) || back_to(start);
}

// 2.0 is an integer since draft 6; we write 2. An exponent may stand only where a number has no
// bounds: the same number without one is tried too.
bool InstanceFeeder::simple(const Json& value) {
  const bool is_integer = value.to_int64() || value.to_uint64();
  const auto number = is_integer ? std::nullopt : value.to_double();
  if (!number) return text(value.dump());
  const auto plain = schema::decimal_of(*number);
  const bool is_whole = std::abs(*number) < 1e15 && *number == std::floor(*number);
  if (text(is_whole ? fmt::format("{:.1f}", *number) : value.dump())) return true;
  return plain.ok() && (!is_whole || !has_old_integers_) && text(plain->text());
}

bool InstanceFeeder::object(const Json::Object& members) {
  const size_t start = fed_.size();
  if (!text("{")) return false;
  const std::vector<Json::Object> likely = likely_orders(members);
  for (const Json::Object& sorted : likely) {
    bool is_ok = true;
    for (size_t i = 0; i < sorted.size() && is_ok; ++i) {
      is_ok = text((i > 0 ? "," : "") + Json(sorted[i].key).dump() + ":") && value(sorted[i].value);
    }
    if (is_ok && text("}")) return true;
    back_to(start + 1);
  }
  std::vector<bool> used(members.size());
  return this->members(likely.back(), used, 0) || back_to(start);
}

// The instance's own, then those of the schemas that most of its members are of.
std::vector<Json::Object> InstanceFeeder::likely_orders(const Json::Object& members) const {
  std::vector<std::pair<size_t, const MemberOrders::value_type*>> found;
  for (const auto& order : orders_) {
    const auto known = static_cast<size_t>(std::ranges::count_if(
        members, [&](const Json::Member& one) { return order.contains(one.key); }));
    if (known > 0) found.emplace_back(known, &order);
  }
  std::ranges::stable_sort(found, std::greater(), [](const auto& one) { return one.first; });
  std::vector<Json::Object> likely = {members};
  for (const auto& [unused, order] : found) {
    Json::Object sorted = members;
    std::ranges::stable_sort(sorted, {}, [&, order = order](const Json::Member& one) {
      const auto rank = order->find(one.key);
      return rank == order->end() ? order->size() : rank->second;
    });
    const bool is_known = std::ranges::any_of(
        likely, [&](const Json::Object& other) { return has_same_keys(other, sorted); });
    if (!is_known) likely.push_back(std::move(sorted));
    if (likely.size() > kLikelyOrders) break;
  }
  // Others are looked for from the likeliest one on.
  if (likely.size() > 1) likely.push_back(likely[1]);
  return likely;
}

bool InstanceFeeder::members(const Json::Object& members, std::vector<bool>& used, size_t count) {
  if (count == members.size()) return text("}");
  for (size_t i = 0; i < members.size(); ++i) {
    if (used[i]) continue;
    const size_t start = fed_.size();
    used[i] = true;
    const std::string key = (count > 0 ? "," : "") + Json(members[i].key).dump() + ":";
    if (text(key) && value(members[i].value) && this->members(members, used, count + 1)) {
      return true;
    }
    used[i] = false;
    back_to(start);
  }
  return false;
}

bool InstanceFeeder::text(const std::string& bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    // What may be computed is counted from mask to mask.
    if (fed_.size() % kBytesToMask == 0) {
      const auto masked = walk_.fill_mask(mask_);
      if (!masked.ok()) {
        limit_ = masked.error().message;
        return undo(i);
      }
    }
    const auto accepted = walk_.accept(static_cast<unsigned char>(bytes[i]));
    if (++bytes_ > kMaxBytes) limit_ = "too many orders of members";
    if (!accepted.ok()) limit_ = accepted.error().message;
    if (bytes_ > kMaxBytes || !accepted.ok() || !*accepted) return undo(i);
    fed_ += bytes[i];
    if (fed_.size() > longest_.size()) longest_ = fed_;
  }
  return true;
}

bool InstanceFeeder::undo(size_t bytes) {
  if (bytes > 0 && !walk_.rollback(static_cast<int64_t>(bytes)).ok()) bytes_ = kMaxBytes;
  fed_.resize(fed_.size() - bytes);
  return false;
}

}  // namespace pawl::grammar
