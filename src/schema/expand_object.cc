// SPDX-License-Identifier: Apache-2.0
// The members of objects: which names are known, which others there can be, and what each holds.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "schema/expand.h"
#include "schema/keywords.h"

namespace pawl::schema {

using base::ErrorCode;
using base::Result;

namespace {

constexpr size_t kMaxPatterns = 24;
constexpr size_t kMaxKinds = 512;

// Every name that the branch speaks of, in the order in which it does.
std::vector<std::string> known_names(const Branch& branch) {
  std::vector<std::string> names;
  std::set<std::string, std::less<>> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (const MemberRule& rule : branch.members) {
    for (const MemberRule::Named& one : rule.named) add(one.name);
  }
  for (const std::string& name : branch.required) add(name);
  for (const auto& [name, unused] : branch.member_values) add(name);
  for (const std::string& name : branch.forbidden) add(name);
  for (const ExistsRule& rule : branch.exists) {
    for (const std::string& name : rule.but) add(name);
  }
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<bool> Expander::matches(const MemberRule::Pattern& pattern, const std::string& name) {
  const auto known = matches_.find({pattern.source, name});
  if (known != matches_.end()) return known->second;
  PAWL_TRY(const bool is_empty,
           oracle_.is_empty(Language::all_of({Language::literal(name), pattern.language})));
  matches_[{pattern.source, name}] = !is_empty;
  return !is_empty;
}

Result<Language> Expander::string_language(NodeId node) {
  PAWL_TRY(const Alternatives* parts, expand(node));
  std::vector<Language> languages;
  for (const StringPart& part : parts->strings) languages.push_back(part.language);
  return Language::any_of(std::move(languages));
}

Result<NodeId> Expander::named_value(const Branch& branch, const std::string& name) {
  Node node;
  for (const MemberRule& rule : branch.members) {
    bool is_known = false;
    for (const MemberRule::Named& one : rule.named) {
      if (one.name != name) continue;
      is_known = true;
      if (one.value) node.push_back(*one.value);
    }
    for (const MemberRule::Pattern& one : rule.patterns) {
      PAWL_TRY(const bool is_match, matches(one, name));
      if (!is_match) continue;
      is_known = true;
      if (one.value) node.push_back(*one.value);
    }
    if (!is_known && rule.rest) node.push_back(*rule.rest);
  }
  for (const auto& [known, value] : branch.member_values) {
    if (known == name) node.push_back(value);
  }
  return intern(std::move(node));
}

Result<void> Expander::add_object(const Branch& branch, Alternatives& parts) {
  ObjectPart part;
  const std::vector<std::string> names = known_names(branch);
  std::vector<Language> name_languages;
  for (const Literal& literal : branch.names) {
    PAWL_TRY(Language language, string_language(intern({literal})));
    name_languages.push_back(std::move(language));
  }
  for (const std::string& name : names) {
    if (holds(branch.forbidden, name)) continue;
    const bool is_required = holds(branch.required, name);
    bool is_allowed = true;
    if (!name_languages.empty()) {
      std::vector<Language> all = name_languages;
      all.push_back(Language::literal(name));
      PAWL_TRY(const bool is_empty, oracle_.is_empty(Language::all_of(std::move(all))));
      is_allowed = !is_empty;
    }
    if (!is_allowed && is_required) return {};  // no object at all
    if (!is_allowed) continue;
    PAWL_TRY(const NodeId value, named_value(branch, name));
    part.named.push_back({name, value, is_required});
  }
  part.least = branch.least_members;
  part.most = branch.most_members;
  PAWL_TRY_VOID(add_extras(branch, names, part));
  PAWL_TRY_VOID(add_exists(branch, part));
  parts.objects.push_back(std::move(part));
  return {};
}

// Other members, by which of the patterns their names match: one kind for each set of patterns that
// some name matches.
Result<void> Expander::add_extras(const Branch& branch, const std::vector<std::string>& taken,
                                  ObjectPart& part) {
  std::vector<const MemberRule::Pattern*> patterns;
  for (const MemberRule& rule : branch.members) {
    for (const MemberRule::Pattern& one : rule.patterns) {
      const bool is_known = std::ranges::any_of(
          patterns, [&](const MemberRule::Pattern* p) { return p->source == one.source; });
      if (!is_known) patterns.push_back(&one);
    }
  }
  std::vector<Language> common;
  if (!taken.empty()) common.push_back(Language::complement(Language::any_of_literals(taken)));
  for (const Literal& literal : branch.names) {
    PAWL_TRY(Language language, string_language(intern({literal})));
    common.push_back(std::move(language));
  }
  if (patterns.size() > kMaxPatterns) {
    return refusal(ErrorCode::kUnsupported, document_,
                   branch.done.empty() ? document_.root() : branch.done.front().schema,
                   "patternProperties",
                   fmt::format("more than {} patterns meet in one object", kMaxPatterns));
  }
  struct Kind {
    std::vector<std::string> matched;
    std::vector<Language> all;
  };
  std::vector<Kind> kinds = {{{}, common}};
  for (const MemberRule::Pattern* pattern : patterns) {
    std::vector<Kind> finer;
    for (const Kind& kind : kinds) {
      Kind in = kind, out = kind;
      in.matched.push_back(pattern->source);
      in.all.push_back(pattern->language);
      out.all.push_back(Language::complement(pattern->language));
      PAWL_TRY(const bool has_none, oracle_.is_empty(Language::all_of(in.all)));
      if (!has_none) finer.push_back(std::move(in));
      finer.push_back(std::move(out));
    }
    kinds = std::move(finer);
    if (kinds.size() > kMaxKinds) {
      return refusal(ErrorCode::kUnsupported, document_,
                     branch.done.empty() ? document_.root() : branch.done.front().schema,
                     "patternProperties",
                     fmt::format("names of more than {} kinds meet in one object", kMaxKinds));
    }
  }
  for (const Kind& kind : kinds) {
    Node node;
    for (const MemberRule& rule : branch.members) {
      bool is_known = false;
      for (const MemberRule::Pattern& one : rule.patterns) {
        if (!holds(kind.matched, one.source)) continue;
        is_known = true;
        if (one.value) node.push_back(*one.value);
      }
      if (!is_known && rule.rest) node.push_back(*rule.rest);
    }
    const NodeId value = intern(std::move(node));
    part.extras.push_back({Language::all_of(kind.all), value});
  }
  return {};
}

// A member that breaks a schema must be there: among the known ones or the others.
Result<void> Expander::add_exists(const Branch& branch, ObjectPart& part) {
  for (const ExistsRule& rule : branch.exists) {
    std::vector<Language> all;
    if (rule.name) all.push_back(*rule.name);
    if (!rule.but.empty()) all.push_back(Language::complement(Language::any_of_literals(rule.but)));
    if (rule.named_as) {
      PAWL_TRY(Language language, string_language(intern({*rule.named_as})));
      all.push_back(std::move(language));
    }
    const Language names = Language::all_of(std::move(all));
    ObjectPart::Exists exists;
    const auto with_value = [&](NodeId base) {
      Node node = nodes_[static_cast<size_t>(base)];
      if (rule.value) node.push_back(*rule.value);
      return intern(std::move(node));
    };
    for (const ObjectPart::Named& one : part.named) {
      PAWL_TRY(const bool has_none,
               oracle_.is_empty(Language::all_of({Language::literal(one.name), names})));
      if (!has_none) exists.kinds.push_back({Language::literal(one.name), with_value(one.value)});
    }
    for (const ObjectPart::Extra& one : part.extras) {
      exists.kinds.push_back({Language::all_of({one.name, names}), with_value(one.value)});
    }
    part.exists.push_back(std::move(exists));
  }
  return {};
}

}  // namespace pawl::schema
