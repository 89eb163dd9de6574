// SPDX-License-Identifier: Apache-2.0
// Arrays as nodes of a grammar: items in their places, and how many of them are hits of `contains`.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "grammar/json_writer.h"

namespace pawl::grammar {

using base::Result;
using schema::ArrayPart;
using schema::NodeId;

namespace {

constexpr size_t kMaxContains = 4;

// Items of an array one by one: how many there were, and of each `contains` how many of these were
// hits.
class ItemStates {
 public:
  ItemStates(const ArrayPart& part, schema::Expander& expander, Form& form,
             std::function<Result<FormNode>(NodeId)> value)
      : part_(part), expander_(expander), form_(form), value_(std::move(value)) {
    const auto prefix = static_cast<int64_t>(part.prefix.size());
    last_ = std::max<int64_t>({prefix, part.least, 1});
    for (const ArrayPart::Contains& rule : part.contains) {
      last_ = std::max(last_, static_cast<int64_t>(rule.from));
      most_hits_.push_back(std::max(rule.least, rule.most.value_or(0)));
    }
    if (part.most) last_ = *part.most;
  }

  // Whether there are more than `limit` places times counts.
  bool are_more_than(int64_t limit) const {
    int64_t states = last_;
    for (const int64_t hits : most_hits_) {
      if (states >= limit || hits >= limit) return true;
      states *= hits + 1;
    }
    return states >= limit;
  }

  Result<FormNode> all() {
    const FormNode start = node_of({0, Hits(part_.contains.size())});
    while (!waiting_.empty()) {
      const State state = std::move(waiting_.back());
      waiting_.pop_back();
      PAWL_TRY(std::vector<FormNode> ways, ways_from(state));
      form_.define(node_of(state), form_.any(std::move(ways)));
    }
    return start;
  }

 private:
  using Hits = std::vector<int64_t>;
  using State = std::pair<int64_t, Hits>;  // items so far, up to last_, and hits

  FormNode node_of(const State& state) {
    const auto [known, is_new] = known_.try_emplace(state, 0);
    if (is_new) {
      known->second = form_.reserve("");
      waiting_.push_back(state);
    }
    return known->second;
  }

  Result<std::vector<FormNode>> ways_from(const State& state) {
    const auto& [count, hits] = state;
    std::vector<FormNode> ways;
    bool may_end = count >= part_.least;
    for (size_t i = 0; i < hits.size(); ++i) may_end &= hits[i] >= part_.contains[i].least;
    if (may_end) ways.push_back(form_.sequence({}));
    if (part_.most && count >= *part_.most) return ways;
    const auto place = static_cast<size_t>(count);
    const NodeId item = place < part_.prefix.size() ? part_.prefix[place] : part_.rest;
    PAWL_TRY_VOID(add_ways(state, 0, item, hits, ways));
    return ways;
  }

  // One item more: of each rule from `index` on it is a hit or not. Where more hits do not matter
  // nobody asks.
  Result<void> add_ways(const State& state, size_t index, NodeId item, Hits hits,
                        std::vector<FormNode>& ways) {
    if (index == part_.contains.size()) {
      PAWL_TRY(const FormNode value, value_(item));
      const FormNode rest = node_of({std::min(state.first + 1, last_), std::move(hits)});
      ways.push_back(state.first == 0 ? form_.sequence({value, rest})
                                      : form_.sequence({form_.literal(","), value, rest}));
      return {};
    }
    const ArrayPart::Contains& rule = part_.contains[index];
    const bool counts = state.first >= static_cast<int64_t>(rule.from);
    const bool is_wanted = rule.most ? hits[index] < *rule.most : hits[index] < rule.least;
    const NodeId missed = counts && rule.most ? expander_.both(item, rule.other) : item;
    PAWL_TRY_VOID(add_ways(state, index + 1, missed, hits, ways));
    if (!counts || !is_wanted) return {};
    ++hits[index];
    return add_ways(state, index + 1, expander_.both(item, rule.item), std::move(hits), ways);
  }

  const ArrayPart& part_;
  schema::Expander& expander_;
  Form& form_;
  std::function<Result<FormNode>(NodeId)> value_;
  int64_t last_ = 0;
  Hits most_hits_;
  std::map<State, FormNode> known_;
  std::vector<State> waiting_;
};

}  // namespace

Result<FormNode> JsonWriter::array(const ArrayPart& given, NodeId owner) {
  ArrayPart part = given;
  if (part.unique && part.most.value_or(2) > 1) {
    has_unique_ = true;
    PAWL_TRY(const std::vector<std::string> list, value_list(part.rest));
    const auto count = static_cast<int64_t>(list.size() + part.prefix.size());
    if (!list.empty()) part.most = std::min(part.most.value_or(count), count);
    if (part.most && *part.most < part.least) return form_.any({});
  }
  if (part.contains.size() > kMaxContains) {
    return refused(owner, "contains",
                   fmt::format("more than {} of it hold in one place", kMaxContains));
  }
  const FormNode open = form_.literal("["), close = form_.literal("]");
  if (part.contains.empty() && part.prefix.empty()) {
    PAWL_TRY(const FormNode item, value(part.rest));
    return form_.sequence({open, list(item, false, part.least, part.most), close});
  }
  if (part.contains.empty()) return prefixed(part, open, close);
  ItemStates states(part, expander_, form_, [this](NodeId node) { return value(node); });
  if (states.are_more_than(kMaxStates)) {
    return refused(owner, "contains", fmt::format("with bounds of more than {} ways", kMaxStates));
  }
  PAWL_TRY(const FormNode items, states.all());
  return form_.sequence({open, items, close});
}

Result<FormNode> JsonWriter::prefixed(const ArrayPart& part, FormNode open, FormNode close) {
  const auto places = static_cast<int64_t>(part.prefix.size());
  PAWL_TRY(const FormNode item, value(part.rest));
  const std::optional<int64_t> more =
      part.most ? std::optional(std::max<int64_t>(*part.most - places, 0)) : std::nullopt;
  FormNode tail = list(item, true, std::max<int64_t>(part.least - places, 0), more);
  for (int64_t i = places; i-- > 0;) {
    if (part.most && i >= *part.most) {
      tail = form_.sequence({});
      continue;
    }
    PAWL_TRY(const FormNode at, value(part.prefix[static_cast<size_t>(i)]));
    const FormNode some =
        i == 0 ? form_.sequence({at, tail}) : form_.sequence({form_.literal(","), at, tail});
    tail = i < part.least ? some : form_.any({form_.sequence({}), some});
  }
  return form_.sequence({open, tail, close});
}

}  // namespace pawl::grammar
