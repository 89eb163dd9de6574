// SPDX-License-Identifier: Apache-2.0
#include "schema/expand.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "schema/keywords.h"
#include "schema/number_language.h"

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A branch with what is left to be done, the next step last.
struct Open {
  Branch branch;
  Steps todo;
};

void push_reversed(const Steps& steps, Steps& todo) {
  todo.insert(todo.end(), steps.rbegin(), steps.rend());
}

bool is_active(const Branch& branch, Literal literal) {
  return std::ranges::find(branch.active, literal, &OpenLiteral::literal) != branch.active.end();
}

bool is_done(const Branch& branch, Literal literal) {
  return std::ranges::find(branch.done, literal) != branch.done.end();
}

// Nothing more to be said of it. Where a schema asks what was evaluated, that counts only which
// came in since then.
bool is_said(const Branch& branch, Literal literal) {
  const size_t from = branch.evaluated_from.empty() ? 0 : branch.evaluated_from.back().done;
  return std::find(branch.done.begin() + static_cast<std::ptrdiff_t>(from), branch.done.end(),
                   literal) != branch.done.end();
}

void open_literal(Branch& branch, Literal literal) {
  branch.active.push_back({literal, branch.members.size(), branch.items.size(),
                           branch.contains.size(), branch.done.size()});
}

// What was said while a schema was refuted evaluates nothing, and is said again where it holds.
void close_literal(Branch& branch, Literal literal) {
  const OpenLiteral before = branch.active.back();
  branch.active.pop_back();
  if (!literal.holds && !branch.evaluated_from.empty()) {
    for (size_t i = before.members; i < branch.members.size(); ++i) {
      branch.members[i].is_silent = true;
    }
    for (size_t i = before.items; i < branch.items.size(); ++i) branch.items[i].is_silent = true;
    for (size_t i = before.contains; i < branch.contains.size(); ++i) {
      branch.contains[i].is_silent = true;
    }
    std::erase_if(branch.done, [&, at = size_t{0}](const Literal& one) mutable {
      return at++ >= before.done && one.holds;
    });
  }
  branch.done.push_back(literal);
}

// Two demands that cannot both be met leave the type out; the other types stay.
void drop_impossible(Branch& branch) {
  StringDemand& string = branch.string;
  if ((string.only && string.only->empty()) || (string.most && *string.most < string.least)) {
    branch.types &= static_cast<uint8_t>(~kStringBit);
  }
  if (branch.most_items && *branch.most_items < branch.least_items) {
    branch.types &= static_cast<uint8_t>(~kArrayBit);
  }
  if (branch.most_members && *branch.most_members < branch.least_members) {
    branch.types &= static_cast<uint8_t>(~kObjectBit);
  }
  for (const std::string& name : branch.forbidden) {
    if (std::ranges::find(branch.required, name) != branch.required.end()) {
      branch.types &= static_cast<uint8_t>(~kObjectBit);
    }
  }
}

}  // namespace

NodeId Expander::intern(Node node) {
  std::ranges::sort(node);
  const auto last = std::unique(node.begin(), node.end());
  node.erase(last, node.end());
  const auto known = ids_.find(node);
  if (known != ids_.end()) return known->second;
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(node);
  ids_.emplace(std::move(node), id);
  return id;
}

NodeId Expander::root() {
  return intern({Literal{document_.root()}});
}

NodeId Expander::both(NodeId a, NodeId b) {
  Node node = nodes_[static_cast<size_t>(a)];
  const Node& other = nodes_[static_cast<size_t>(b)];
  node.insert(node.end(), other.begin(), other.end());
  return intern(std::move(node));
}

std::string Expander::path(NodeId node) const {
  const Node& literals = nodes_[static_cast<size_t>(node)];
  return literals.empty() ? "" : document_.path(literals.front().schema);
}

Result<Steps> Expander::steps_of(Literal literal, const Branch& branch) {
  KeywordContext context{document_, notes_,
                         [this](Literal a, Literal b) { return exclude_each_other(a, b); },
                         !branch.evaluated_from.empty()};
  if (literal.holds) return demands(literal.schema, context);
  return refutations(literal.schema, context);
}

