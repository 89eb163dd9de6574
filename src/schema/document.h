// SPDX-License-Identifier: Apache-2.0
// A JSON Schema as a tree whose every value has a number and a path: references are resolved here,
// and nowhere else is it known that there are drafts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pawl::schema {

using SchemaId = int32_t;  // a value of the document: true, false or an object where it is a schema

enum class Draft : int { k4 = 4, k6 = 6, k7 = 7, k2019 = 2019, k2020 = 2020 };

// Threads: none; add() changes it.
class Document {
 public:
  // The draft is what $schema names, else 2020-12. Errors kInvalidArgument: no object and no
  // boolean; two values with one name. kUnsupported: a $schema that no draft has.
  static base::Result<std::unique_ptr<Document>> create(base::Json schema);

  Draft draft() const { return draft_; }
  SchemaId root() const { return 0; }
  const base::Json& at(SchemaId id) const { return *entries_[static_cast<size_t>(id)].json; }
  // As a JSON pointer, "" for the root; of a schema that was added: that of what it was made for.
  std::string path(SchemaId id) const;
  // The member or item of a value, which is part of the document.
  SchemaId child(SchemaId parent, const base::Json& json, std::string_view name);
  // The index-th schema that somebody needs to say something about the value `origin`, made when it
  // is first asked for. Errors point at the origin.
  SchemaId add(SchemaId origin, size_t index, const std::function<base::Json()>& make);

  // A schema that holds where one of these does, made when it is first asked for.
  SchemaId any_of(const std::vector<SchemaId>& schemas);

  // The target of a $ref at `from`. Errors: kUnsupported for one outside the document,
  // kInvalidArgument for one that names nothing.
  base::Result<SchemaId> resolve(SchemaId from, std::string_view reference);
  // The same of a $dynamicRef or $recursiveRef: what it leads to depends on the resources through
  // which one came.
  base::Result<SchemaId> resolve_dynamic(SchemaId from, std::string_view reference);

 private:
  // The places that a dynamic reference finds by name: those of the outermost resource that has
  // the name.
  using Scope = std::map<std::string, SchemaId, std::less<>>;
  struct Entry {
    const base::Json* json;
    SchemaId parent;
    std::string name;
    int resource;
    int scope = 0;      // of those through which one may come here, this one's
    SchemaId base = 0;  // the same value where one comes to it first
  };
  explicit Document(base::Json schema) : schema_(std::move(schema)) {}

  base::Result<void> index(SchemaId id, int depth);
  base::Result<void> index_names(SchemaId id, int& resource);
  SchemaId enter(Entry entry);
  base::Result<SchemaId> follow(SchemaId from, std::string_view pointer,
                                std::string_view reference) const;
  base::Result<SchemaId> target(SchemaId from, std::string_view reference) const;
  const Entry& entry(SchemaId id) const { return entries_[static_cast<size_t>(id)]; }
  // The value as one sees it who comes from `from`.
  SchemaId seen_from(SchemaId from, SchemaId id);
  int scope_within(int scope, int resource);

  base::Json schema_;
  std::deque<base::Json> added_;
  std::map<std::pair<SchemaId, size_t>, SchemaId> added_ids_;
  std::map<std::vector<SchemaId>, SchemaId> any_of_ids_;
  std::unordered_map<const base::Json*, SchemaId> stand_for_;  // items of what any_of made
  std::vector<Entry> entries_;
  std::unordered_map<const base::Json*, SchemaId> ids_;
  struct Resource {
    std::string uri;
    SchemaId root;
    Scope dynamic_anchors = {};  // "": the root, where $recursiveAnchor says so
  };
  std::vector<Resource> resources_;
  std::map<std::string, SchemaId, std::less<>> names_;  // "uri" and "uri#anchor"
  std::vector<Scope> scopes_;
  std::map<Scope, int> scope_ids_;
  std::map<std::pair<SchemaId, int>, SchemaId> scoped_ids_;
  Draft draft_ = Draft::k2020;
};

}  // namespace pawl::schema
