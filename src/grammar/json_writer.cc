// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "base/utf8.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Result;
using schema::Alternatives;
using schema::ArrayPart;
using schema::Language;
using schema::NodeId;

namespace {

// Places times counts, of one array or object.
constexpr int64_t kMaxStates = 50'000;
constexpr size_t kMaxForms = 100'000;

}  // namespace

Error JsonWriter::refused(NodeId owner, std::string_view keyword, std::string_view what) const {
  const std::string path = expander_.path(owner);
  return {
      ErrorCode::kUnsupported,
      fmt::format("'{}' at {}: {}", keyword, base::quoted_text(path.empty() ? "/" : path), what),
      path};
}

Result<FormNode> JsonWriter::value(NodeId node) {
  const auto known = values_.find(node);
  if (known != values_.end()) return known->second;
  const FormNode made = form_.reserve(expander_.path(node));
  values_.emplace(node, made);
  waiting_.push_back(node);
  return made;
}

Result<void> JsonWriter::finish() {
  while (!waiting_.empty()) {
    const NodeId node = waiting_.back();
    waiting_.pop_back();
    PAWL_TRY(const FormNode meaning, written(node));
    form_.define(values_.at(node), meaning);
    if (form_.size() > kMaxForms) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("the schema becomes a grammar of more than {} parts", kMaxForms),
                   ""};
    }
  }
  return {};
}

Result<FormNode> JsonWriter::written(NodeId node) {
  PAWL_TRY(const Alternatives* found, expander_.expand(node));
  const Alternatives parts = *found;  // looking into others may move it
  std::vector<FormNode> options;
  if (parts.may_be_null) options.push_back(form_.literal("null"));
  if (parts.may_be_true) options.push_back(form_.literal("true"));
  if (parts.may_be_false) options.push_back(form_.literal("false"));
  std::vector<Language> numbers, strings;
  for (const schema::NumberPart& part : parts.numbers) numbers.push_back(part.language);
  for (const schema::StringPart& part : parts.strings) strings.push_back(part.language);
  if (!numbers.empty()) options.push_back(form_.lexeme(Language::any_of(std::move(numbers))));
  if (!strings.empty()) {
    options.push_back(form_.lexeme(Language::any_of(std::move(strings)).quoted()));
  }
  for (const ArrayPart& part : parts.arrays) {
    PAWL_TRY(const FormNode option, array(part, node));
    options.push_back(option);
  }
  for (const ObjectPart& part : parts.objects) {
    PAWL_TRY(const FormNode option, object(part, node));
    options.push_back(option);
  }
  return form_.any(std::move(options));
}

FormNode JsonWriter::list(FormNode item, bool has_before, int64_t least,
                          std::optional<int64_t> most) {
  const FormNode with_comma = form_.sequence({form_.literal(","), item});
  if (has_before) return form_.repeat(with_comma, least, most);
  if (most && *most == 0) return form_.sequence({});
  const std::optional<int64_t> more = most ? std::optional(*most - 1) : std::nullopt;
  const FormNode some =
      form_.sequence({item, form_.repeat(with_comma, std::max<int64_t>(least - 1, 0), more)});
  return least > 0 ? some : form_.any({form_.sequence({}), some});
}

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

namespace {

// Members of an object one by one: which of the named ones comes next, how many there were.
class MemberStates {
 public:
  struct Member {
    FormNode node;
    bool is_required;
  };
  MemberStates(const schema::ObjectPart& part, std::vector<Member> members,
               std::function<FormNode(int64_t)> others, Form& form)
      : part_(part), members_(std::move(members)), others_(std::move(others)), form_(form) {
    cap_ = std::max<int64_t>({1, part.least, part.most.value_or(0)});
  }

  int64_t states() const { return (static_cast<int64_t>(members_.size()) + 1) * (cap_ + 1); }

  FormNode all() {
    // From the last on, so that no recursion is as deep as the object is long.
    std::vector<FormNode> after(static_cast<size_t>(cap_) + 1);
    for (int64_t count = 0; count <= cap_; ++count) {
      after[static_cast<size_t>(count)] = others_(count);
    }
    for (size_t i = members_.size(); i-- > 0;) {
      std::vector<FormNode> here(after.size());
      for (int64_t count = 0; count <= cap_; ++count) {
        std::vector<FormNode> ways;
        if (!part_.most || count < *part_.most) {
          const FormNode rest = after[static_cast<size_t>(std::min(count + 1, cap_))];
          ways.push_back(count == 0 ? form_.sequence({members_[i].node, rest})
                                    : form_.sequence({form_.literal(","), members_[i].node, rest}));
        }
        if (!members_[i].is_required) ways.push_back(after[static_cast<size_t>(count)]);
        here[static_cast<size_t>(count)] = form_.any(std::move(ways));
      }
      after = std::move(here);
    }
    return after[0];
  }