Result<std::vector<Branch>> Expander::branches_of(const Node& node) {
  std::vector<Branch> done;
  std::vector<Open> open(1);
  for (auto literal = node.rbegin(); literal != node.rend(); ++literal) {
    open[0].todo.push_back(step(*literal));
  }
  while (!open.empty()) {
    Open one = std::move(open.back());
    open.pop_back();
    bool is_alive = true;
    while (is_alive && !one.todo.empty()) {
      const Step next = std::move(one.todo.back());
      one.todo.pop_back();
      if (next.apply) {
        next.apply(one.branch);
        drop_impossible(one.branch);
        is_alive = one.branch.types != 0;
      } else if (next.is_end) {
        close_literal(one.branch, *next.literal);
      } else if (next.literal) {
        const Literal literal = *next.literal;
        if (is_active(one.branch, literal)) {
          return refusal(ErrorCode::kInvalidArgument, document_, literal.schema, "$ref",
                         "the schema refers to itself, so no finite text obeys it");
        }
        if (is_done(one.branch, literal.negated())) is_alive = false;
        if (!is_alive || is_said(one.branch, literal)) continue;
        PAWL_TRY(const Steps steps, steps_of(literal, one.branch));
        open_literal(one.branch, literal);
        one.todo.push_back({.literal = literal, .is_end = true, .choices = {}, .apply = {}});
        push_reversed(steps, one.todo);
      } else {
        for (auto way = next.choices.rbegin(); way != next.choices.rend(); ++way) {
          if (++branches_ > limits_.branches) {
            return refusal(ErrorCode::kUnsupported, document_,
                           node.empty() ? document_.root() : node.front().schema, "anyOf",
                           fmt::format("the schemas that hold together leave more than {} ways",
                                       limits_.branches));
          }
          open.push_back(one);
          push_reversed(*way, open.back().todo);
        }
        is_alive = false;
      }
    }
    if (is_alive) done.push_back(std::move(one.branch));
  }
  return done;
}

Result<const Alternatives*> Expander::expand(NodeId node) {
  const auto known = expanded_.find(node);
  if (known != expanded_.end()) return &known->second;
  if (static_cast<int64_t>(expanded_.size()) > limits_.nodes) {
    return refusal(ErrorCode::kUnsupported, document_, document_.root(), "schema",
                   fmt::format("more than {} sets of schemas meet in one place", limits_.nodes));
  }
  const Node literals = nodes_[static_cast<size_t>(node)];
  PAWL_TRY(std::vector<Branch> branches, branches_of(literals));
  Alternatives parts;
  for (Branch& branch : branches) PAWL_TRY_VOID(add_parts(branch, parts));
  return &expanded_.emplace(node, std::move(parts)).first->second;
}

namespace {

template <typename Part>
void add_once(std::vector<Part>& parts, Part part) {
  const std::string form = part.language.form().dump();
  for (const Part& known : parts) {
    if (known.language.form().dump() == form) return;
  }
  parts.push_back(std::move(part));
}

}  // namespace

Result<void> Expander::add_parts(Branch& branch, Alternatives& parts) {
  parts.may_be_null |= (branch.types & kNullBit) != 0;
  parts.may_be_true |= (branch.types & kTrueBit) != 0;
  parts.may_be_false |= (branch.types & kFalseBit) != 0;
  if ((branch.types & kNumberBits) != 0) {
    std::vector<Language> all = branch.numbers;
    if ((branch.types & kNumberBits) == kIntegerBit) all.push_back(integers());
    if ((branch.types & kNumberBits) == kFractionBit) all.push_back(fractions());
    if (all.empty()) all.push_back(any_number());
    std::vector<std::string> only;
    if (branch.number_lists == 1 && branch.numbers.size() == 1) only = *branch.only_numbers;
    std::erase_if(only, [&](const std::string& number) {
      const bool is_fraction = number.find('.') != std::string::npos;
      return (branch.types & (is_fraction ? kFractionBit : kIntegerBit)) == 0;
    });
    add_once(parts.numbers, {Language::all_of(std::move(all)), std::move(only)});
  }
  if ((branch.types & kStringBit) != 0) {
    const StringDemand& string = branch.string;
    std::vector<Language> all = string.languages;
    if (string.least > 0 || string.most) all.push_back(Language::length(string.least, string.most));
    std::vector<std::string> only;
    if (string.only && all.empty()) only = *string.only;
    if (string.only) all.push_back(Language::any_of_literals(*string.only));
    add_once(parts.strings, {Language::all_of(std::move(all)), std::move(only)});
  }
  if ((branch.types & kArrayBit) != 0) PAWL_TRY_VOID(add_array(branch, parts));
  if ((branch.types & kObjectBit) != 0) PAWL_TRY_VOID(add_object(branch, parts));
  return {};
}

Result<void> Expander::add_array(const Branch& branch, Alternatives& parts) {
  ArrayPart part;
  size_t longest = 0;
  for (const ItemRule& rule : branch.items) longest = std::max(longest, rule.prefix.size());
  for (size_t i = 0; i <= longest; ++i) {
    Node node;
    for (const ItemRule& rule : branch.items) {
      const auto& literal = i < rule.prefix.size() ? rule.prefix[i] : rule.rest;
      if (literal) node.push_back(*literal);
    }
    const NodeId id = intern(std::move(node));
    if (i < longest) part.prefix.push_back(id);
    part.rest = id;
  }
  part.least = branch.least_items;
  part.most = branch.most_items;
  for (const ContainsRule& rule : branch.contains) {
    if (rule.least == 0 && !rule.most) continue;
    part.contains.push_back(
        {intern({rule.item}), intern({rule.item.negated()}), rule.from, rule.least, rule.most});
  }
  part.unique = branch.unique;
  parts.arrays.push_back(std::move(part));
  return {};
}

}  // namespace pawl::schema
