// SPDX-License-Identifier: Apache-2.0
#include "schema/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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
  const bool is_inner =
      node.kind == Kind::kChoice || node.kind == Kind::kRepeat || node.kind == Kind::kSequence;
  if (!node.has_anchor() || !is_inner) {
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

// What stands before ^ or behind $ can only be empty: what looks around from there looks from the
// very begin or end. Nothing when it cannot be empty.
struct Bounded {
  Sequence items;
  bool is_at_begin = false, is_at_end = false;
};
std::optional<Bounded> bounded(const Sequence& sequence) {
  Bounded found;
  size_t begin = 0, end = sequence.size();
  for (size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i]->kind == Kind::kBegin) {
      found.is_at_begin = true;
      begin = i + 1;
    }
  }
  for (size_t i = sequence.size(); i-- > 0;) {
    if (sequence[i]->kind == Kind::kEnd) {
      found.is_at_end = true;
      end = i;
    }
  }
  for (size_t i = 0; i < sequence.size(); ++i) {
    const bool is_inside = i >= begin && i < end;
    const Kind kind = sequence[i]->kind;
    if (is_inside || kind == Kind::kAhead || kind == Kind::kBehind) {
      found.items.push_back(sequence[i]);
    } else if (!may_be_empty(*sequence[i])) {
      return std::nullopt;
    }
  }
  return found;
}

// Where a pattern is looked for.
enum class Where { kAnywhere, kAtBegin, kAtEnd };
Result<Language> language_of(const PatternNode& tree, Where where);

// What begins, or ends, as somebody who looks around wants it.
Result<Language> looked_for(const PatternNode& look) {
  const Where where = look.kind == Kind::kAhead ? Where::kAtBegin : Where::kAtEnd;
  PAWL_TRY(Language language, language_of(look.children.front(), where));
  return look.is_negated ? Language::complement(std::move(language)) : std::move(language);
}

Error unsupported(const PatternNode& node, std::string_view what) {
  return {ErrorCode::kUnsupported, fmt::format("{} at column {}", what, node.column), ""};
}

struct Part {
  const PatternNode* node;
  Language text;  // of a node that matches characters
};

// Who looks behind at one character, right behind what matches some, asks for the last of these.
Result<std::vector<Part>> parts_of(const Sequence& items) {
  std::vector<Part> parts;
  for (const PatternNode* item : items) {
    const bool is_one = item->kind == Kind::kBehind && item->children.front().kind == Kind::kText;
    if (is_one && !parts.empty() && !may_be_empty(*parts.back().node)) {
      PAWL_TRY(Language wanted, looked_for(*item));
      parts.back().text = Language::all_of({std::move(parts.back().text), std::move(wanted)});
    } else {
      const bool is_text = !item->has_anchor();
      parts.push_back({item, is_text ? Language::regex(item->expression()) : Language::nothing()});
    }
  }
  return parts;
}

// A text is two parts: what stands before the last one who looks behind, and what follows. Each
// demand is one on all of its part.
Result<Language> language_of(const Bounded& way) {
  PAWL_TRY(const std::vector<Part> parts, parts_of(way.items));
  size_t middle = parts.size();
  while (middle > 0 && parts[middle - 1].node->kind != Kind::kBehind) --middle;
  Language before = way.is_at_begin ? Language::literal("") : Language::everything();
  for (size_t i = 0; i < middle; ++i) {
    if (parts[i].node->kind == Kind::kAhead) {
      return unsupported(*parts[i].node, "a look-ahead with a look-behind after it");
    }
    if (parts[i].node->kind == Kind::kBehind) {
      PAWL_TRY(Language wanted, looked_for(*parts[i].node));
      before = Language::all_of({std::move(before), std::move(wanted)});
    } else {
      before = Language::concat({std::move(before), parts[i].text});
    }
  }
  Language after = way.is_at_end ? Language::literal("") : Language::everything();
  for (size_t i = parts.size(); i-- > middle;) {
    if (parts[i].node->kind == Kind::kAhead) {
      PAWL_TRY(Language wanted, looked_for(*parts[i].node));
      after = Language::all_of({std::move(after), std::move(wanted)});
    } else {
      after = Language::concat({parts[i].text, std::move(after)});
    }
  }
  return Language::concat({std::move(before), std::move(after)});
}

Language plain_language_of(const Bounded& way) {
  std::string expression = way.is_at_begin ? "" : "(?s:.*)";
  for (const PatternNode* item : way.items) expression += item->expression();
  if (!way.is_at_end) expression += "(?s:.*)";
  return Language::regex(std::move(expression));
}

// A border has a character of a word on one of its sides.
Result<std::vector<Sequence>> without_borders(const Sequence& sequence) {
  static const auto look = [](Kind kind, bool is_negated) {
    PatternNode node{.kind = kind, .is_negated = is_negated};
    node.children.push_back({.text = "[0-9A-Za-z_]"});
    return node;
  };
  static const PatternNode ahead = look(Kind::kAhead, false), no_ahead = look(Kind::kAhead, true);
  static const PatternNode behind = look(Kind::kBehind, false);
  static const PatternNode no_behind = look(Kind::kBehind, true);
  std::vector<Sequence> all(1);
  for (const PatternNode* item : sequence) {
    if (item->kind != Kind::kBorder) {
      for (Sequence& one : all) one.push_back(item);
      continue;
    }
    if (all.size() > kMaxSequences) return unsupported(*item, "too many word borders");
    std::vector<Sequence> longer;
    for (const Sequence& one : all) {
      longer.push_back(one);
      longer.back().insert(longer.back().end(), {&behind, item->is_negated ? &ahead : &no_ahead});
      longer.push_back(one);
      longer.back().insert(longer.back().end(),
                           {&no_behind, item->is_negated ? &no_ahead : &ahead});
    }
    all = std::move(longer);
  }
  return all;
}

Result<Language> language_of(const PatternNode& tree, Where where) {
  PAWL_TRY(const std::vector<Sequence> found, ways(tree));
  std::vector<Language> parts;
  for (const Sequence& with_borders : found) {
    PAWL_TRY(const std::vector<Sequence> sequences, without_borders(with_borders));
    for (const Sequence& sequence : sequences) {
      for (const PatternNode* item : sequence) {
        const bool looks_back = item->kind == Kind::kBegin || item->kind == Kind::kBehind;
        const bool looks_on = item->kind == Kind::kEnd || item->kind == Kind::kAhead;
        if (where == Where::kAtBegin && looks_back) {
          return unsupported(*item, "an anchor or look-behind inside of a look-ahead");
        }
        if (where == Where::kAtEnd && looks_on) {
          return unsupported(*item, "an anchor or look-ahead inside of a look-behind");
        }
      }
      std::optional<Bounded> way = bounded(sequence);
      if (!way) continue;
      way->is_at_begin |= where == Where::kAtBegin;
      way->is_at_end |= where == Where::kAtEnd;
      const bool is_plain = std::ranges::none_of(way->items, &PatternNode::has_anchor);
      if (is_plain) {
        parts.push_back(plain_language_of(*way));
      } else {
        PAWL_TRY(Language language, language_of(*way));
        parts.push_back(std::move(language));
      }
    }
  }
  return Language::any_of(std::move(parts));
}

}  // namespace

Result<Language> pattern_language(std::string_view pattern) {
  PAWL_TRY(const PatternNode tree, parse_pattern(pattern));
  return language_of(tree, Where::kAnywhere);
}

Result<Language> whole_text_language(std::string_view pattern) {
  return pattern_language(fmt::format("^(?:{})$", pattern));
}

}  // namespace pawl::schema
