// SPDX-License-Identifier: Apache-2.0
// Objects as nodes of a grammar: members in the order of the schema, then others, counted where
// that is asked for.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>

#include "grammar/json_writer.h"

namespace pawl::grammar {

using base::Result;
using schema::Language;
using schema::NodeId;

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

}  // namespace pawl::grammar
