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

// Items of an array one by one: how many there were, how many of these were hits of `contains`.
class ItemStates {
 public:
  ItemStates(const ArrayPart& part, schema::Expander& expander, Form& form,
             std::function<Result<FormNode>(NodeId)> value)
      : part_(part), expander_(expander), form_(form), value_(std::move(value)) {
    const auto prefix = static_cast<int64_t>(part.prefix.size());
    last_ = std::max<int64_t>({prefix, part.least, 1});
    if (!part.contains.empty()) {
      const ArrayPart::Contains& rule = part.contains.front();
      last_ = std::max(last_, static_cast<int64_t>(rule.from));
      most_hits_ = std::max(rule.least, rule.most.value_or(0));
    }
    if (part.most) last_ = *part.most;
  }

  int64_t states() const { return (last_ + 1) * (most_hits_ + 1); }

  Result<FormNode> from(int64_t count, int64_t hits) {
    const auto known = known_.find({count, hits});
    if (known != known_.end()) return known->second;
    const FormNode made = form_.reserve("");
    known_[{count, hits}] = made;
    std::vector<FormNode> ways;
    const auto* rule = part_.contains.empty() ? nullptr : &part_.contains.front();
    if (count >= part_.least && (rule == nullptr || hits >= rule->least)) {
      ways.push_back(form_.sequence({}));
    }
    if (!part_.most || count < *part_.most) {
      const auto place = static_cast<size_t>(count);
      const NodeId item = place < part_.prefix.size() ? part_.prefix[place] : part_.rest;
      const int64_t next = std::min(count + 1, last_);
      const bool counts = rule != nullptr && place >= rule->from;
      if (counts && (!rule->most || hits < *rule->most)) {
        PAWL_TRY(const FormNode way, step(count, expander_.both(item, rule->item), next,
                                          std::min(hits + 1, most_hits_)));
        ways.push_back(way);
      }
      const bool must_miss = counts && rule->most.has_value();
      PAWL_TRY(const FormNode way,
               step(count, must_miss ? expander_.both(item, rule->other) : item, next, hits));
      ways.push_back(way);
    }
    form_.define(made, form_.any(std::move(ways)));
    return made;
  }

 private:
  Result<FormNode> step(int64_t count, NodeId item, int64_t next, int64_t hits) {
    PAWL_TRY(const FormNode value, value_(item));
    PAWL_TRY(const FormNode rest, from(next, hits));
    if (count == 0) return form_.sequence({value, rest});
    return form_.sequence({form_.literal(","), value, rest});
  }

  const ArrayPart& part_;
  schema::Expander& expander_;
  Form& form_;
  std::function<Result<FormNode>(NodeId)> value_;
  int64_t last_ = 0, most_hits_ = 0;
  std::map<std::pair<int64_t, int64_t>, FormNode> known_;
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
  if (part.contains.size() > 1) {
    return refused(owner, "contains", "more than one of it holds in one place");
  }
  const FormNode open = form_.literal("["), close = form_.literal("]");
  if (part.contains.empty() && part.prefix.empty()) {
    PAWL_TRY(const FormNode item, value(part.rest));
    return form_.sequence({open, list(item, false, part.least, part.most), close});
  }
  if (part.contains.empty()) return prefixed(part, open, close);
  ItemStates states(part, expander_, form_, [this](NodeId node) { return value(node); });
  if (states.states() > kMaxStates) {
    return refused(owner, "contains", fmt::format("with bounds of more than {} ways", kMaxStates));
  }
  PAWL_TRY(const FormNode items, states.from(0, 0));
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
