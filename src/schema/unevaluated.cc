// SPDX-License-Identifier: Apache-2.0
#include "schema/unevaluated.h"

#include <algorithm>

namespace pawl::schema {
namespace {

// Names that rules speak of; nothing when they speak of all.
std::optional<MemberRule> evaluated_members(const Branch& branch, size_t first) {
  MemberRule found;
  for (size_t i = first; i < branch.members.size(); ++i) {
    const MemberRule& rule = branch.members[i];
    if (rule.is_silent) continue;
    if (rule.evaluates_rest) return std::nullopt;
    for (const MemberRule::Named& one : rule.named) found.named.push_back({one.name, {}});
    for (const MemberRule::Pattern& one : rule.patterns) {
      found.patterns.push_back({one.source, one.language, {}});
    }
  }
  return found;
}

struct EvaluatedItems {
  size_t first = 0;  // the first place that no rule speaks of
  Literal rest;      // what an item from there on is: a hit of `contains`, or what is asked of it
};
std::optional<EvaluatedItems> evaluated_items(Document& document, const Branch& branch,
                                              const OpenLiteral& before, SchemaId asked) {
  EvaluatedItems found;
  for (size_t i = before.items; i < branch.items.size(); ++i) {
    if (branch.items[i].is_silent) continue;
    if (branch.items[i].evaluates_rest) return std::nullopt;
    found.first = std::max(found.first, branch.items[i].prefix.size());
  }
  std::vector<SchemaId> either = {asked};
  for (size_t i = before.contains; i < branch.contains.size(); ++i) {
    const ContainsRule& rule = branch.contains[i];
    if (rule.evaluates && !rule.is_silent) either.push_back(rule.item.schema);
  }
  found.rest = {either.size() == 1 ? asked : document.any_of(either)};
  return found;
}

OpenLiteral taken_from(Branch& branch) {
  const OpenLiteral before = branch.evaluated_from.back();
  branch.evaluated_from.pop_back();
  return before;
}

}  // namespace

Step begin_unevaluated() {
  return step([](Branch& branch) { branch.evaluated_from.push_back(branch.active.back()); });
}

Step end_unevaluated(Document& document, Unevaluated asked) {
  return step([&document, asked](Branch& branch) {
    const OpenLiteral before = taken_from(branch);
    auto members = asked.members ? evaluated_members(branch, before.members) : std::nullopt;
    if (members) {
      members->rest = Literal{*asked.members};
      members->evaluates_rest = true;
      branch.members.push_back(std::move(*members));
    }
    if (!asked.items) return;
    const auto items = evaluated_items(document, branch, before, *asked.items);
    if (!items) return;
    ItemRule rule;
    rule.prefix.resize(items->first);
    rule.rest = items->rest;
    rule.evaluates_rest = true;
    branch.items.push_back(std::move(rule));
  });
}

Step break_unevaluated(Document& document, Unevaluated asked) {
  return step([&document, asked](Branch& branch) {
    const OpenLiteral before = taken_from(branch);
    branch.types &= asked.members ? kObjectBit : kArrayBit;
    if (!asked.members) {
      const auto items = evaluated_items(document, branch, before, *asked.items);
      if (!items) {
        branch.types = 0;
        return;
      }
      ContainsRule rule;
      rule.item = items->rest.negated();
      rule.from = items->first;
      branch.contains.push_back(std::move(rule));
      return;
    }
    const auto members = evaluated_members(branch, before.members);
    if (!members) {
      branch.types = 0;
      return;
    }
    ExistsRule rule;
    std::vector<Language> patterns;
    for (const MemberRule::Pattern& one : members->patterns) patterns.push_back(one.language);
    if (!patterns.empty()) rule.name = Language::complement(Language::any_of(std::move(patterns)));
    for (const MemberRule::Named& one : members->named) rule.but.push_back(one.name);
    rule.value = Literal{*asked.members, false};
    branch.exists.push_back(std::move(rule));
  });
}

}  // namespace pawl::schema
