// SPDX-License-Identifier: Apache-2.0
// What is known of a value when every choice that a schema leaves open has been made one way: one
// conjunction of simple demands for each type. Used by expand.cc, keywords.cc and negations.cc
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "schema/document.h"
#include "schema/language.h"

namespace pawl::schema {

// A schema that holds, or one that does not.
struct Literal {
  SchemaId schema = 0;
  bool holds = true;

  Literal negated() const { return {schema, !holds}; }
  auto operator<=>(const Literal&) const = default;
};

// Bits of Branch::types. A number is an integer or a fraction, whatever its spelling.
enum TypeBit : uint8_t {
  kNullBit = 1,
  kTrueBit = 2,
  kFalseBit = 4,
  kIntegerBit = 8,
  kFractionBit = 16,
  kStringBit = 32,
  kArrayBit = 64,
  kObjectBit = 128,
  kNumberBits = kIntegerBit | kFractionBit,
  kAllBits = 255,
};

struct StringDemand {
  std::vector<Language> languages;               // of the decoded text
  std::optional<std::vector<std::string>> only;  // one of these
  int64_t least = 0;                             // characters
  std::optional<int64_t> most;
};

// One schema's demands on the items of an array.
struct ItemRule {
  std::vector<std::optional<Literal>> prefix;
  std::optional<Literal> rest;
  bool evaluates_rest = false;  // items, true or not: unevaluatedItems sees none of them
  bool is_silent = false;       // said while a schema was refuted: it evaluates nothing
};
struct ContainsRule {
  Literal item;
  size_t from = 0;  // the first place that counts
  int64_t least = 1;
  std::optional<int64_t> most;
  bool evaluates = false;  // unevaluatedItems sees no item that is a hit
  bool is_silent = false;  // as of items
};

// One schema's demands on the members of an object.
struct MemberRule {
  struct Named {
    std::string name;
    std::optional<Literal> value;
  };
  struct Pattern {
    std::string source;
    Language language;
    std::optional<Literal> value;
  };
  std::vector<Named> named;
  std::vector<Pattern> patterns;
  std::optional<Literal> rest;  // of members that nothing else of this rule speaks of
  bool evaluates_rest = false;
  bool is_silent = false;  // as of items
};
// A member must be there whose name belongs to the language and was not named by the rule.
struct ExistsRule {
  std::optional<Language> name;
  std::vector<std::string> but;
  std::optional<Literal> named_as;  // the name, as a value, is one of this schema's
  std::optional<Literal> value;
};

// A schema that is being looked into, and what there was before.
struct OpenLiteral {
  Literal literal;
  size_t members, items, contains, done;
};

struct Branch {
  uint8_t types = kAllBits;
  std::vector<Language> numbers;  // among the plain spellings; empty: every number
  std::optional<std::vector<std::string>> only_numbers;  // spellings, when these are all there are
  size_t number_lists = 0;                               // of `numbers`, that say nothing else
  StringDemand string;

  std::vector<ItemRule> items;
  std::vector<ContainsRule> contains;
  int64_t least_items = 0;
  std::optional<int64_t> most_items;
  std::optional<SchemaId> unique;

  std::vector<MemberRule> members;
  std::vector<std::pair<std::string, Literal>> member_values;  // of members that are there or not
  std::vector<std::string> required, forbidden;
  std::vector<Literal> names;
  std::vector<ExistsRule> exists;
  int64_t least_members = 0;
  std::optional<int64_t> most_members;

  std::vector<Literal> done;  // schemas that were looked into
  std::vector<OpenLiteral> active;
  std::vector<OpenLiteral> evaluated_from;  // of `active`, those with unevaluated…
};

// A demand, or a choice of ways to go on: a schema is a list of these, in the order of its
// keywords.
struct Step {
  std::optional<Literal> literal;
  bool is_end = false;  // of the literal
  std::vector<std::vector<Step>> choices;
  std::function<void(Branch&)> apply;
};
using Steps = std::vector<Step>;

inline Step step(Literal literal) {
  return {.literal = literal, .choices = {}, .apply = {}};
}
inline Step step(std::function<void(Branch&)> apply) {
  return {.literal = {}, .choices = {}, .apply = std::move(apply)};
}
inline Step choice(std::vector<Steps> choices) {
  return {.literal = {}, .choices = std::move(choices), .apply = {}};
}

}  // namespace pawl::schema
