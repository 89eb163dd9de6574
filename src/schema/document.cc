// SPDX-License-Identifier: Apache-2.0
#include "schema/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/utf8.h"

namespace pawl::schema {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr SchemaId kNone = -1;
// Values that are data, whatever stands in them.
constexpr std::array<std::string_view, 4> kData = {"enum", "const", "default", "examples"};

std::string pointer_token(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

// %41 → A; what is no such escape stays.
std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string token_decoded(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool is_escape = token[i] == '~' && i + 1 < token.size();
    if (is_escape && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else {
      out += token[i];
    }
  }
  return out;
}

// RFC 3986 §5.2, as far as schemas use it: `reference` has no fragment.
std::string resolved(const std::string& base, std::string_view reference) {
  if (reference.empty()) return base;
  const size_t colon = reference.find(':');
  if (colon != std::string_view::npos && reference.find('/') > colon) return std::string(reference);
  const size_t scheme = base.find(':');
  if (scheme == std::string::npos) return std::string(reference);
  const bool has_authority = base.compare(scheme + 1, 2, "//") == 0;
  const size_t path = has_authority ? base.find('/', scheme + 3) : scheme + 1;
  const std::string head = base.substr(0, path == std::string::npos ? base.size() : path);
  if (reference.starts_with("//")) return base.substr(0, scheme + 1) + std::string(reference);
  if (reference.starts_with('/')) return head + std::string(reference);
  const size_t slash = base.rfind('/');
  const bool has_path = path != std::string::npos && slash != std::string::npos && slash >= path;
  return (has_path ? base.substr(0, slash + 1) : head + "/") + std::string(reference);
}

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
  document->enter(root, kNone, "", 0);
  PAWL_TRY_VOID(document->index(0, 0));
  return document;
}

SchemaId Document::enter(const Json& json, SchemaId parent, std::string_view name, int resource) {
  const auto id = static_cast<SchemaId>(entries_.size());
  entries_.push_back({&json, parent, std::string(name), resource});
  ids_.emplace(&json, id);
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
      const std::string uri = resolved(resources_[static_cast<size_t>(resource)].uri, text);
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
  for (const char* keyword : {"$anchor", "$dynamicAnchor"}) {
    const Json* anchor = draft_ >= Draft::k2019 ? json.find(keyword) : nullptr;
    if (anchor == nullptr || anchor->as_string() == nullptr) continue;
    names_.emplace(
        fmt::format("{}#{}", resources_[static_cast<size_t>(resource)].uri, *anchor->as_string()),
        id);
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
      const SchemaId member = enter(value, id, name, resource);
      const bool is_data = std::ranges::find(kData, name) != kData.end();
      if (!is_data) PAWL_TRY_VOID(index(member, depth + 1));
    }
  } else if (const Json::Array* items = json.as_array(); items != nullptr) {
    for (size_t i = 0; i < items->size(); ++i) {
      const SchemaId item = enter((*items)[i], id, std::to_string(i), resource);
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

SchemaId Document::child(SchemaId parent, const Json& json, std::string_view name) {
  const auto known = ids_.find(&json);
  if (known != ids_.end()) return known->second;
  return enter(json, parent, name, entries_[static_cast<size_t>(parent)].resource);
}

SchemaId Document::add(SchemaId origin, size_t index, const std::function<Json()>& make) {
  const auto known = added_ids_.find({origin, index});
  if (known != added_ids_.end()) return known->second;
  added_.push_back(make());
  const Entry made_for = entries_[static_cast<size_t>(origin)];
  const SchemaId id = enter(added_.back(), made_for.parent, made_for.name, made_for.resource);
  added_ids_.emplace(std::pair(origin, index), id);
  return id;
}

Result<SchemaId> Document::follow(SchemaId from, std::string_view pointer,
                                  std::string_view reference) const {
  SchemaId id = from;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t slash = pointer.find('/');
    const std::string token = token_decoded(percent_decoded(pointer.substr(0, slash)));
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

Result<SchemaId> Document::resolve(SchemaId from, std::string_view reference) const {
  const size_t hash = reference.find('#');
  const std::string_view target = reference.substr(0, hash);
  const std::string fragment =
      hash == reference.npos ? "" : std::string(reference.substr(hash + 1));
  const Resource& base =
      resources_[static_cast<size_t>(entries_[static_cast<size_t>(from)].resource)];
  const std::string uri = resolved(base.uri, target);
  const auto resource = target.empty() ? names_.find(base.uri) : names_.find(uri);
  if (resource == names_.end()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("$ref {} leads out of the schema", base::quoted_text(reference)), ""};
  }
  if (fragment.empty()) return target.empty() ? base.root : resource->second;
  const SchemaId root = target.empty() ? base.root : resource->second;
  if (fragment.starts_with('/')) return follow(root, fragment, reference);
  const auto anchor = names_.find(fmt::format("{}#{}", uri, percent_decoded(fragment)));
  if (anchor == names_.end()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("$ref {} names nothing", base::quoted_text(reference)), ""};
  }
  return anchor->second;
}

}  // namespace pawl::schema
