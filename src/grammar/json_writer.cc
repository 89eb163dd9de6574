// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
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

Result<FormNode> JsonWriter::array(const ArrayPart& part, NodeId owner) {
  if (part.unique && part.most.value_or(2) > 1) {
    return refused(owner, "uniqueItems", "is not supported where there can be two items");
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
  if (!part.exists.empty()) return with_one_of(part, owner);
  return with_members(part, {}, owner);
}

// One way for each kind of member that would do.
Result<FormNode> JsonWriter::with_one_of(ObjectPart part, NodeId owner) {
  const ObjectPart::Exists wanted = std::move(part.exists.back());
  part.exists.pop_back();
  std::vector<FormNode> options;
  std::vector<FormNode> others;
  for (const ObjectPart::Extra& kind : wanted.kinds) {
    const auto named = std::ranges::find_if(part.named, [&](const ObjectPart::Named& one) {
      return Language::literal(one.name).form().dump() == kind.name.form().dump();
    });
    if (named == part.named.end()) {
      PAWL_TRY(const FormNode other, member(kind.name, kind.value));
      others.push_back(other);
      continue;
    }
    ObjectPart with = part;
    ObjectPart::Named& one = with.named[static_cast<size_t>(named - part.named.begin())];
    one.is_required = true;
    one.value = kind.value;
    PAWL_TRY(const FormNode option, object(with, owner));
    options.push_back(option);
  }
  if (!others.empty() && !part.exists.empty()) {
    return refused(owner, "additionalProperties", "two members that are not named must be there");
  }
  if (!others.empty()) {
    PAWL_TRY(const FormNode option, with_members(part, form_.any(std::move(others)), owner));
    options.push_back(option);
  }
  return form_.any(std::move(options));
}

Result<FormNode> JsonWriter::with_members(const ObjectPart& part, std::optional<FormNode> wanted,
                                          NodeId owner) {
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
  const FormNode other = form_.any(std::move(kinds));
  if (wanted && (part.most || part.least > 1)) {
    return refused(owner, part.most ? "maxProperties" : "minProperties",
                   "beside a member that must be there and is not named");
  }
  const auto others = [&](int64_t count) {
    if (!wanted) {
      const std::optional<int64_t> room =
          part.most ? std::optional(std::max<int64_t>(*part.most - count, 0)) : std::nullopt;
      return list(other, count > 0, std::max<int64_t>(part.least - count, 0), room);
    }
    const FormNode more = list(other, true, 0, {});
    const FormNode later = form_.sequence({more, form_.literal(","), *wanted, more});
    if (count > 0) return later;
    return form_.any({form_.sequence({*wanted, more}), form_.sequence({other, later})});
  };
  MemberStates states(part, std::move(members), others, form_);
  if (states.states() > kMaxStates) {
    return refused(owner, part.most ? "maxProperties" : "minProperties",
                   fmt::format("with members of more than {} ways", kMaxStates));
  }
  const FormNode all = states.all();
  return form_.sequence({form_.literal("{"), all, form_.literal("}")});
}

}  // namespace pawl::grammar
