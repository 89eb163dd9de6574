// SPDX-License-Identifier: Apache-2.0
#include "schema/pattern.h"

#include <fmt/format.h>

#include <vector>

#include "schema/pattern_tree.h"

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

using Kind = PatternNode::Kind;
using Sequence = std::vector<const PatternNode*>;

constexpr size_t kMaxSequences = 256;

bool may_be_empty(const PatternNode& node) {
  switch (node.kind) {
    case Kind::kText:
      return false;
    case Kind::kRepeat:
      return node.may_be_none || may_be_empty(node.children.front());
    case Kind::kChoice:
      for (const PatternNode& child : node.children) {
        if (may_be_empty(child)) return true;
      }
      return false;
    case Kind::kSequence:
      for (const PatternNode& child : node.children) {
        if (!may_be_empty(child)) return false;
      }
      return true;
    default:
      return true;
  }
}

// The ways through a node in which every anchor stands at the top.
Result<std::vector<Sequence>> ways(const PatternNode& node) {
  if (!node.has_anchor() || node.kind == Kind::kBegin || node.kind == Kind::kEnd) {
    return std::vector<Sequence>{{&node}};
  }
  std::vector<Sequence> all;
  if (node.kind == Kind::kChoice) {
    for (const PatternNode& child : node.children) {
      PAWL_TRY(std::vector<Sequence> some, ways(child));
      all.insert(all.end(), some.begin(), some.end());
    }
  } else if (node.kind == Kind::kRepeat) {
    if (node.text != "?") {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("an anchor that is repeated at column {}", node.column), ""};
    }
    PAWL_TRY(all, ways(node.children.front()));
    all.emplace_back();
  } else {
    all.emplace_back();
    for (const PatternNode& child : node.children) {
      PAWL_TRY(const std::vector<Sequence> some, ways(child));
      std::vector<Sequence> longer;
      for (const Sequence& head : all) {
        for (const Sequence& tail : some) {
          longer.push_back(head);
          longer.back().insert(longer.back().end(), tail.begin(), tail.end());
        }
      }
      all = std::move(longer);
      if (all.size() > kMaxSequences) break;
    }
  }
  if (all.size() > kMaxSequences) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("anchors in more than {} places at column {}", kMaxSequences, node.column), ""};
  }
  return all;
}

// What stands before ^ or behind $ can only be empty. Nothing when it cannot.
std::optional<Language> language_of(const Sequence& sequence) {
  size_t begin = 0, end = sequence.size();
  bool is_at_begin = false, is_at_end = false;
  for (size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i]->kind == Kind::kBegin) {
      is_at_begin = true;
      begin = i + 1;
    }
  }
  for (size_t i = sequence.size(); i-- > 0;) {
    if (sequence[i]->kind == Kind::kEnd) {
      is_at_end = true;
      end = i;
    }
  }
  std::string expression = is_at_begin ? "" : "(?s:.*)";
  for (size_t i = 0; i < sequence.size(); ++i) {
    const bool is_inside = i >= begin && i < end;
    if (is_inside) expression += sequence[i]->expression();
    if (!is_inside && !may_be_empty(*sequence[i])) return std::nullopt;
  }
  if (!is_at_end) expression += "(?s:.*)";
  return Language::regex(std::move(expression));
}

}  // namespace

Result<Language> pattern_language(std::string_view pattern) {
  PAWL_TRY(const PatternNode tree, parse_pattern(pattern));
  PAWL_TRY(const std::vector<Sequence> sequences, ways(tree));
  std::vector<Language> parts;
  for (const Sequence& sequence : sequences) {
    if (auto language = language_of(sequence)) parts.push_back(std::move(*language));
  }
  return Language::any_of(std::move(parts));
}

Result<Language> whole_text_language(std::string_view pattern) {
  return pattern_language(fmt::format("^(?:{})$", pattern));
}

}  // namespace pawl::schema