 private:
  const schema::ObjectPart& part_;
  std::vector<Member> members_;
  std::function<FormNode(int64_t)> others_;
  Form& form_;
  int64_t cap_ = 1;
};

}  // namespace

Result<FormNode> JsonWriter::member(const Language& name, NodeId node) {
  PAWL_TRY(const FormNode held, value(node));
  return form_.sequence({form_.lexeme(name.quoted()), form_.literal(":"), held});
}

Result<FormNode> JsonWriter::object(const ObjectPart& part, NodeId owner) {
  return with_one_of(part, {}, owner);
}

// One way for each kind of member that would do.
Result<FormNode> JsonWriter::with_one_of(ObjectPart part, std::vector<Kinds> wanted, NodeId owner) {
  if (part.exists.empty()) return with_members(part, wanted, owner);
  const ObjectPart::Exists exists = std::move(part.exists.back());
  part.exists.pop_back();
  std::vector<FormNode> options;
  Kinds others;
  for (const ObjectPart::Extra& kind : exists.kinds) {
    const auto named = std::ranges::find_if(part.named, [&](const ObjectPart::Named& one) {
      return Language::literal(one.name).form().dump() == kind.name.form().dump();
    });
    if (named == part.named.end()) {
      others.push_back(kind);
      continue;
    }
    ObjectPart with = part;
    ObjectPart::Named& one = with.named[static_cast<size_t>(named - part.named.begin())];
    one.is_required = true;
    one.value = expander_.both(one.value, kind.value);
    PAWL_TRY(const FormNode option, with_one_of(std::move(with), wanted, owner));
    options.push_back(option);
  }
  if (!others.empty()) {
    wanted.push_back(std::move(others));
    PAWL_TRY(const FormNode option, with_one_of(std::move(part), std::move(wanted), owner));
    options.push_back(option);
  }
  return form_.any(std::move(options));
}

namespace {

// Members beside the named ones, in any order, among which there is one of each wanted kind.
class WantedMembers {
 public:
  // `other` any member; `found[s]` a member that is of every kind in the set s, as bits.
  WantedMembers(FormNode other, std::vector<FormNode> found, const schema::ObjectPart& part,
                Form& form)
      : other_(other), found_(std::move(found)), part_(part), form_(form) {}

  // After `count` members, with the kinds of `wanted` still to come.
  FormNode after(int64_t count, size_t wanted) {
    if (wanted == 0) return list(count, std::max<int64_t>(part_.least - count, 0), room(count));
    const auto known = known_.find({count, wanted});
    if (known != known_.end()) return known->second;
    std::vector<FormNode> ways;
    for (size_t set = wanted; set > 0; set = (set - 1) & wanted) {
      // So many others before it; where enough are there already, their number does not matter.
      const int64_t most = part_.most ? *part_.most - count - 1 : std::max<int64_t>(part_.least, 1);
      for (int64_t before = 0; before <= most; ++before) {
        const int64_t now = count + before;
        const bool is_rest = !part_.most && before == most;
        const FormNode others = list(count, before, is_rest ? std::nullopt : std::optional(before));
        std::vector<FormNode> parts;
        if (before > 0) parts.push_back(others);
        if (now > 0) parts.push_back(form_.literal(","));
        parts.push_back(found_[set]);
        parts.push_back(after(now + 1, wanted & ~set));
        ways.push_back(form_.sequence(std::move(parts)));
      }
    }
    return known_[{count, wanted}] = form_.any(std::move(ways));
  }

 private:
  std::optional<int64_t> room(int64_t count) const {
    return part_.most ? std::optional(std::max<int64_t>(*part_.most - count, 0)) : std::nullopt;
  }

  FormNode list(int64_t count, int64_t least, std::optional<int64_t> most) {
    const FormNode with_comma = form_.sequence({form_.literal(","), other_});
    if (count > 0) return form_.repeat(with_comma, least, most);
    if (most && *most == 0) return form_.sequence({});
    const std::optional<int64_t> more = most ? std::optional(*most - 1) : std::nullopt;
    const FormNode some =
        form_.sequence({other_, form_.repeat(with_comma, std::max<int64_t>(least - 1, 0), more)});
    return least > 0 ? some : form_.any({form_.sequence({}), some});
  }

  FormNode other_;
  std::vector<FormNode> found_;
  const schema::ObjectPart& part_;
  Form& form_;
  std::map<std::pair<int64_t, size_t>, FormNode> known_;
};

constexpr size_t kMaxWanted = 4;
constexpr int64_t kMaxCountBesideWanted = 16;

}  // namespace

