// SPDX-License-Identifier: Apache-2.0
// A schema taken apart: for each type of JSON value, the ways in which a value of that type can
// obey it, as simple demands on the value itself and sets of schemas for what it contains. Every
// step is exact. Whatever schemas say of one place together (allOf, $ref, anyOf, oneOf, not, if …)
// is one set of schemas that hold or do not hold, and a set is looked into once: recursion ends by
// itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/branch.h"
#include "schema/document.h"
#include "schema/language.h"

namespace pawl::schema {

using NodeId = int32_t;  // a set of schemas that a value obeys; of none: any value

struct NumberPart {
  Language language;
  std::vector<std::string> only;  // spellings, where they are a list; empty: no list is known
};
struct StringPart {
  Language language;              // of the decoded text
  std::vector<std::string> only;  // texts, as above
};
struct ArrayPart {
  struct Contains {
    NodeId item;
    NodeId other;  // the same demand, not met
    size_t from;
    int64_t least;
    std::optional<int64_t> most;
  };
  std::vector<NodeId> prefix;
  NodeId rest;
  int64_t least = 0;
  std::optional<int64_t> most;
  std::vector<Contains> contains;
  std::optional<SchemaId> unique;  // who asks for distinct items
};
struct ObjectPart {
  struct Named {
    std::string name;
    NodeId value;
    bool is_required;
  };
  struct Extra {
    Language name;
    NodeId value;
  };
  struct Exists {
    std::vector<Extra> kinds;  // at least one member of these
  };
  std::vector<Named> named;
  std::vector<Extra> extras;  // of other members: their names share no text
  int64_t least = 0;
  std::optional<int64_t> most;
  std::vector<Exists> exists;
};

struct Alternatives {
  bool may_be_null = false, may_be_true = false, may_be_false = false;
  std::vector<NumberPart> numbers;
  std::vector<StringPart> strings;
  std::vector<ArrayPart> arrays;
  std::vector<ObjectPart> objects;
};

// What needs automata, from whoever has them.
class LanguageOracle {
 public:
  virtual ~LanguageOracle() = default;
  // Error: that cannot be told within the limits.
  virtual base::Result<bool> is_empty(const Language& language) = 0;
};

// Limits of all that one schema is taken apart into.
struct ExpandLimits {
  int64_t branches = 20'000;
  int64_t nodes = 20'000;
};

// Threads: none. document and oracle outlive it.
class Expander {
 public:
  Expander(Document& document, LanguageOracle& oracle, const ExpandLimits& limits)
      : document_(document), oracle_(oracle), limits_(limits) {}

  NodeId root();
  NodeId node_of(SchemaId schema) { return intern({Literal{schema}}); }
  // Errors: kUnsupported with keyword and path in the message for what cannot be said exactly or
  // is past a limit, kInvalidArgument for what is no schema; `where` is the path.
  base::Result<const Alternatives*> expand(NodeId node);
  // What obeys both.
  NodeId both(NodeId a, NodeId b);
  // The texts that are values of the node.
  base::Result<Language> string_language(NodeId node);
  // Where the node's first schema stands.
  std::string path(NodeId node) const;

  // Assertions that were let pass, each said once: formats that nobody defines.
  const std::vector<std::string>& notes() const { return notes_; }
  Document& document() { return document_; }

 private:
  using Node = std::vector<Literal>;

  NodeId intern(Node node);
  base::Result<std::vector<Branch>> branches_of(const Node& node);
  base::Result<Steps> steps_of(Literal literal, const Branch& branch);
  base::Result<bool> exclude_each_other(Literal a, Literal b);
  base::Result<bool> is_surely_empty(NodeId node, int depth);
  base::Result<bool> matches(const MemberRule::Pattern& pattern, const std::string& name);

  base::Result<void> add_parts(Branch& branch, Alternatives& parts);
  base::Result<void> add_array(const Branch& branch, Alternatives& parts);
  base::Result<void> add_object(const Branch& branch, Alternatives& parts);
  base::Result<NodeId> named_value(const Branch& branch, const std::string& name);
  base::Result<void> add_extras(const Branch& branch, const std::vector<std::string>& taken,
                                ObjectPart& part);
  base::Result<void> add_exists(const Branch& branch, ObjectPart& part);

  Document& document_;
  LanguageOracle& oracle_;
  const ExpandLimits limits_;
  int64_t branches_ = 0;
  std::map<Node, NodeId> ids_;
  std::vector<Node> nodes_;
  std::map<NodeId, Alternatives> expanded_;
  std::map<std::pair<std::string, std::string>, bool> matches_;
  std::vector<std::string> notes_;
};

}  // namespace pawl::schema
