// SPDX-License-Identifier: Apache-2.0
#include "grammar/form.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/utf8.h"

namespace pawl::grammar {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using schema::Language;

namespace {

// Only what is made with these can turn out to be empty.
bool may_be_empty(const Json& form) {
  const Json::Object* members = form.as_object();
  if (members == nullptr) {
    return std::ranges::any_of(*form.as_array(), [](const Json& item) {
      return item.as_object() != nullptr && may_be_empty(item);
    });
  }
  const auto& [kind, what] = members->front();
  if (kind == "and" || kind == "not") return true;
  if (kind == "or") {
    return std::ranges::all_of(*what.as_array(),
                               [](const Json& part) { return may_be_empty(part); });
  }
  if (kind == "literal" || kind == "multiple") return false;
  if (kind == "regex") return what.as_string()->find("[^\\x{0}-") != std::string::npos;
  return may_be_empty(what);
}

}  // namespace

FormNode Form::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<FormNode>(nodes_.size()) - 1;
}

FormNode Form::literal(std::string_view text) {
  return lexeme(Language::literal(text));
}

FormNode Form::lexeme(const Language& language) {
  const auto [known, is_new] = lexemes_.try_emplace(language.form().dump(), 0);
  if (is_new) known->second = add({.kind = Kind::kLexeme, .language = language});
  return known->second;
}

FormNode Form::sequence(std::vector<FormNode> parts) {
  if (parts.size() == 1) return parts.front();
  return add({.kind = Kind::kSequence, .parts = std::move(parts)});
}

FormNode Form::any(std::vector<FormNode> options) {
  if (options.size() == 1) return options.front();
  return add({.kind = Kind::kAny, .parts = std::move(options)});
}

FormNode Form::repeat(FormNode item, int64_t least, std::optional<int64_t> most) {
  return add({.kind = Kind::kRepeat, .parts = {item}, .least = least, .most = most});
}

FormNode Form::reserve(std::string label) {
  return add({.kind = Kind::kAny, .label = std::move(label), .has_label = true});
}

void Form::define(FormNode reserved, FormNode meaning) {
  nodes_[static_cast<size_t>(reserved)].parts = {meaning};
}

// Which nodes some finite text comes of.
Result<std::vector<bool>> Form::productive(schema::LanguageOracle& oracle) const {
  std::vector<bool> known(nodes_.size(), false);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.kind != Kind::kLexeme) continue;
    bool is_empty = false;
    if (may_be_empty(node.language->form())) {
      PAWL_TRY(is_empty, oracle.is_empty(*node.language));
    }
    known[i] = !is_empty;
  }
  const auto is_known = [&](FormNode part) { return known[static_cast<size_t>(part)]; };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = nodes_[i];
      if (known[i] || node.kind == Kind::kLexeme) continue;
      known[i] = node.kind == Kind::kAny        ? std::ranges::any_of(node.parts, is_known)
                 : node.kind == Kind::kSequence ? std::ranges::all_of(node.parts, is_known)
                                                : node.least == 0 || is_known(node.parts[0]);
      has_changed |= known[i];
    }
  }
  return known;
}

// The innermost labelled node on the way to what has no text.
std::string Form::blame(FormNode start, const std::vector<bool>& productive) const {
  std::string label;
  std::set<FormNode> seen;
  for (FormNode node = start; seen.insert(node).second;) {
    const Node& at = nodes_[static_cast<size_t>(node)];
    if (at.has_label) label = at.label;
    const auto part = std::ranges::find_if(
        at.parts, [&](FormNode p) { return !productive[static_cast<size_t>(p)]; });
    if (part == at.parts.end()) break;
    node = *part;
  }
  return label;
}

Result<std::string> Form::text(FormNode start, const std::optional<Language>& skip,
                               schema::LanguageOracle& oracle) const {
  PAWL_TRY(const std::vector<bool> known, productive(oracle));
  const auto is_known = [&](FormNode part) { return known[static_cast<size_t>(part)]; };
  if (!is_known(start)) {
    const std::string where = blame(start, known);
    return Error{
        ErrorCode::kInvalidArgument,
        "no finite text obeys: unsatisfiable at " + base::quoted_text(where.empty() ? "/" : where),
        where};
  }
  // Numbers in the order in which nodes are reached.
  std::vector<FormNode> order = {start};
  std::map<FormNode, int64_t> numbers = {{start, 0}};
  Json nodes = Json::array();
  for (size_t next = 0; next < order.size(); ++next) {
    const Node& node = nodes_[static_cast<size_t>(order[next])];
    Json parts = Json::array();
    for (const FormNode part : node.parts) {
      if (!is_known(part)) continue;
      const auto [number, is_new] = numbers.try_emplace(part, static_cast<int64_t>(order.size()));
      if (is_new) order.push_back(part);
      parts.push_back(number->second);
    }
    Json form;
    if (node.kind == Kind::kLexeme) {
      form["lexeme"] = node.language->form();
    } else if (node.kind == Kind::kAny) {
      form["any"] = std::move(parts);
    } else if (node.kind == Kind::kSequence || parts.as_array()->empty()) {
      form["seq"] = std::move(parts);
    } else {
      parts.push_back(node.least);
      parts.push_back(node.most);
      form["repeat"] = std::move(parts);
    }
    nodes.push_back(std::move(form));
  }
  Json form;
  form["skip"] = skip ? skip->form() : Json();
  form["start"] = 0;
  form["nodes"] = std::move(nodes);
  return form.dump();
}

}  // namespace pawl::grammar
