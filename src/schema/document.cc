// SPDX-License-Identifier: Apache-2.0
#include "schema/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "schema/reference.h"

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr SchemaId kNone = -1;
// Values that are data, whatever stands in them.
constexpr std::array<std::string_view, 4> kData = {"enum", "const", "default", "examples"};

std::optional<Draft> draft_named(std::string_view uri) {
  while (uri.ends_with('#')) uri.remove_suffix(1);
  constexpr std::pair<std::string_view, Draft> kNames[] = {{"draft-04/schema", Draft::k4},
                                                           {"draft-06/schema", Draft::k6},
                                                           {"draft-07/schema", Draft::k7},
                                                           {"draft/2019-09/schema", Draft::k2019},
                                                           {"draft/2020-12/schema", Draft::k2020}};
  for (const auto& [name, draft] : kNames) {
    if (uri.ends_with(name) && uri.find("json-schema.org/") != std::string_view::npos) return draft;
  }
  const bool is_latest = uri.ends_with("json-schema.org/schema");
  return is_latest ? std::optional(Draft::k2020) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Document>> Document::create(Json schema) {
  std::unique_ptr<Document> document(new Document(std::move(schema)));
  const Json& root = document->schema_;
  if (root.as_object() == nullptr && !root.to_bool()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a schema is an object or a boolean, not {}", root.kind_name()), ""};
  }
  if (const Json* named = root.find("$schema"); named != nullptr) {
    const std::string* uri = named->as_string();
    const auto draft = uri == nullptr ? std::nullopt : draft_named(*uri);
    if (!draft) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("$schema {} is not one of the drafts 4, 6, 7, 2019-09 and 2020-12",
                               base::quoted_text(uri == nullptr ? named->dump() : *uri)),
                   "$schema"};
    }
    document->draft_ = *draft;
  }
  document->resources_.push_back({"", 0});
  document->names_.emplace("", 0);
  document->enter({.json = &root, .parent = kNone, .name = "", .resource = 0});
  PAWL_TRY_VOID(document->index(0, 0));
  document->scopes_.push_back(document->resources_[0].dynamic_anchors);
  document->scope_ids_.emplace(document->scopes_[0], 0);
  return document;
}

SchemaId Document::enter(Entry entry) {
  const auto id = static_cast<SchemaId>(entries_.size());
  entry.base = id;
  ids_.emplace(entry.json, id);
  entries_.push_back(std::move(entry));
  return id;
}

Result<void> Document::index_names(SchemaId id, int& resource) {
  const Json& json = at(id);
  const Json* named = json.find(draft_ == Draft::k4 ? "id" : "$id");
  if (named != nullptr && named->as_string() != nullptr) {
    std::string_view text = *named->as_string();
    const size_t hash = text.find('#');
    const std::string_view fragment = hash == text.npos ? "" : text.substr(hash + 1);
    text = text.substr(0, hash);
    if (!text.empty()) {
      const std::string uri = resolved_uri(resources_[static_cast<size_t>(resource)].uri, text);
      if (id == 0) {
        resources_[0].uri = uri;
      } else {
        resource = static_cast<int>(resources_.size());
        resources_.push_back({uri, id});
      }
      names_.emplace(uri, id);
    }
    if (!fragment.empty() && draft_ <= Draft::k7) {
      names_.emplace(fmt::format("{}#{}", resources_[static_cast<size_t>(resource)].uri, fragment),
                     id);
    }
  }
  if (draft_ < Draft::k2019) return {};
  Resource& within = resources_[static_cast<size_t>(resource)];
  for (const char* keyword : {"$anchor", "$dynamicAnchor"}) {
    const Json* anchor = json.find(keyword);
    if (anchor == nullptr || anchor->as_string() == nullptr) continue;
    names_.emplace(fmt::format("{}#{}", within.uri, *anchor->as_string()), id);
    const bool is_dynamic = keyword[1] == 'd' && draft_ == Draft::k2020;
    if (is_dynamic) within.dynamic_anchors.emplace(*anchor->as_string(), id);
  }
  const Json* recursive = draft_ == Draft::k2019 ? json.find("$recursiveAnchor") : nullptr;
  if (recursive != nullptr && recursive->to_bool().value_or(false) && within.root == id) {
    within.dynamic_anchors.emplace("", id);
  }
  return {};
}

Result<void> Document::index(SchemaId id, int depth) {
  const Json& json = at(id);
  int resource = entries_[static_cast<size_t>(id)].resource;
  const bool hides_siblings = draft_ <= Draft::k7 && json.find("$ref") != nullptr;
  if (json.as_object() != nullptr && !hides_siblings) PAWL_TRY_VOID(index_names(id, resource));
  entries_[static_cast<size_t>(id)].resource = resource;
  if (const Json::Object* members = json.as_object(); members != nullptr) {
    for (const auto& [name, value] : *members) {
      const SchemaId member =
          enter({.json = &value, .parent = id, .name = name, .resource = resource});
      const bool is_data = std::ranges::find(kData, name) != kData.end();
      if (!is_data) PAWL_TRY_VOID(index(member, depth + 1));
    }
  } else if (const Json::Array* items = json.as_array(); items != nullptr) {
    for (size_t i = 0; i < items->size(); ++i) {
      const SchemaId item = enter(
          {.json = &(*items)[i], .parent = id, .name = std::to_string(i), .resource = resource});
      PAWL_TRY_VOID(index(item, depth + 1));
    }
  }
  return {};
}

std::string Document::path(SchemaId id) const {
  std::vector<std::string> tokens;
  for (; id > 0; id = entries_[static_cast<size_t>(id)].parent) {
    const Entry& entry = entries_[static_cast<size_t>(id)];
    if (!entry.name.empty() || entry.parent >= 0) tokens.push_back(pointer_token(entry.name));
  }
  std::string out;
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) out += "/" + *token;
  return out;
}