Result<FormNode> JsonWriter::with_members(const ObjectPart& part, const std::vector<Kinds>& wanted,
                                          NodeId owner) {
  if (wanted.size() > kMaxWanted) {
    return refused(
        owner, "additionalProperties",
        fmt::format("more than {} members that are not named must be there", kMaxWanted));
  }
  if (!wanted.empty() && std::max(part.most.value_or(0), part.least) > kMaxCountBesideWanted) {
    return refused(owner, part.most ? "maxProperties" : "minProperties",
                   "beside a member that must be there and is not named");
  }
  std::vector<MemberStates::Member> members;
  for (const ObjectPart::Named& one : part.named) {
    PAWL_TRY(const FormNode node, member(Language::literal(one.name), one.value));
    members.push_back({node, one.is_required});
  }
  std::vector<FormNode> kinds;
  for (const ObjectPart::Extra& one : part.extras) {
    PAWL_TRY(const FormNode node, member(one.name, one.value));
    kinds.push_back(node);
  }
  PAWL_TRY(std::vector<FormNode> found, members_of_all(wanted));
  WantedMembers others(form_.any(std::move(kinds)), std::move(found), part, form_);
  const size_t all_wanted = (size_t{1} << wanted.size()) - 1;
  MemberStates states(
      part, std::move(members), [&](int64_t count) { return others.after(count, all_wanted); },
      form_);
  if (states.states() > kMaxStates) {
    return refused(owner, part.most ? "maxProperties" : "minProperties",
                   fmt::format("with members of more than {} ways", kMaxStates));
  }
  const FormNode all = states.all();
  return form_.sequence({form_.literal("{"), all, form_.literal("}")});
}

// For each set of wanted kinds, as bits: a member that is of all of them.
Result<std::vector<FormNode>> JsonWriter::members_of_all(const std::vector<Kinds>& wanted) {
  std::vector<Kinds> sets(size_t{1} << wanted.size());
  std::vector<FormNode> nodes(1, 0);
  for (size_t set = 1; set < sets.size(); ++set) {
    const size_t rest = set & (set - 1);
    const Kinds& kinds = wanted[static_cast<size_t>(std::countr_zero(set))];
    if (rest == 0) sets[set] = kinds;
    for (const ObjectPart::Extra& a : kinds) {
      for (const ObjectPart::Extra& b : sets[rest]) {
        sets[set].push_back({Language::all_of({a.name, b.name}), expander_.both(a.value, b.value)});
      }
    }
    std::vector<FormNode> options;
    for (const ObjectPart::Extra& one : sets[set]) {
      PAWL_TRY(const FormNode node, member(one.name, one.value));
      options.push_back(node);
    }
    nodes.push_back(form_.any(std::move(options)));
  }
  return nodes;
}

Result<std::vector<std::string>> JsonWriter::value_list(NodeId node) {
  PAWL_TRY(const Alternatives* parts, expander_.expand(node));
  std::vector<std::string> list;
  if (!parts->arrays.empty() || !parts->objects.empty()) return list;
  for (const schema::NumberPart& part : parts->numbers) {
    if (part.only.empty()) return std::vector<std::string>();
    list.insert(list.end(), part.only.begin(), part.only.end());
  }
  for (const schema::StringPart& part : parts->strings) {
    if (part.only.empty()) return std::vector<std::string>();
    for (const std::string& text : part.only) list.push_back(base::Json(text).dump());
  }
  if (parts->may_be_null) list.emplace_back("null");
  if (parts->may_be_true) list.emplace_back("true");
  if (parts->may_be_false) list.emplace_back("false");
  std::ranges::sort(list);
  const auto last = std::ranges::unique(list);
  list.erase(last.begin(), last.end());
  return list;
}

Result<GuardShapes> JsonWriter::shapes(NodeId root) {
  GuardShapes made;
  if (!has_unique_) return made;
  std::map<NodeId, int32_t> numbers = {{root, 0}};
  std::vector<NodeId> order = {root};
  const auto number = [&](NodeId node) {
    const auto [known, is_new] = numbers.try_emplace(node, static_cast<int32_t>(order.size()));
    if (is_new) order.push_back(node);
    return known->second;
  };
  for (size_t next = 0; next < order.size(); ++next) {
    PAWL_TRY(const Alternatives* found, expander_.expand(order[next]));
    const Alternatives parts = *found;
    GuardShapes::Shape shape;
    for (const ArrayPart& part : parts.arrays) {
      GuardShapes::ArrayShape one;
      one.is_unique = part.unique.has_value();
      for (const NodeId item : part.prefix) one.prefix.push_back(number(item));
      one.rest = number(part.rest);
      if (part.unique && part.prefix.empty()) {
        PAWL_TRY(one.only, value_list(part.rest));
      }
      shape.arrays.push_back(std::move(one));
    }
    for (const ObjectPart& part : parts.objects) {
      GuardShapes::ObjectShape one;
      for (const ObjectPart::Named& named : part.named) {
        one.named.emplace(base::Json(named.name).dump(), number(named.value));
      }
      for (const ObjectPart::Extra& extra : part.extras) one.others.push_back(number(extra.value));
      shape.objects.push_back(std::move(one));
    }
    made.shapes.push_back(std::move(shape));
  }
  return made;
}

}  // namespace pawl::grammar