int Document::scope_within(int scope, int resource) {
  const Scope& anchors = resources_[static_cast<size_t>(resource)].dynamic_anchors;
  if (anchors.empty()) return scope;
  Scope wider = scopes_[static_cast<size_t>(scope)];
  wider.insert(anchors.begin(), anchors.end());
  const auto [known, is_new] =
      scope_ids_.try_emplace(std::move(wider), static_cast<int>(scopes_.size()));
  if (is_new) scopes_.push_back(known->first);
  return known->second;
}

SchemaId Document::seen_from(SchemaId from, SchemaId id) {
  const int scope = scope_within(entry(from).scope, entry(id).resource);
  const SchemaId base = entry(id).base;
  if (scope == entry(id).scope) return id;
  if (scope == entry(base).scope) return base;
  const auto [known, is_new] =
      scoped_ids_.try_emplace({base, scope}, static_cast<SchemaId>(entries_.size()));
  if (is_new) {
    Entry scoped = entry(base);
    scoped.scope = scope;
    entries_.push_back(std::move(scoped));
  }
  return known->second;
}

SchemaId Document::child(SchemaId parent, const Json& json, std::string_view name) {
  const auto stands = stand_for_.find(&json);
  if (stands != stand_for_.end()) return stands->second;
  const auto known = ids_.find(&json);
  if (known != ids_.end()) return seen_from(parent, known->second);
  const Entry above = entry(parent);
  return enter({.json = &json,
                .parent = parent,
                .name = std::string(name),
                .resource = above.resource,
                .scope = above.scope});
}

SchemaId Document::add(SchemaId origin, size_t index, const std::function<Json()>& make) {
  const auto known = added_ids_.find({origin, index});
  if (known != added_ids_.end()) return known->second;
  added_.push_back(make());
  Entry made_for = entry(origin);
  made_for.json = &added_.back();
  const SchemaId id = enter(std::move(made_for));
  added_ids_.emplace(std::pair(origin, index), id);
  return id;
}

SchemaId Document::any_of(const std::vector<SchemaId>& schemas) {
  const auto known = any_of_ids_.find(schemas);
  if (known != any_of_ids_.end()) return known->second;
  Json& made = added_.emplace_back();
  Json list = Json::array();
  for (size_t i = 0; i < schemas.size(); ++i) list.push_back(true);
  made["anyOf"] = std::move(list);
  const Json::Array& items = *made.find("anyOf")->as_array();
  for (size_t i = 0; i < schemas.size(); ++i) stand_for_.emplace(&items[i], schemas[i]);
  Entry made_for = entry(schemas.front());
  made_for.json = &made;
  const SchemaId id = enter(std::move(made_for));
  any_of_ids_.emplace(schemas, id);
  return id;
}

Result<SchemaId> Document::follow(SchemaId from, std::string_view pointer,
                                  std::string_view reference) const {
  SchemaId id = from;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t slash = pointer.find('/');
    const std::string token = pointer_name(percent_decoded(pointer.substr(0, slash)));
    pointer = slash == std::string_view::npos ? "" : pointer.substr(slash);
    const Json& json = at(id);
    const Json* next = json.find(token);
    if (const Json::Array* items = json.as_array(); items != nullptr) {
      for (size_t i = 0; i < items->size() && next == nullptr; ++i) {
        if (std::to_string(i) == token) next = &(*items)[i];
      }
    }
    const auto known = next == nullptr ? ids_.end() : ids_.find(next);
    if (known == ids_.end()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("$ref {} names nothing", base::quoted_text(reference)), ""};
    }
    id = known->second;
  }
  return id;
}

Result<SchemaId> Document::target(SchemaId from, std::string_view reference) const {
  const size_t hash = reference.find('#');
  const std::string_view document = reference.substr(0, hash);
  const std::string fragment =
      hash == reference.npos ? "" : std::string(reference.substr(hash + 1));
  const Resource& base = resources_[static_cast<size_t>(entry(from).resource)];
  const std::string uri = resolved_uri(base.uri, document);
  const auto resource = document.empty() ? names_.find(base.uri) : names_.find(uri);
  if (resource == names_.end()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("$ref {} leads out of the schema", base::quoted_text(reference)), ""};
  }
  const SchemaId root = document.empty() ? base.root : resource->second;
  if (fragment.empty()) return root;
  if (fragment.starts_with('/')) return follow(root, fragment, reference);
  const auto anchor = names_.find(fmt::format("{}#{}", uri, percent_decoded(fragment)));
  if (anchor == names_.end()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("$ref {} names nothing", base::quoted_text(reference)), ""};
  }
  return anchor->second;
}

Result<SchemaId> Document::resolve(SchemaId from, std::string_view reference) {
  PAWL_TRY(const SchemaId found, target(from, reference));
  return seen_from(from, found);
}

// 2020-12 §8.2.3.2; 2019-09 §8.2.4.2.
Result<SchemaId> Document::resolve_dynamic(SchemaId from, std::string_view reference) {
  PAWL_TRY(SchemaId found, target(from, reference));
  const size_t hash = reference.find('#');
  std::string name =
      hash == reference.npos ? "" : percent_decoded(std::string(reference.substr(hash + 1)));
  const Scope& first = resources_[static_cast<size_t>(entry(found).resource)].dynamic_anchors;
  const auto is_dynamic = first.find(name);
  if (is_dynamic != first.end() && is_dynamic->second == found) {
    const Scope& scope = scopes_[static_cast<size_t>(entry(from).scope)];
    const auto outermost = scope.find(name);
    if (outermost != scope.end()) found = outermost->second;
  }
  return seen_from(from, found);
}

}  // namespace pawl::schema
